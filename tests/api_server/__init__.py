"""A small API server for tests: HTTPS, discovery, lists in pages, watches, refusals as Kubernetes 1.36.2 has them."""

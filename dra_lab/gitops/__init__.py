"""Manifests as people keep them in Git: read, checked against a cluster, migrated from device plugins."""

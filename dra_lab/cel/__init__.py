"""CEL selectors as Kubernetes evaluates them; the one door to the CEL engine, which is loaded on first use only."""

"""Documents to model values and back: v1 of `resource.k8s.io`, drawings, YAML text."""

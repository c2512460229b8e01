"""What kube-scheduler would take: first fit, with a trace of every refusal."""

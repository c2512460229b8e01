"""A gang as files for Kueue, KAI, Volcano and kube-scheduler."""

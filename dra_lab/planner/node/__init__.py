"""One claim, or the claims of one pod, on one node: the problem, its integer model, and the staged solve."""

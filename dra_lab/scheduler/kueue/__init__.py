"""How Kueue chooses the domains of a pod set, replayed from its source."""

"""The free resources of nodes and every way to take them, as rows of numbers, for the plans of claims and of fleets."""

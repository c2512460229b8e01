"""What nodes have left and every way to take it, as rows of numbers: read by the plans of claims and of fleets."""

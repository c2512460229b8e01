"""A running cluster through the `kubernetes` package, read only."""

"""Rules that need no solver, as findings."""

"""What holds for every test, and for the notebooks: whatever plan they are handed keeps the rules of DRA."""

pytest_plugins = ["plans_are_checked"]

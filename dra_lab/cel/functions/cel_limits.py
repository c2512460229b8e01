"""Limits that evaluation and the cost estimate share."""

PAIR_LIMIT = 1_000_000
"""Most comparisons of elements in one call; Kubernetes stops there by cost."""

INCLUDES_LIMIT = 48
"""Most elements of a list on which `includes` may be called (`DeviceAttributeMaxListLength`)."""

TEXT_LIMIT = 1_000_000
"""Most characters of a text that a function may build."""

LIST_LIMIT = 100_000
"""Most elements of a list that `+` may build."""

RANGE_LIMIT = 10_000
"""Most elements of `lists.range`."""

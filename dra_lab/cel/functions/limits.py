"""Limits that evaluation and the cost estimate share."""

INCLUDES_LIMIT = 48
"""Most elements of a list on which `includes` may be called (`DeviceAttributeMaxListLength`)."""

TEXT_LIMIT = 1_000_000
"""Most characters of a text that a function may build."""

RANGE_LIMIT = 10_000
"""Most elements of `lists.range`."""

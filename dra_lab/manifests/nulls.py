"""Null in a document: it counts as unset, as in Kubernetes."""

from __future__ import annotations

from typing import Any

FREE_FIELDS = ("parameters", "data", "fieldsV1")
"""Fields whose content belongs to another program, so that a null there is a value."""


def without_nulls(value: Any) -> Any:
    """Return a plain value without the fields that are null; the API server writes some that way (`requests: null`)."""
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if item is not None}
        return {key: item if key in FREE_FIELDS else without_nulls(item) for key, item in kept.items()}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value

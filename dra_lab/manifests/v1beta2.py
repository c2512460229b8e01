"""`resource.k8s.io/v1beta2` documents to v1 and back: the structure is the same (docs/semantics.md 1.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def upgrade(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a v1beta2 document as v1."""
    return dict(document)


def downgrade(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a v1 document as v1beta2; nothing is lost."""
    return dict(document)

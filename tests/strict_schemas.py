"""The strict schemas of Kubernetes: an object has no unknown field and no value of another type."""

from __future__ import annotations

from functools import cache
from typing import Any
from unittest.mock import patch

import kubernetes_validate.utils

from dra_lab.model.release import ALPHA, NEWEST_FINAL

_contents = cache(kubernetes_validate.utils.schema_contents)
"""The definitions of a release are large, and kubernetes-validate reads them again for every object."""


def validate_strictly(document: dict[str, Any], release: str) -> None:
    """Raise `kubernetes_validate.ValidationError` if an API server of a release refuses an object or drops a field."""
    with patch.object(kubernetes_validate.utils, "schema_contents", _contents):
        # there is no schema of the alpha
        kubernetes_validate.validate(document, NEWEST_FINAL if release == ALPHA else release, strict=True)

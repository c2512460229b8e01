"""`resource.k8s.io/v1alpha3` documents to v1: DeviceTaintRule alone, in its form since Kubernetes 1.35."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dra_lab.errors import ManifestError

_UNTIL_1_34 = ("deviceClassName", "selectors")
"""Members of `deviceSelector` in Kubernetes 1.33 and 1.34 (`k8s.io/api/resource/v1alpha3`), gone in 1.35."""


def upgrade(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a v1alpha3 document as v1.

    Raises ManifestError for a rule that selects by a class or by selectors: without them it would be a rule for every
    device.
    """
    spec = document.get("spec")
    selector = spec.get("deviceSelector") if isinstance(spec, Mapping) else None
    told = [name for name in _UNTIL_1_34 if isinstance(selector, Mapping) and selector.get(name)]
    if told:
        raise ManifestError(
            f"spec.deviceSelector has {' and '.join(told)}, which DeviceTaintRule had only up to Kubernetes 1.34, "
            "so dra-lab adds the taint of this rule to no device"
        )
    return dict(document)

"""DeviceClasses as the API server validates them (docs/semantics.md 1.10)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dra_lab.checks.metadata import check_metadata
from dra_lab.checks.name_formats import check_extended_resource
from dra_lab.checks.rules import Errors, check_list
from dra_lab.checks.selectors import check_opaque, check_selectors
from dra_lab.model.release import KubernetesRelease

MAX_CONFIG = 32


def check_class(device_class: Mapping[str, Any], release: KubernetesRelease) -> Errors:
    """Yield what the API server refuses in a new DeviceClass (a decoded v1 document with its defaults)."""
    yield from check_metadata(device_class.get("metadata") or {}, namespaced=False)
    spec = device_class.get("spec") or {}
    yield from check_selectors(spec.get("selectors"), "spec.selectors", release)
    yield from check_list(spec.get("config"), MAX_CONFIG, check_opaque, "spec.config")
    if "extendedResourceName" in spec:
        yield from check_extended_resource(spec["extendedResourceName"], "spec.extendedResourceName")

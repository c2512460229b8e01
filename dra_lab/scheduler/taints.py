"""Taints and tolerations of devices (KEP-5055; docs/semantics.md 3.8)."""

from __future__ import annotations

from collections.abc import Iterable

from dra_lab.model.claims import DeviceToleration
from dra_lab.model.device import DeviceTaint


def tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    """Say whether a toleration matches a taint: key and effect empty or equal, operator Exists or an equal value."""
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value


def untolerated(taints: Iterable[DeviceTaint], tolerations: tuple[DeviceToleration, ...]) -> DeviceTaint | None:
    """Return the first taint that no toleration matches, or None."""
    return next((taint for taint in taints if not any(tolerates(t, taint) for t in tolerations)), None)

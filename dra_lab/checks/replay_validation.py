"""Replays recorded cases of the API server's validation, one JSON document a case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dra_lab.checks.admission import BAD_REQUEST, admit
from dra_lab.errors import ManifestError
from dra_lab.model.release import GATES, KubernetesRelease

_OF_1_37 = (
    "DRADerivedAttributes",
    "DRADeviceCompatibilityGroups",
    "DRAFractionalCapacityRange",
    "DRAOptionalNodeOperations",
    "DRAPartitionableDevicesType",
)

RECORDED = KubernetesRelease("1.36.2", {gate: True for gate in GATES if gate not in _OF_1_37})
"""The API server that was recorded: 1.36.2 with every feature gate of DRA that it has."""


def replay_validation(case: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a recorded case: `{"id", "accepted", "causes": [{"field", "message"}], "stored"}`.

    `case` has `id` and `object`. An object that the decoder refuses has no causes, as in the recording. Raises
    ManifestError for a case of another form.

    The API server stamps new taints with its clock. A recording notes that moment in its `stored` alone, so it is read
    there, and nothing else is; without it the clock of this machine is used.
    """
    document = case.get("object")
    if not isinstance(document, Mapping):
        raise ManifestError("this is not a recorded validation case, because it has no `object`")
    try:
        answer = admit(document, RECORDED, now=_moment(case))
    except ManifestError:
        # the API server has no such kind or version
        return {"id": case.get("id"), "accepted": False, "causes": [], "stored": None}
    causes = [error._asdict() for error in answer.errors] if answer.status != BAD_REQUEST else []
    return {"id": case.get("id"), "accepted": answer.accepted, "causes": causes, "stored": answer.stored}


def _moment(case: Mapping[str, Any]) -> str:
    """Return the time at which a case was recorded, as far as a taint that was sent without a time shows it."""
    sent, stored = _taints(case.get("object")), _taints(case.get("stored"))
    for before, after in zip(sent, stored, strict=False):
        if "timeAdded" not in before and "timeAdded" in after:
            return str(after["timeAdded"])
    return ""


def _taints(document: Any) -> list[Mapping[str, Any]]:
    spec = document.get("spec") if isinstance(document, Mapping) else None
    devices = spec.get("devices") if isinstance(spec, Mapping) else None
    found: list[Mapping[str, Any]] = []
    for device in devices if isinstance(devices, list) else ():
        content = device.get("basic") or device if isinstance(device, Mapping) else {}
        taints = content.get("taints") if isinstance(content, Mapping) else None
        found.extend(taint for taint in taints or () if isinstance(taint, Mapping))
    return found

"""What the API server does with a new object: decode, fill in, drop, validate, store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dra_lab.checks.claim_validation import check_claim, check_claim_template, check_class
from dra_lab.checks.rules import Errors
from dra_lab.checks.slice_validation import check_slice
from dra_lab.checks.taint_validation import check_taint_rule
from dra_lab.errors import ManifestError
from dra_lab.manifests.schema import as_stored, drop_disabled, fill_defaults
from dra_lab.manifests.strict import FieldError, decode_strict
from dra_lab.manifests.versions import KIND_VERSIONS, downgrade, short_version, text_of, upgrade
from dra_lab.model.release import GATES, KubernetesRelease, has_gate

CREATED, BAD_REQUEST, INVALID = 201, 400, 422

_CHECKS: Mapping[str, Callable[[Mapping[str, Any], KubernetesRelease], Errors]] = {
    "ResourceSlice": check_slice,
    "DeviceClass": check_class,
    "DeviceTaintRule": check_taint_rule,
}
_OF_NAMESPACES = {"ResourceClaim": check_claim, "ResourceClaimTemplate": check_claim_template}


@dataclass(frozen=True)
class Admission:
    """The answer to a new object.

    `status` is 201 (accepted), 400 (refused by the decoder: unknown field, wrong type) or 422 (invalid). `errors` name
    fields in v1 form, as the API server does for every version. `stored` is the object in its own version with its
    defaults, when it is accepted. `dropped` are fields whose feature gate is off, with the name of the gate.
    """

    status: int
    errors: tuple[FieldError, ...] = ()
    stored: Mapping[str, Any] | None = None
    dropped: tuple[tuple[str, str], ...] = ()

    @property
    def accepted(self) -> bool:
        """Say whether the object would be created."""
        return self.status == CREATED


def admit(
    document: Mapping[str, Any],
    release: KubernetesRelease | None = None,
    *,
    admin_namespace: bool = False,
    now: str = "",
) -> Admission:
    """Return what the API server of a release answers to a new object of `resource.k8s.io`, in any of its versions.

    `admin_namespace` says that the namespace carries the label for admin access; `now` is the time for new taints, the
    clock's where it is empty. A `status` is not looked at, as a new object has none. Raises ManifestError for what is
    no object of a kind and version that is known here.
    """
    release = release or KubernetesRelease()
    kind, api_version = text_of(document.get("kind")), text_of(document.get("apiVersion"))
    version = short_version(api_version, kind)
    if not version:
        known = ", ".join(KIND_VERSIONS)
        raise ManifestError(f"{kind[:64]!r} in {api_version[:64]!r} is not an object of resource.k8s.io ({known})")
    value, problems = decode_strict(document, kind, version, release.version)
    if problems:
        return Admission(BAD_REQUEST, problems)
    value.pop("status", None)
    fill_defaults(value, version, now)
    hub = upgrade(value)
    dropped = drop_disabled(hub, release)
    if kind in _OF_NAMESPACES:
        errors = tuple(_OF_NAMESPACES[kind](hub, release, admin_namespace=admin_namespace))
    else:
        errors = tuple(_CHECKS[kind](hub, release))
    if errors:
        return Admission(INVALID, errors, dropped=dropped)
    return Admission(CREATED, (), as_stored(downgrade(hub, version), kind, version, release.version), dropped)


RECORDED = KubernetesRelease("1.36.2", {gate: True for gate in GATES if has_gate("1.36.2", gate)})
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

"""A person's own workload with the claim put into its pod templates; comments and order are kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, MutableMapping, MutableSequence, Sequence
from dataclasses import dataclass
from typing import Any

from dra_lab.drivers.device_plugins import plugin_resource
from dra_lab.errors import InputError
from dra_lab.exports.workload_file import WorkloadFile
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.manifests.device_asks import containers, extended_resources
from dra_lab.manifests.pod_templates import PodField, pod_fields, value_at
from dra_lab.manifests.yaml_file import YamlFile
from dra_lab.manifests.yaml_text import dump_yaml, load_yaml
from dra_lab.model.claims import DeviceClaim, ResourceClaim, ResourceClaimTemplate
from dra_lab.sketch.claim_objects import POD_CLAIM, Affinity, node_affinity, pod_claim

COMPONENT_PATCH = "patch.yaml"
"""The file of a patch, which a kustomize component applies to a workload that is kept elsewhere."""

_RENAMED = re.compile(r"-[0-9a-f]{8}\Z")
_MERGED = ("Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob")
"""Kinds whose lists kustomize merges by name; of other kinds it would replace the containers."""


Claims = ResourceClaimTemplate | ResourceClaim | Sequence[ResourceClaimTemplate | ResourceClaim]
"""What a workload gets: a claim, or the claims of one pod."""

_Named = tuple[ResourceClaimTemplate | ResourceClaim, str]
"""A claim, and its name in the pod if that is free."""


@dataclass(frozen=True)
class Patched:
    """A workload that uses the claim: its file's name and text, and what a person must know."""

    name: str
    text: str
    findings: tuple[Finding, ...] = ()


def patch_copy(
    workload: WorkloadFile,
    claims: Claims,
    *,
    container: str = "",
    affinity: Affinity = (),
    entries: Sequence[str] = (),
    edit: Callable[[Any], None] | None = None,
) -> Patched:
    """Return the workload with the claims put in; everything else, comments too, stays as it was written.

    The claims go to the chosen pod templates (`WorkloadFile.templates`), several under the names of `entries` where
    these are free. There they go to `container`, by default the
    one that asks for devices today, or the first. `affinity` is required of the node in addition to what the workload
    requires. `edit` changes the object further. Patching what was patched changes nothing. Raises InputError for a
    container that is not there, and ManifestError for what cannot be changed in place.
    """
    findings: list[Finding] = []
    named = _named(claims, entries)

    def change(value: Any) -> None:
        _patch_object(workload, value, named, container, affinity, findings)
        if edit is not None:
            edit(value)

    file = YamlFile(workload.text, workload.name)
    change([*file.values.values()][workload.document])
    return Patched(workload.name, file.text(), tuple(findings))


def kustomize_patch(
    workload: WorkloadFile,
    claims: Claims,
    *,
    container: str = "",
    affinity: Affinity = (),
    entries: Sequence[str] = (),
) -> Patched:
    """Return a strategic merge patch that puts the claims into a workload kept elsewhere.

    Raises InputError for a kind whose lists kustomize does not merge by name, and for an unknown container.
    """
    if workload.kind not in _MERGED:
        raise InputError(
            f"kustomize would replace the containers of {workload.kind or 'an object without kind'} instead of merging "
            f"them (it merges {', '.join(_MERGED)}); take the patched copy instead"
        )
    value = list(load_yaml(workload.text))[workload.document].value
    (field,) = workload.templates
    path, spec = field.path.split("."), value_at(value, field.path)
    findings: list[Finding] = []
    _patch_spec(spec, _named(claims, entries), container, affinity, findings, workload.title)
    target = _container(spec, container)
    patch: dict[str, Any] = {
        "containers": [{"name": target.get("name"), "resources": {"claims": target["resources"]["claims"]}}],
        "resourceClaims": spec["resourceClaims"],
    }
    if affinity:
        patch["affinity"] = {"nodeAffinity": spec["affinity"]["nodeAffinity"]}
    nested: dict[str, Any] = patch
    for key in reversed(path):
        nested = {key: nested}
    head = {"apiVersion": value.get("apiVersion"), "kind": workload.kind, "metadata": {"name": workload.subject}}
    return Patched(COMPONENT_PATCH, dump_yaml({**head, **nested}), tuple(findings))


def _named(claims: Claims, entries: Sequence[str]) -> list[_Named]:
    every = claims if isinstance(claims, Sequence) else (claims,)
    return list(zip(every, entries or [POD_CLAIM] * len(every), strict=True))


def _patch_object(
    workload: WorkloadFile,
    value: Any,
    claims: Sequence[_Named],
    container: str,
    affinity: Affinity,
    findings: list[Finding],
) -> None:
    for field in workload.templates:
        _patch_spec(value_at(value, field.path), claims, container, affinity, findings, workload.title)
    others = [field for field in pod_fields(value) if field.path not in {chosen.path for chosen in workload.templates}]
    if claims and (others or len(workload.templates) > 1):
        goes = "the claim goes" if len(claims) == 1 else "the claims go"
        message = f"{goes} to the pods of {_paths(workload.templates)}"
        message += f"; those of {_paths(others)} get none" if others else ""
        findings.append(
            Finding("templates-chosen", Severity.NOTE, workload.title, message, "Name others with --template PATH.")
        )


def _paths(fields: Sequence[PodField]) -> str:
    return ", ".join(f"{f.template} ({f.helper + ', ' if f.helper else ''}{f.pods})" for f in fields)


def _patch_spec(
    spec: MutableMapping[str, Any],
    claims: Sequence[_Named],
    container: str,
    affinity: Affinity,
    findings: list[Finding],
    subject: str,
) -> None:
    if claims:
        _put_claims(spec, claims, container, findings, subject)
    if affinity:
        _require(spec, affinity)


def _put_claims(
    spec: MutableMapping[str, Any], claims: Sequence[_Named], container: str, findings: list[Finding], subject: str
) -> None:
    target = _container(spec, container)
    used = _list(mapping_in(target, "resources"), "claims")
    for claim, wanted in claims:
        name = _put_claim(_list(spec, "resourceClaims"), pod_claim(claim, wanted), claim)
        if not any(isinstance(item, Mapping) and item.get("name") == name for item in used):
            used.append({"name": name})
    others = [str(item.get("name")) for item in _containers(spec) if item is not target]
    if others and not container:
        get = "gets" if len(others) == 1 else "get"
        message = f"the devices go to its container {target.get('name')}; {', '.join(others)} {get} none"
        finding = Finding("container-chosen", Severity.NOTE, subject, message, "Name one with --container.")
        findings += [finding] if finding not in findings else []


def _put_claim(entries: Any, entry: Mapping[str, str], claim: ResourceClaimTemplate | ResourceClaim) -> str:
    """Put the entry into `resourceClaims`, or renew the one that an earlier export put there; return its name."""
    (reference,) = (key for key in entry if key != "name")
    label = claim.metadata.labels.get("app.kubernetes.io/name", claim.metadata.name)
    taken = set()
    for item in entries:
        if not isinstance(item, MutableMapping):
            continue
        taken.add(item.get("name"))
        named = str(item.get("resourceClaimTemplateName") or item.get("resourceClaimName") or "")
        if named in (label, claim.metadata.name) or _RENAMED.sub("", named) == label:
            item.pop("resourceClaimTemplateName", None)
            item.pop("resourceClaimName", None)
            item[reference] = entry[reference]
            return str(item.get("name"))
    names = (entry["name"], label, *(f"{POD_CLAIM}-{number}" for number in range(1, len(taken) + 2)))
    name = next(name for name in names if name not in taken)
    entries.append({**entry, "name": name})
    return name


def _require(spec: MutableMapping[str, Any], affinity: Affinity) -> None:
    """Add requirements to every term: terms are alternatives, so that a new term would loosen what is required."""
    node = mapping_in(mapping_in(spec, "affinity"), "nodeAffinity")
    required = mapping_in(node, "requiredDuringSchedulingIgnoredDuringExecution")
    terms = _list(required, "nodeSelectorTerms")
    if not terms:
        terms.extend(_terms(affinity))
        return
    for term in terms:
        # An empty term matches no node, and would match some with an expression.
        if not (term.get("matchExpressions") or term.get("matchFields")):
            continue
        expressions = _list(term, "matchExpressions")
        expressions.extend(dict(one) for one in affinity if dict(one) not in expressions)


def _terms(affinity: Affinity) -> list[dict[str, Any]]:
    terms: list[dict[str, Any]] = node_affinity(affinity)["nodeAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]["nodeSelectorTerms"]
    return terms


def _containers(spec: Mapping[str, Any]) -> list[Any]:
    return [item for path, item in containers(spec) if not path.startswith("initContainers")]


def _container(spec: Mapping[str, Any], name: str) -> Any:
    """Return the container of that name; without one, the first that asks for devices today, or the first."""
    found = _containers(spec)
    if not name and found:
        return next((item for item in found if _uses_devices(item)), found[0])
    for item in found:
        if item.get("name") == name:
            return item
    names = ", ".join(str(item.get("name")) for item in found) or "none"
    raise InputError(f"there is no container {name!r}; containers: {names}" if name else "the pod has no container")


def _uses_devices(container: Mapping[str, Any]) -> bool:
    resources = container.get("resources")
    claims = resources.get("claims") if isinstance(resources, Mapping) else None
    return bool(claims or extended_resources(container))


def _list(value: MutableMapping[str, Any], key: str) -> Any:
    found = value.get(key)
    if not isinstance(found, MutableSequence):
        found = value[key] = []
    return found


def mapping_in(value: MutableMapping[str, Any], key: str) -> Any:
    """Return a mapping in another one; if it is missing it is made, `metadata` before the other keys."""
    found = value.get(key)
    if isinstance(found, MutableMapping):
        return found
    made: dict[str, Any] = {}
    if key == "metadata" and hasattr(value, "insert"):
        value.pop(key, None)
        value.insert(0, key, made)
    else:
        value[key] = made
    return value[key]


def pod_metadata(value: Any, field: PodField) -> Any:
    """Return the metadata of a pod template, made if it is missing."""
    path = field.path.removesuffix("spec").removesuffix(".")
    return mapping_in(value_at(value, path) if path else value, "metadata")


def replace_annotations(metadata: Any, known: Sequence[str], wanted: Mapping[str, str]) -> None:
    """Write annotations, and remove others of the known ones, which would contradict them."""
    if not wanted and not metadata.get("annotations"):
        return
    found = mapping_in(metadata, "annotations")
    for name in known:
        if name not in wanted:
            found.pop(name, None)
    found.update(wanted)


def requested_twice(workload: WorkloadFile, claim: ResourceClaimTemplate | ResourceClaim) -> tuple[Finding, ...]:
    """Return, for each container that still limits a resource of a device plugin, what the pod asks for beside a claim.

    A warning where the claim asks for the class that takes the resource's place, else a note: another kind of device
    may well come from a plugin. Resources of which `drivers/data/device_plugins.yaml` knows nothing are left out. Rule:
    a container's `resources.limits` and `resources.claims` are served independently (Kubernetes, Pod v1).
    """
    spec = claim.spec.spec if isinstance(claim, ResourceClaimTemplate) else claim.spec
    return tuple(_found(workload, _classes(spec.devices)))


def _classes(devices: DeviceClaim) -> frozenset[str]:
    exact = {r.exactly.device_class_name for r in devices.requests if r.exactly is not None}
    return frozenset(exact | {sub.device_class_name for r in devices.requests for sub in r.first_available})


def _found(workload: WorkloadFile, classes: frozenset[str]) -> Iterator[Finding]:
    for field in workload.templates:
        for path, container in containers(field.spec, field.path):
            origin = Origin(source=workload.name, object=workload.title, path=f"{path}.resources.limits")
            name = str(container.get("name") or path.rpartition(".")[2])
            yield from _of_container(container, name, origin, classes)


def _of_container(container: Any, name: str, origin: Origin, classes: frozenset[str]) -> Iterator[Finding]:
    for resource, amount in extended_resources(container).items():
        known = plugin_resource(resource)
        if known is None:
            continue
        twice = known.device_class in classes
        message = f"container {name} still requests {resource}: {amount}, in addition to the devices of its claim"
        message += f": {known.device_class} twice, once from a device plugin" if twice else ""
        advice = (
            "Remove the resource if the claim replaces it. dra-lab migrate CLUSTER FILE --dir DIR writes the "
            "claim for what the workload requests and removes the resource."
        )
        severity = Severity.WARNING if twice else Severity.NOTE
        yield Finding(
            "asked-twice" if twice else "plugin-beside-claim", severity, origin.object, message, advice, origin
        )

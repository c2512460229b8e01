"""A person's own workload with the claim put into its pod templates; comments and order are kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, MutableMapping, MutableSequence, Sequence
from dataclasses import dataclass
from typing import Any

from dra_lab.drivers.profiles import plugin_resource
from dra_lab.errors import InputError
from dra_lab.exports.workload_file import WorkloadFile
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.manifests.device_asks import containers, extended_resources
from dra_lab.manifests.pod_templates import PodField, pod_fields
from dra_lab.manifests.yaml_file import YamlFile
from dra_lab.manifests.yaml_text import dump_yaml, load_yaml, value_at
from dra_lab.model.claims import ResourceClaim, ResourceClaimTemplate
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
    patch = _Patch(workload.title, _named(claims, entries), container, affinity, [])
    file = YamlFile(workload.text, workload.name)
    value = [*file.values.values()][workload.document]
    for field in workload.templates:
        patch.apply(value_at(value, field.path))
    patch.note_templates(workload, value)
    if edit is not None:
        edit(value)
    return Patched(workload.name, file.text(), tuple(patch.findings))


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
    spec = value_at(value, field.path)
    patch = _Patch(workload.title, _named(claims, entries), container, affinity, [])
    patch.apply(spec)
    target = _container(spec, container)
    nested: dict[str, Any] = {
        "containers": [{"name": target.get("name"), "resources": {"claims": target["resources"]["claims"]}}],
        "resourceClaims": spec["resourceClaims"],
    }
    if affinity:
        nested["affinity"] = {"nodeAffinity": spec["affinity"]["nodeAffinity"]}
    for key in reversed(field.path.split(".")):
        nested = {key: nested}
    head = {"apiVersion": value.get("apiVersion"), "kind": workload.kind, "metadata": {"name": workload.subject}}
    return Patched(COMPONENT_PATCH, dump_yaml({**head, **nested}), tuple(patch.findings))


def _named(claims: Claims, entries: Sequence[str]) -> list[_Named]:
    every = claims if isinstance(claims, Sequence) else (claims,)
    return list(zip(every, entries or [POD_CLAIM] * len(every), strict=True))


@dataclass(frozen=True)
class _Patch:
    """What the pods of a workload get; `subject` names it in the findings, which grow."""

    subject: str
    claims: Sequence[_Named]
    container: str
    affinity: Affinity
    findings: list[Finding]

    def apply(self, spec: MutableMapping[str, Any]) -> None:
        """Change the spec of a pod template."""
        if self.claims:
            self._put_claims(spec)
        if self.affinity:
            _require(spec, self.affinity)

    def note_templates(self, workload: WorkloadFile, value: Any) -> None:
        """Add a finding that names the chosen templates, if there are several to choose from."""
        chosen = {field.path for field in workload.templates}
        others = [field for field in pod_fields(value) if field.path not in chosen]
        if self.claims and (others or len(workload.templates) > 1):
            goes = "the claim goes" if len(self.claims) == 1 else "the claims go"
            message = f"{goes} to the pods of {_paths(workload.templates)}"
            message += f"; those of {_paths(others)} get none" if others else ""
            advice = "Name others with --template PATH."
            self.findings.append(Finding("templates-chosen", Severity.NOTE, self.subject, message, advice))

    def _put_claims(self, spec: MutableMapping[str, Any]) -> None:
        target = _container(spec, self.container)
        used = _list(mapping_in(target, "resources"), "claims")
        for claim, wanted in self.claims:
            name = _put_claim(_list(spec, "resourceClaims"), pod_claim(claim, wanted), claim)
            if not any(isinstance(item, Mapping) and item.get("name") == name for item in used):
                used.append({"name": name})
        others = [str(item.get("name")) for item in _containers(spec) if item is not target]
        if others and not self.container:
            get = "gets" if len(others) == 1 else "get"
            message = f"the devices go to its container {target.get('name')}; {', '.join(others)} {get} none"
            finding = Finding("container-chosen", Severity.NOTE, self.subject, message, "Name one with --container.")
            if finding not in self.findings:
                self.findings.append(finding)


def _paths(fields: Sequence[PodField]) -> str:
    return ", ".join(f"{f.template} ({f.helper + ', ' if f.helper else ''}{f.pods})" for f in fields)


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
        ours = node_affinity(affinity)["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        terms.extend(ours["nodeSelectorTerms"])
        return
    for term in terms:
        # An empty term matches no node, and would match some with an expression.
        if not (term.get("matchExpressions") or term.get("matchFields")):
            continue
        expressions = _list(term, "matchExpressions")
        expressions.extend(dict(one) for one in affinity if dict(one) not in expressions)


def _containers(spec: Mapping[str, Any]) -> list[Any]:
    return [item for path, item in containers(spec) if not path.startswith("initContainers")]


def _container(spec: Mapping[str, Any], name: str) -> Any:
    """Return the container of that name; without one, the first that asks for devices today, or the first."""
    found = _containers(spec)
    if not name and found:
        for item in found:
            resources = item.get("resources")
            if (isinstance(resources, Mapping) and resources.get("claims")) or extended_resources(item):
                return item
        return found[0]
    for item in found:
        if item.get("name") == name:
            return item
    names = ", ".join(str(item.get("name")) for item in found) or "none"
    raise InputError(f"there is no container {name!r}; containers: {names}" if name else "the pod has no container")


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
    devices = (claim.spec.spec if isinstance(claim, ResourceClaimTemplate) else claim.spec).devices
    classes = {part.device_class_name for request in devices.requests for part in request.parts}
    found: list[Finding] = []
    for field in workload.templates:
        for path, container in containers(field.spec, field.path):
            origin = Origin(source=workload.name, object=workload.title, path=f"{path}.resources.limits")
            found += _of_container(container, str(container.get("name") or path.rpartition(".")[2]), origin, classes)
    return tuple(found)


def _of_container(container: Any, name: str, origin: Origin, classes: set[str]) -> Iterator[Finding]:
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

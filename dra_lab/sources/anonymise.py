"""A cluster under pseudonyms: what is known to be harmless stays, and every other text is replaced.

Equal texts have equal pseudonyms, which sort as the texts do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct, structs

from dra_lab.cel.selector import Selector, compile_selector
from dra_lab.errors import CelCompileError, CelRuntimeError, UnsupportedFeature
from dra_lab.findings import Finding, Severity
from dra_lab.index.hyper_node_members import with_exact_members
from dra_lab.model.claims import expressions
from dra_lab.model.cluster import Cluster
from dra_lab.model.decoding import from_builtins
from dra_lab.model.device import Device
from dra_lab.model.nodes import NodeSelector, ObjectMeta
from dra_lab.model.queues import KUEUE_GATES
from dra_lab.model.topologies import HyperNode
from dra_lab.sources.pseudonyms import DOMAINS, Pseudonyms, in_machine, is_plain, is_word, level_in
from dra_lab.sources.snapshot_info import renamed_places
from dra_lab.sources.snapshots import REQUIRED, portable


def _by_field(fields_of_kind: Mapping[str, str]) -> dict[str, str]:
    return {field: kind for kind, fields in fields_of_kind.items() for field in fields.split()}


_RULES = _by_field({
    "kept": """ResourceSliceSpec.driver ResourceSliceSpec.partition_type_attribute DeviceRequest.name
        DeviceSubRequest.name ExactDeviceRequest.device_class_name DeviceSubRequest.device_class_name
        DeviceConstraint.requests DeviceConstraint.match_attribute DeviceConstraint.distinct_attribute
        DeviceDerivedAttribute.name DeviceRequestAllocationResult.request DeviceRequestAllocationResult.driver
        DeviceClassSpec.extended_resource_name DeviceTaintSelector.driver ContainerResourceClaim.request
        CounterSource.name CounterSource.driver DeviceClassMapping.device_class_names driver requestName capacityKey
        ResourceSliceSpec.skip_node_operations DeviceRequestAllocationResult.skip_node_operations""",
    "device": "Device.name DeviceRequestAllocationResult.device DeviceTaintSelector.device device",
    "pool": "ResourcePool.name DeviceRequestAllocationResult.pool DeviceTaintSelector.pool pool",
    "node": "ResourceSliceSpec.node_name Device.node_name PodSpec.node_name NodeSelectorTerm.match_fields",
    "uid": "DeviceRequestAllocationResult.share_id ResourceClaimConsumerReference.uid shareID",
    "condition": """Device.binding_conditions Device.binding_failure_conditions
        DeviceRequestAllocationResult.binding_conditions type
        DeviceRequestAllocationResult.binding_failure_conditions""",
    "machine": """CounterSet.name DeviceCounterConsumption.counter_set
        DeviceCounterConsumption.compatibility_groups""",
    "cel": "CELDeviceSelector.expression DeviceDerivedAttribute.expression",
    "podclaim": "PodResourceClaim.name ContainerResourceClaim.name PodResourceClaimStatus.name",
    "claim": """PodResourceClaim.resource_claim_name PodResourceClaimStatus.resource_claim_name
        PodExtendedResourceClaimStatus.resource_claim_name""",
    "template": "PodResourceClaim.resource_claim_template_name",
    "container": "Container.name ContainerStatus.name containerName",
    "resource": """ResourceQuota.name ResourceGroup.covered_resources ResourceAmount.name DeviceClassMapping.name
        Transformation.input resourceName""",
    "flavor": "FlavorQuotas.name FlavorAmounts.name PodSetAssignment.flavors",
    "check": "CheckRule.name ClusterQueueSpec.admission_checks",
    "cohort": "ClusterQueueSpec.cohort_name ClusterQueueSpec.cohort CohortSpec.parent_name",
    "queue": "LocalQueueSpec.cluster_queue WorkloadAdmission.cluster_queue",
    "label": "TopologyLevel.node_label key name",
    "level": "TopologyLevel.alias",
    "tier": "HyperNodeSpec.tier_name",
    "topology": "ResourceFlavorSpec.topology_name",
    "podset": "PodSetAssignment.name",
    "api": """effect operator status tolerationSeconds conditions capacityMultiplier allocationMultiplier
        persistentVolumeClaim""",
})  # fmt: skip
"""The kind of text in a field, or under a key of an object without a type; a field that is not listed is replaced."""

_KEYS = _by_field({
    "resource": """NodeStatus.allocatable NodeStatus.capacity ResourceRequirements.limits ResourceRequirements.requests
        PodSetAssignment.flavors PodSetAssignment.resource_usage Device.node_allocatable_resource_mappings
        Device.node_allocatable_resources PodSpec.overhead""",
    "label": """LabelSelector.match_labels ResourceFlavorSpec.node_labels
        PodSpec.node_selector""",
    "kept": """Device.capacity DeviceCounterConsumption.counters CounterSet.counters CapacityRequirements.requests
        DeviceRequestAllocationResult.consumed_capacity""",
})  # fmt: skip
"""The kind of the keys of a field."""

_NAMES = {
    "ResourceClaim": "claim", "ResourceSlice": "slice", "DeviceTaintRule": "rule", "ClusterQueue": "queue",
    "KueueWorkload": "workload", "DeviceClass": "kept", "ResourceFlavor": "flavor",
}  # fmt: skip
"""Kinds of objects whose name is not of the kind that their type says in small letters."""

_SCHEDULERS = ("", "default-scheduler", "volcano", "kai-scheduler")


@dataclass(frozen=True)
class Anonymised:
    """A cluster under pseudonyms, and the pseudonym of everything that was replaced, by kind and original.

    A device's original is `driver/name`; all others are the texts themselves. `left_out` counts what is in neither.
    """

    cluster: Cluster
    mapping: Mapping[str, Mapping[str, str]]
    left_out: Mapping[str, int]

    @property
    def counts(self) -> dict[str, int]:
        """Return how many different texts of each kind were replaced."""
        return {kind: len(table) for kind, table in sorted(self.mapping.items())}


def anonymise(cluster: Cluster) -> Anonymised:
    """Return a cluster in which every text is replaced that is not known to be harmless.

    Kept: names of drivers, classes, attributes, capacities, counters and requests; models, modes, versions and places
    inside a machine that drivers with a data file publish; labels that many clusters have; numbers and quantities.
    Literals of selectors are replaced in the same way. Only what a snapshot keeps is in the result.
    """
    hyper_nodes = [item.name for item in cluster.topologies if isinstance(item, HyperNode)]
    exact = (
        with_exact_members(item, cluster.node_by_name, hyper_nodes) if isinstance(item, HyperNode) else item
        for item in cluster.topologies
    )
    kept, left_out = portable(replace(cluster, topologies=tuple(exact)))
    names = Pseudonyms(kept)
    _replaced(kept, names)  # collects
    names.assign(kept)
    hidden = _replaced(kept, names)
    places = renamed_places(cluster.file_places, partial(names.of, "node"), names.device)
    hidden = replace(hidden, file_places=places, templates=None, server_version=_release(cluster.server_version))
    return Anonymised(hidden, names.mapping(), left_out)


def mapping_text(hidden: Anonymised) -> str:
    """Return the pseudonyms as JSON, `{kind: {original: pseudonym}}`, only for the person who captured the cluster."""
    return json.dumps(hidden.mapping, indent=1, ensure_ascii=False) + "\n"


def _release(version: str) -> str:
    """Return a version of Kubernetes without what its builder added (`v1.36.2-acme.3`)."""
    found = re.match(r"v?\d+(?:\.\d+){0,2}", version)
    return found[0] if found else ""


def _replaced(cluster: Cluster, names: Pseudonyms) -> Cluster:
    fields = ("slices", "classes", "nodes", "claims", "taint_rules", "pods", "topologies", "queues")
    new: dict[str, Any] = {f: tuple(map(_Walk(names).struct, getattr(cluster, f))) for f in fields}
    return replace(cluster, **new)


class _Walk:
    """Goes through the fields of an object; `driver` is the one that the object at hand names."""

    def __init__(self, names: Pseudonyms) -> None:
        self.names = names
        self.driver = ""

    def struct(self, item: Any) -> Any:
        """Return an object under pseudonyms."""
        kind = type(item).__name__
        self.driver = getattr(item, "driver", None) or ("" if hasattr(item, "metadata") else self.driver)
        special: Callable[[Any], dict[str, Any]] = getattr(self, f"_{kind.lower()}", lambda _: {})
        new = special(item)
        for field in item.__struct_fields__:
            value = getattr(item, field)
            if field == "metadata":
                new[field] = self._meta(_NAMES.get(kind, kind.lower()), value)
            elif field not in ("kind", "api_version", *new) and value and value is not True:
                new[field] = self.value(value, f"{kind}.{field}")
        return structs.replace(item, **new) if new else item

    def value(self, value: Any, where: str) -> Any:
        """Return a value of a field."""
        if isinstance(value, str):
            return self.text(value, _RULES.get(where, "api"))
        if isinstance(value, Struct):
            return self.struct(value)
        if isinstance(value, tuple | list):
            return tuple(self.value(one, where) for one in value)
        if not isinstance(value, dict):
            return value
        if (kind := _KEYS.get(where)) is not None:
            named = self._labels(value) if kind == "label" else None
            return named or {self.text(key, kind): self.value(one, where) for key, one in value.items()}
        self.driver = str(value.get("driver") or self.driver)
        key = str(value.get("key") or "")
        known = {name: one for name, one in value.items() if name in _RULES}
        new = {name: self.value(one, name) for name, one in known.items()}
        return {**new, "value": self.names.label_value(key, str(value["value"]))} if "value" in value else new

    def text(self, text: str, kind: str) -> str:
        """Return a text of a kind of field."""
        names = self.names
        if not text or kind == "kept":
            return text
        if kind == "device":
            return names.device(self.driver, text)
        special = {"label": names.label, "resource": names.resource, "cel": names.cel, "level": level_in}.get(kind)
        if special is not None:
            return special(text)
        if kind == "tier" and level_in(text):
            return level_in(text)
        plain = {"api": is_plain, "condition": is_word, "machine": in_machine}.get(kind)
        if plain is not None and plain(text):
            return text
        return names.of("value" if kind in ("api", "machine") else kind, text)

    def _meta(self, kind: str, meta: ObjectMeta) -> ObjectMeta:
        of = self.names.of
        return ObjectMeta(
            name=self.text(meta.name, kind),
            namespace=of("namespace", meta.namespace),
            uid=of("uid", meta.uid.lower()) if kind in ("claim", "pod") else "",
            labels=self._labels(meta.labels),
            # that it is being deleted matters, not when
            deletion_timestamp=meta.deletion_timestamp and "2000-01-01T00:00:00Z",
        )

    def _labels(self, labels: Mapping[str, str]) -> dict[str, str]:
        return {self.names.label(key): self.names.label_value(key, str(value)) for key, value in labels.items()}

    def _device(self, item: Any) -> dict[str, Any]:
        attribute = self.names.attribute
        return {"attributes": {key: attribute(self.driver, key, value) for key, value in item.attributes.items()}}

    def _devicetaint(self, item: Any) -> dict[str, Any]:
        new = {"key": self.names.label(item.key), "value": self.names.label_value(item.key, item.value)}
        return {**new, "time_added": None} if hasattr(item, "time_added") else new

    _devicetoleration = _devicetaint

    def _nodeselectorterm(self, item: Any) -> dict[str, Any]:
        fields = (structs.replace(one, values=self.value(one.values, "Device.node_name")) for one in item.match_fields)
        return {"match_fields": tuple(fields)}

    def _nodeselectorrequirement(self, item: Any) -> dict[str, Any]:
        values = tuple(self.names.label_value(item.key, value) for value in item.values)
        return {"key": self.names.label(item.key), "values": values}

    def _podspec(self, item: Any) -> dict[str, Any]:
        amounts = {key: value for key, value in item.resources.items() if isinstance(value, dict)}
        return {
            "affinity": self._affinity(item.affinity),
            "resources": {key: self.value(value, "PodSpec.overhead") for key, value in amounts.items()},
            "scheduling_group": item.scheduling_group and {"": ""},
            "scheduler_name": item.scheduler_name if item.scheduler_name in _SCHEDULERS else "another-scheduler",
        }

    def _affinity(self, affinity: Mapping[str, Any]) -> dict[str, Any]:
        """Return an affinity, of which `portable` kept the terms for nodes alone; terms that are none are left out."""
        found = {field: value for field, value in affinity.items() if field != "nodeAffinity"}
        try:
            selector = from_builtins(affinity["nodeAffinity"][REQUIRED], NodeSelector)
        except (msgspec.ValidationError, KeyError, TypeError):
            return found
        return {**found, "nodeAffinity": {REQUIRED: msgspec.to_builtins(self.struct(selector))}}

    def _nodesysteminfo(self, item: Any) -> dict[str, Any]:
        return {"kubelet_version": _release(item.kubelet_version)}

    def _member(self, item: Any) -> dict[str, Any]:
        match = item.selector.exact_match
        name = self.names.of("node" if item.type == "Node" else "hypernode", match.name)
        return {"selector": structs.replace(item.selector, exact_match=structs.replace(match, name=name))}

    def _resourceclaimconsumerreference(self, item: Any) -> dict[str, Any]:
        if item.resource in ("pods", ""):
            return {"resource": item.resource, "name": self.names.of("pod", item.name)}
        group = item.api_group and f"{self.names.of('label', item.api_group)}.example"
        return {"api_group": group, "resource": "consumers", "name": self.names.of("consumer", item.name)}

    def _resourcestatus(self, item: Any) -> dict[str, Any]:
        claim, _, rest = item.name.partition(":")
        entry, slash, request = rest.partition("/")
        if claim != "claim":
            return {"name": self.names.resource(item.name)}
        return {"name": f"claim:{self.names.of('podclaim', entry)}{slash}{request}"}

    def _resourcehealth(self, item: Any) -> dict[str, Any]:
        driver, _, rest = item.resource_id.partition("/")
        pool, _, device = rest.rpartition("/")
        if pool and driver in self.names.protected:
            return {"resource_id": f"{driver}/{self.names.of('pool', pool)}/{self.names.device(driver, device)}"}
        return {"resource_id": self.names.of("value", item.resource_id)}

    def _configuration(self, item: Any) -> dict[str, Any]:
        return {"feature_gates": {gate: on for gate, on in item.feature_gates.items() if gate in KUEUE_GATES}}

    def _kueueresources(self, item: Any) -> dict[str, Any]:
        return {"exclude_resource_prefixes": tuple(one for one in item.exclude_resource_prefixes if one in DOMAINS)}


MAX_SELECTORS = 200
"""The most different selectors that are compared; a Finding counts the others."""


def changed_selectors(before: Cluster, after: Cluster) -> tuple[Finding, ...]:
    """Return a finding for each selector of a class or claim that selects other devices under pseudonyms.

    `after` is `before` under pseudonyms, object by object. A selector that looks at a part of a replaced value (its
    beginning, a pattern, a network) may change; comparisons of whole values do not.
    """
    pairs: dict[tuple[str, str], str] = {}
    for subject, old, new in _pairs(before, after):
        pairs.setdefault((old, new), subject)
    found = []
    for (old, new), subject in list(pairs.items())[:MAX_SELECTORS]:
        if changed := _changed(old, new, before, after):
            message = f"with the replaced names, its selector gives another result on {changed:,} devices: {new}"
            advice = (
                "It reads part of a value that was replaced, so plans that use it differ from plans on the "
                "original cluster."
            )
            found.append(Finding("selector-changed", Severity.WARNING, subject, message, advice))
    if len(pairs) > MAX_SELECTORS:
        message = f"{len(pairs) - MAX_SELECTORS:,} of {len(pairs):,} different selectors were not compared"
        found.append(Finding("selectors-not-compared", Severity.NOTE, "selectors", message))
    return tuple(found)


def _pairs(before: Cluster, after: Cluster) -> Iterator[tuple[str, str, str]]:
    """Yield the selectors of classes and claims: whose it is, before, after."""
    parts = [
        (f"DeviceClass {new.name}", old.spec.selectors, new.spec.selectors)
        for old, new in zip(before.classes, after.classes, strict=True)
    ]
    for claim, renamed in zip(before.claims, after.claims, strict=True):
        subject = f"ResourceClaim {renamed.metadata.namespace}/{renamed.metadata.name}"
        for was, now in zip(claim.spec.devices.requests, renamed.spec.devices.requests, strict=True):
            ways = zip((was.exactly, *was.first_available), (now.exactly, *now.first_available), strict=True)
            parts += [(subject, old.selectors, new.selectors) for old, new in ways if old and new]
    for subject, one, other in parts:
        yield from ((subject, *pair) for pair in zip(expressions(one), expressions(other), strict=True))


def _changed(old: str, new: str, before: Cluster, after: Cluster) -> int:
    one, other = _compiled(old), _compiled(new)
    if one is None or other is None:
        return 0 if one is other else sum(len(item.spec.devices or ()) for item in before.slices)
    count = 0
    for item, renamed in zip(before.slices, after.slices, strict=True):
        driver = item.spec.driver
        for device, alias in zip(item.spec.devices or (), renamed.spec.devices or (), strict=True):
            count += _decides(one, driver, device) is not _decides(other, driver, alias)
    return count


def _compiled(expression: str) -> Selector | None:
    try:
        return compile_selector(expression, list_type_attributes=True)
    except (CelCompileError, UnsupportedFeature):
        return None


def _decides(selector: Selector, driver: str, device: Device) -> bool | None:
    try:
        return bool(selector.matches(driver, device))
    except CelRuntimeError:
        return None

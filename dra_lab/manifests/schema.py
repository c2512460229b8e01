"""The fields of `resource.k8s.io` as data: names, types, which are pointers, which are always written, since when.

The Go types of `k8s.io/api/resource` decide how the API server reads and writes; OpenAPI does not say all of it.
A line is a struct and its fields in the order in which Kubernetes writes them. `name:type`, where no type is text;
`[T]` a list, `{T}` a map; `*` a pointer, for which unset and zero differ; `!` written even when it is zero;
`>1.36` and `<1.37`: known from, or before, that release.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from msgspec import Struct

from dra_lab.model.claims import EXACT_COUNT
from dra_lab.model.release import DEFAULT_RELEASE, RELEASES, KubernetesRelease, at_least, known_release

_TABLE = """
ObjectMeta name generateName namespace selfLink uid resourceVersion generation:int creationTimestamp:time*
  deletionTimestamp:time* deletionGracePeriodSeconds:int* labels:{text} annotations:{text}
  ownerReferences:[OwnerReference] finalizers:[text] managedFields:[ManagedFieldsEntry]
OwnerReference apiVersion! kind! name! uid! controller:bool* blockOwnerDeletion:bool*
ManagedFieldsEntry manager operation apiVersion time:time* fieldsType fieldsV1:raw subresource
Condition type! status! observedGeneration:int lastTransitionTime:time! reason! message!
NodeSelector nodeSelectorTerms:[NodeSelectorTerm]!
NodeSelectorTerm matchExpressions:[NodeSelectorRequirement] matchFields:[NodeSelectorRequirement]
NodeSelectorRequirement key! operator! values:[text]

ResourceSlice apiVersion kind metadata:ObjectMeta! spec:ResourceSliceSpec!
ResourceSliceSpec driver! pool:ResourcePool! nodeName* nodeSelector:NodeSelector* allNodes:bool* devices:[Device]
  perDeviceNodeSelection:bool* sharedCounters:[CounterSet] partitionTypeAttribute*>1.37 skipNodeOperations:[text]>1.37
v1beta1.ResourceSliceSpec driver! pool:ResourcePool! nodeName nodeSelector:NodeSelector* allNodes:bool
  devices:[Device] perDeviceNodeSelection:bool* sharedCounters:[CounterSet] partitionTypeAttribute*>1.37
  skipNodeOperations:[text]>1.37
ResourcePool name! generation:int! resourceSliceCount:int!
CounterSet name! counters:{Counter}!
Counter value:quantity!
v1beta1.Device name! basic:BasicDevice*
BasicDevice attributes:{DeviceAttribute} capacity:{DeviceCapacity} consumesCounters:[DeviceCounterConsumption]
  nodeName* nodeSelector:NodeSelector* allNodes:bool* taints:[DeviceTaint] bindsToNode:bool* bindingConditions:[text]
  bindingFailureConditions:[text] allowMultipleAllocations:bool*
  nodeAllocatableResourceMappings:{NodeAllocatableResourceMapping}>1.36<1.37
  nodeAllocatableResources:{NodeAllocatableResource}>1.37
Device name! +BasicDevice
DeviceAttribute int:int* bool:bool* string* version* ints:[int]>1.36 bools:[bool]>1.36 strings:[text]>1.36
  versions:[text]>1.36
DeviceCapacity value:quantity! requestPolicy:CapacityRequestPolicy*
CapacityRequestPolicy default:quantity*! validValues:[quantity] validRange:CapacityRequestPolicyRange*
CapacityRequestPolicyRange min:quantity*! max:quantity* step:quantity*
DeviceCounterConsumption counterSet! counters:{Counter}! compatibilityGroups:[text]>1.37
DeviceTaint key! value effect! timeAdded:time*
NodeAllocatableResourceMapping capacityKey* allocationMultiplier:quantity*
NodeAllocatableResource mapping:NodeAllocatableMapping* overhead:NodeAllocatableOverhead*
NodeAllocatableMapping capacityKey* capacityMultiplier:quantity* deviceMultiplier:quantity*
NodeAllocatableOverhead perPod:quantity* perContainer:quantity*

DeviceTaintRule apiVersion kind metadata:ObjectMeta! spec:DeviceTaintRuleSpec! status:DeviceTaintRuleStatus!
DeviceTaintRuleSpec deviceSelector:DeviceTaintSelector* taint:DeviceTaint!
DeviceTaintSelector driver* pool* device*
DeviceTaintRuleStatus conditions:[Condition]

DeviceClass apiVersion kind metadata:ObjectMeta! spec:DeviceClassSpec!
DeviceClassSpec selectors:[DeviceSelector] config:[DeviceClassConfiguration] extendedResourceName*
DeviceClassConfiguration opaque:OpaqueDeviceConfiguration*
DeviceSelector cel:CELDeviceSelector*
CELDeviceSelector expression!
OpaqueDeviceConfiguration driver! parameters:raw!

ResourceClaim apiVersion kind metadata:ObjectMeta! spec:ResourceClaimSpec! status:ResourceClaimStatus!
ResourceClaimTemplate apiVersion kind metadata:ObjectMeta! spec:ResourceClaimTemplateSpec!
ResourceClaimTemplateSpec metadata:ObjectMeta! spec:ResourceClaimSpec!
ResourceClaimSpec devices:DeviceClaim!
DeviceClaim requests:[DeviceRequest]! constraints:[DeviceConstraint] config:[DeviceClaimConfiguration]
DeviceRequest name! exactly:ExactDeviceRequest* firstAvailable:[DeviceSubRequest]
v1beta1.DeviceRequest name! +ExactDeviceRequest firstAvailable:[DeviceSubRequest]
ExactDeviceRequest deviceClassName! selectors:[DeviceSelector] allocationMode count:int adminAccess:bool*
  tolerations:[DeviceToleration] capacity:CapacityRequirements* derivedAttributes:[DeviceDerivedAttribute]>1.37
DeviceSubRequest name! deviceClassName! selectors:[DeviceSelector] allocationMode count:int
  tolerations:[DeviceToleration] capacity:CapacityRequirements* derivedAttributes:[DeviceDerivedAttribute]>1.37
CapacityRequirements requests:{quantity}
DeviceDerivedAttribute name! expression!
DeviceToleration key operator value effect tolerationSeconds:int*
DeviceConstraint requests:[text] matchAttribute* distinctAttribute*
DeviceClaimConfiguration requests:[text] opaque:OpaqueDeviceConfiguration*

ResourceClaimStatus allocation:AllocationResult* reservedFor:[ResourceClaimConsumerReference]
  devices:[AllocatedDeviceStatus]
AllocationResult devices:DeviceAllocationResult! nodeSelector:NodeSelector* allocationTimestamp:time*
DeviceAllocationResult results:[DeviceRequestAllocationResult] config:[DeviceAllocationConfiguration]
DeviceRequestAllocationResult request! driver! pool! device! adminAccess:bool* tolerations:[DeviceToleration]
  bindingConditions:[text] bindingFailureConditions:[text] shareID* consumedCapacity:{quantity}
  skipNodeOperations:[text]>1.37
DeviceAllocationConfiguration source! requests:[text] opaque:OpaqueDeviceConfiguration*
ResourceClaimConsumerReference apiGroup resource! name! uid!
AllocatedDeviceStatus driver! pool! device! shareID* conditions:[Condition] data:raw networkData:NetworkDeviceData*
NetworkDeviceData interfaceName ips:[text] hardwareAddress
"""

SCALARS = ("text", "int", "bool", "quantity", "time", "raw")
_FIELD = re.compile(
    r"(?P<name>\w+)(?::(?P<type>[\w{}\[\]]+))?(?P<flags>[*!]*)(?:>(?P<since>[\d.]+))?(?:<(?P<until>[\d.]+))?"
)


class Field(Struct, frozen=True):
    """One field: `container` is "", "list" or "map", `type` a scalar or the name of a struct."""

    name: str
    type: str = "text"
    container: str = ""
    pointer: bool = False
    always: bool = False
    since: str = RELEASES[0]
    until: str = ""

    def known(self, release: str) -> bool:
        """Say whether an API server of a release (`1.36.3`) knows the field."""
        return at_least(release, self.since) and not (self.until and at_least(release, self.until))


def struct_fields(name: str, version: str = "v1", release: str = DEFAULT_RELEASE) -> Mapping[str, Field]:
    """Return the fields of a struct in a version of the API (`v1`, `v1beta2`, `v1beta1`), as a release knows them."""
    return _fields(name, version if f"{version}.{name}" in _structs() else "v1", known_release(release))


@lru_cache(maxsize=512)
def _fields(name: str, version: str, release: str) -> Mapping[str, Field]:
    lines = _structs()
    text = lines.get(f"{version}.{name}") or lines[name]
    found: dict[str, Field] = {}
    for word in text.split():
        if word.startswith("+"):
            found |= _fields(word[1:], version, release)
            continue
        field = _parse(word)
        if field.known(release):
            found[field.name] = field
    return found


@lru_cache(maxsize=1)
def _structs() -> Mapping[str, str]:
    lines = re.sub(r"\n +", " ", _TABLE).split("\n")
    return {name: rest for name, _, rest in (line.partition(" ") for line in lines if line)}


def _parse(word: str) -> Field:
    match = _FIELD.fullmatch(word)
    assert match is not None, word
    kind = match["type"] or "text"
    container = {"[": "list", "{": "map"}.get(kind[0], "")
    return Field(
        name=match["name"],
        type=kind.strip("[]{}"),
        container=container,
        pointer="*" in match["flags"],
        always="!" in match["flags"],
        since=match["since"] or RELEASES[0],
        until=match["until"] or "",
    )


_ZERO: Mapping[str, Any] = {"text": "", "int": 0, "bool": False, "quantity": "0", "time": None, "raw": None}


def as_stored(
    document: Mapping[str, Any], kind: str, version: str = "v1", release: str = DEFAULT_RELEASE
) -> dict[str, Any]:
    """Return a decoded document of a kind and version as the API server writes it.

    Empty lists and maps are unset, as storage does not keep them; zero values are left out unless their field is always
    written, and then an empty list reads null. Maps come sorted by key.
    """
    head = {name: document[name] for name in ("apiVersion", "kind") if name in document}
    return {**head, **_struct(document, kind, version, release)}


def _struct(value: Mapping[str, Any], name: str, version: str, release: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in struct_fields(name, version, release).values():
        item = value.get(field.name)
        if item is None:
            if field.always:
                found[field.name] = _nothing(field, version, release)
            continue
        written = _field(item, field, version, release)
        if field.pointer or field.always or written:
            found[field.name] = written if written or not field.container else None
    return found


def _nothing(field: Field, version: str, release: str) -> Any:
    if field.pointer or field.container:
        return None
    return _ZERO[field.type] if field.type in SCALARS else _struct({}, field.type, version, release)


def _field(item: Any, field: Field, version: str, release: str) -> Any:
    if field.type == "quantity":
        # plain texts, whatever the decoder remembers of them
        if field.container == "map":
            return {key: str(value) for key, value in sorted(item.items())}
        return [*map(str, item)] if field.container == "list" else str(item)
    if field.type in SCALARS:
        if field.container == "map":
            return dict(sorted(item.items()))
        return list(item) if field.container == "list" else item
    if field.container == "list":
        return [_struct(entry, field.type, version, release) for entry in item]
    if field.container == "map":
        return {key: _struct(entry, field.type, version, release) for key, entry in sorted(item.items())}
    return _struct(item, field.type, version, release)


# --------------------------------------------------------------------- defaults


def fill_defaults(document: dict[str, Any], version: str = "v1", now: str = "") -> None:
    """Fill the defaults of a decoded document of `resource.k8s.io` into it, in the form of its own version.

    A request without allocation mode asks for ExactCount, and such a request without a count, or with a count of 0,
    for one device. A toleration without operator is `Equal`. A taint without time gets `now` (an ISO time; the clock's
    where it is empty). In v1beta1 a request without class is left alone, as its fields belong to the subrequests.
    """
    kind, spec = document.get("kind"), document.get("spec") or {}
    if kind == "ResourceClaimTemplate":
        kind, spec = "ResourceClaim", spec.get("spec") or {}
    if kind == "ResourceClaim":
        for request in (spec.get("devices") or {}).get("requests") or ():
            _fill_request(request, version)
    moment = now or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for taint in _taints(kind, spec):
        taint.setdefault("timeAdded", moment)
    for device in spec.get("devices") or () if kind == "ResourceSlice" else ():
        content = device.get("basic") or {} if version == "v1beta1" else device
        for mapping in (content.get("nodeAllocatableResourceMappings") or {}).values():
            mapping.setdefault("allocationMultiplier", "1")


def _fill_request(request: dict[str, Any], version: str) -> None:
    for subrequest in request.get("firstAvailable") or ():
        _fill_exact(subrequest)
    if version == "v1beta1":
        if request.get("deviceClassName"):
            _fill_exact(request)
        else:
            _fill_tolerations(request)
    elif "exactly" in request:
        _fill_exact(request["exactly"])


def _fill_exact(request: dict[str, Any]) -> None:
    if not request.get("allocationMode"):
        request["allocationMode"] = EXACT_COUNT
    if request["allocationMode"] == EXACT_COUNT and not request.get("count"):
        request["count"] = 1
    _fill_tolerations(request)


def _fill_tolerations(request: dict[str, Any]) -> None:
    for toleration in request.get("tolerations") or ():
        if not toleration.get("operator"):
            toleration["operator"] = "Equal"


def _taints(kind: object, spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if kind == "DeviceTaintRule" and "taint" in spec:
        yield spec["taint"]
    for device in spec.get("devices") or () if kind == "ResourceSlice" else ():
        yield from device.get("taints") or ()
        yield from (device.get("basic") or {}).get("taints") or ()


Dropped = list[tuple[str, str]]
"""The dropped fields: (path of the field, name of the gate)."""

_REQUEST_FIELDS = {
    "adminAccess": "DRAAdminAccess",
    "tolerations": "DRADeviceTaints",
    "capacity": "DRAConsumableCapacity",
    "derivedAttributes": "DRADerivedAttributes",
}
_DEVICE_FIELDS = {
    "taints": "DRADeviceTaints",
    "consumesCounters": "DRAPartitionableDevices",
    "nodeName": "DRAPartitionableDevices",
    "nodeSelector": "DRAPartitionableDevices",
    "allNodes": "DRAPartitionableDevices",
    "bindsToNode": "DRADeviceBindingConditions",
    "bindingConditions": "DRADeviceBindingConditions",
    "bindingFailureConditions": "DRADeviceBindingConditions",
    "allowMultipleAllocations": "DRAConsumableCapacity",
    "nodeAllocatableResourceMappings": "DRANodeAllocatableResources",
    "nodeAllocatableResources": "DRANodeAllocatableResources",
}
_SLICE_FIELDS = {
    "sharedCounters": "DRAPartitionableDevices",
    "perDeviceNodeSelection": "DRAPartitionableDevices",
    "partitionTypeAttribute": "DRAPartitionableDevicesType",
    "skipNodeOperations": "DRAOptionalNodeOperations",
}
_LISTS = ("ints", "bools", "strings", "versions")


def drop_disabled(document: dict[str, Any], release: KubernetesRelease) -> tuple[tuple[str, str], ...]:
    """Drop the fields of a decoded v1 document whose gate is off, and return them with the names of their gates."""
    dropped: Dropped = []
    spec = document.get("spec") or {}
    match document.get("kind"):
        case "ResourceClaim":
            _drop_claim(spec, "spec", release, dropped)
        case "ResourceClaimTemplate":
            _drop_claim(spec.get("spec") or {}, "spec.spec", release, dropped)
        case "ResourceSlice":
            _drop_slice(spec, release, dropped)
        case "DeviceClass":
            _drop(spec, {"extendedResourceName": "DRAExtendedResource"}, "spec", release, dropped)
    return tuple(dropped)


def _drop(value: dict[str, Any], gates: dict[str, str], path: str, release: KubernetesRelease, out: Dropped) -> None:
    for name, gate in gates.items():
        if name in value and not release.enabled(gate):
            del value[name]
            out.append((f"{path}.{name}", gate))


def _drop_claim(spec: dict[str, Any], path: str, release: KubernetesRelease, out: Dropped) -> None:
    devices = spec.get("devices") or {}
    for index, request in enumerate(devices.get("requests") or ()):
        place = f"{path}.devices.requests[{index}]"
        _drop(request, {"firstAvailable": "DRAPrioritizedList"}, place, release, out)
        for inner, inner_place, _ in request_parts(request, place):
            _drop(inner, _REQUEST_FIELDS, inner_place, release, out)
    for index, constraint in enumerate(devices.get("constraints") or ()):
        gate = {"distinctAttribute": "DRAConsumableCapacity"}
        _drop(constraint, gate, f"{path}.devices.constraints[{index}]", release, out)


def request_parts(request: Mapping[str, Any], path: str) -> Iterator[tuple[Any, str, str]]:
    """Yield what a request asks for, exactly or as alternatives, with path and reference."""
    name = request.get("name") or ""
    if "exactly" in request:
        yield request["exactly"], f"{path}.exactly", name
    for index, subrequest in enumerate(request.get("firstAvailable") or ()):
        yield subrequest, f"{path}.firstAvailable[{index}]", f"{name}/{subrequest.get('name') or ''}"


def _drop_slice(spec: dict[str, Any], release: KubernetesRelease, out: Dropped) -> None:
    _drop(spec, _SLICE_FIELDS, "spec", release, out)
    for index, device in enumerate(spec.get("devices") or ()):
        place = f"spec.devices[{index}]"
        _drop(device, _DEVICE_FIELDS, place, release, out)
        for key, capacity in (device.get("capacity") or {}).items():
            gate = {"requestPolicy": "DRAConsumableCapacity"}
            _drop(capacity, gate, f"{place}.capacity[{key}]", release, out)
        for key, attribute in (device.get("attributes") or {}).items():
            lists = dict.fromkeys(_LISTS, "DRAListTypeAttributes")
            _drop(attribute, lists, f"{place}.attributes[{key}]", release, out)
        for number, counters in enumerate(device.get("consumesCounters") or ()):
            gate = {"compatibilityGroups": "DRADeviceCompatibilityGroups"}
            _drop(counters, gate, f"{place}.consumesCounters[{number}]", release, out)

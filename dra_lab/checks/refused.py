"""Objects of a cluster's files that no API server takes: full admission of one object of each shape."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace

import msgspec

from dra_lab.checks.document_checks import check_object
from dra_lab.checks.rules import MAX_LABEL, check_metadata, is_subdomain
from dra_lab.errors import ManifestError, SemverError
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.manifests.documents import encode
from dra_lab.manifests.typed import pattern_of
from dra_lab.model.claims import DeviceClass, ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, DeviceAttribute
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.quantity import semver_key
from dra_lab.model.slices import DeviceTaintRule, ResourceSlice

_LEAST, _MOST = -(2**63), 2**63 - 1
_MAX_TEXT = 64
_NONE = (None,) * 5
_OWNERS = "metadata.ownerReferences"
"""Published objects often lack the UIDs of their owners, which no plan depends on."""
_VALUE = re.compile(r"^.* is invalid: ", re.DOTALL)
_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_Object = ResourceSlice | ResourceClaim | DeviceClass | DeviceTaintRule


@dataclass
class _Group:
    """A finding of the first object that has it, and of how many objects and places."""

    finding: Finding
    objects: int = 0
    times: int = 0


def check_refused_slices(cluster: Cluster) -> Iterator[Finding]:
    """Yield what the API server would refuse of the slices in files, a finding for each rule and field.

    An API server has admitted the objects that were read from it, so those are not checked again.
    """
    shapes = _Shapes()
    yield from _refused(cluster, cluster.slices, shapes.of_slice)


def check_refused_claims(cluster: Cluster) -> Iterator[Finding]:
    """Yield what the API server would refuse of claims, classes and taint rules, as `check_refused_slices`."""
    yield from _refused(cluster, (*cluster.claims, *cluster.classes, *cluster.taint_rules), _shape)


def _refused(cluster: Cluster, objects: Iterable[_Object], shape: Callable[..., Hashable]) -> Iterator[Finding]:
    if cluster.resource_versions:
        return
    # A shape is looked up once, as a tuple does not store its hash.
    same_shape: defaultdict[Hashable, list[_Object]] = defaultdict(list)
    for item in objects:
        same_shape[shape(item)].append(item)
    release = cluster.target_release()
    found: dict[tuple[str, str, str], _Group] = {}
    for item, *others in same_shape.values():
        count = 1 + len(others)
        here = set()
        try:
            found_in = check_object(encode(item), release)
        except ManifestError:
            # This release has no such kind or version of it, so that it says nothing of the object.
            continue
        for finding in found_in:
            if finding.severity is Severity.ERROR and finding.origin is not None:
                if finding.origin.path.startswith(_OWNERS):
                    continue
                rule = (item.kind, _VALUE.sub("", finding.message), pattern_of(finding.origin.path))
                group = found.setdefault(rule, _Group(finding))
                group.times += count
                group.objects += count if rule not in here else 0
                here.add(rule)
    for group in found.values():
        yield _counted(group, str(release))


def _counted(group: _Group, release: str) -> Finding:
    more = f" ({group.times - 1:,} more like it)" if group.times > 1 else ""
    which = f"these {group.objects:,} objects; they are" if group.objects > 1 else "such an object; it is"
    advice = f"The API server of Kubernetes {release} refuses {which} used here as written."
    place = Origin(path=group.finding.origin.path if group.finding.origin else "")
    message = f"{group.finding.message}{more}"
    return replace(group.finding, severity=Severity.WARNING, message=message, advice=advice, origin=place)


def _shape(item: ResourceClaim | DeviceClass | DeviceTaintRule) -> Hashable:
    return item.kind, item.api_version, _shape_of_metadata(item.metadata), msgspec.json.encode(item.spec)


def _shape_of_metadata(metadata: ObjectMeta) -> Hashable:
    """Return what admission looks at, names only by whether they are right."""
    prefix = metadata.generate_name.rstrip("-")
    named = is_subdomain(metadata.name) and (not prefix or is_subdomain(prefix))
    spaced = not metadata.namespace or _is_label(metadata.namespace)
    if named and spaced and not metadata.finalizers and metadata.generation >= 0:
        notes = {"name": "a", "labels": metadata.labels, "annotations": metadata.annotations}
        if not (metadata.labels or metadata.annotations) or not any(check_metadata(notes, namespaced=False)):
            return True
    return msgspec.json.encode(metadata)


def _is_label(name: str) -> bool:
    return len(name) <= MAX_LABEL and _LABEL.fullmatch(name) is not None


class _Shapes:
    """Shapes of slices: two slices of one shape are refused for the same reasons, or both taken."""

    def __init__(self) -> None:
        """Remember the parts that come again and again."""
        self._names: dict[str, bool] = {}
        self._versions: dict[str, bool] = {}

    def of_slice(self, item: ResourceSlice) -> Hashable:
        """Return all that admission looks at; values that are right are one value."""
        spec, pool = item.spec, item.spec.pool
        devices = spec.devices
        head = (item.api_version, _shape_of_metadata(item.metadata), spec.driver, is_subdomain(pool.name) or pool.name)
        numbers = (min(pool.generation, 0), min(pool.resource_slice_count, 1))
        node = spec.node_name is not None and (is_subdomain(spec.node_name) or spec.node_name)
        other = (spec.node_selector, spec.all_nodes, spec.per_device_node_selection, spec.shared_counters)
        newer = (spec.partition_type_attribute, spec.skip_node_operations)
        plain = other == (None, None, None, None) and newer == (None, ())
        rest = None if plain else msgspec.json.encode((other, newer))
        if devices is None:
            return head, numbers, node, rest
        twice = len({device.name for device in devices}) < len(devices)
        return head, numbers, node, rest, twice, tuple(map(self._of_device, devices))

    def _of_device(self, device: Device) -> Hashable:
        named = self._names.get(device.name)
        if named is None:
            named = self._names[device.name] = _is_label(device.name)
        of = self._of_attribute
        attributes = device.attributes
        capacity = msgspec.json.encode(device.capacity) if device.capacity else b""
        # Written out, as this is asked of every attribute of a cluster: most are short texts.
        values = [
            "s"
            if (text := a.string) is not None
            and len(text) <= _MAX_TEXT
            and a.int_ is None
            and a.bool_ is None
            and a.version is None
            and a.ints is None
            and a.bools is None
            and a.strings is None
            and a.versions is None
            and text.isascii()
            else of(a)
            for a in attributes.values()
        ]
        return named or device.name, tuple(attributes), tuple(values), capacity, _rest(device)

    def _of_attribute(self, a: DeviceAttribute) -> Hashable:
        """Return the kind of an attribute's value: a letter for one that is right, else what is wrong with it."""
        if (a.string, a.ints, a.bools, a.strings, a.versions) == _NONE:
            if a.version is not None:
                return self._of_version(a.version) if (a.int_, a.bool_) == (None, None) else self._of_odd(a)
            if (a.int_ is None) != (a.bool_ is None):
                return "b" if a.int_ is None else _LEAST <= a.int_ <= _MOST
        return self._of_odd(a)

    def _of_version(self, version: str) -> Hashable:
        right = self._versions.get(version)
        if right is None:
            try:
                semver_key(version)
                right = len(version) <= _MAX_TEXT
            except SemverError:
                right = False
            self._versions[version] = right
        return "v" if right else "no version"

    def _of_odd(self, a: DeviceAttribute) -> Hashable:
        """Return which members are set, how many values each has, and whether each value is right."""
        set_ = []
        for member, value in msgspec.structs.asdict(a).items():
            if value is not None:
                values = value if isinstance(value, tuple) else (value,)
                set_.append((member, tuple(self._is_right(member, one) for one in values)))
        return tuple(set_)

    def _is_right(self, member: str, value: str | int) -> bool:
        if member.startswith("version"):
            return self._of_version(str(value)) == "v"
        if isinstance(value, str):
            return len(value.encode(errors="surrogatepass")) <= _MAX_TEXT
        return _LEAST <= value <= _MOST


def _rest(device: Device) -> bytes:
    """Return what few devices have."""
    d = device
    plain = not (d.consumes_counters or d.taints or d.binding_conditions or d.binding_failure_conditions)
    if (
        plain
        and d.node_name is None
        and d.node_selector is None
        and d.all_nodes is None
        and d.binds_to_node is None
        and d.node_allocatable_resource_mappings is None
        and d.node_allocatable_resources is None
    ):
        return b"shared" if d.allow_multiple_allocations else b""
    return msgspec.json.encode(msgspec.structs.replace(d, name="", attributes={}, capacity={}))

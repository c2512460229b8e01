"""What makes an autoscaler see nodes that must be added: annotations for Cluster API and a NodeOverlay for Karpenter.

Sources: `cloudprovider/clusterapi` of kubernetes/autoscaler (pull requests 7804 and 10200), `pkg/processors` of
kubernetes-sigs/cluster-autoscaler 33c3f97b, and kubernetes-sigs/karpenter 22664681 (NodeOverlay and its DRA allocator).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct

from dra_lab.drivers.kinds import device_kind
from dra_lab.drivers.profiles import profile
from dra_lab.errors import InputError, UnsupportedFeature
from dra_lab.exports.readme import file_list
from dra_lab.index.catalogue import lookup_of
from dra_lab.index.node_index import node_index
from dra_lab.manifests.device_asks import IMPLICIT
from dra_lab.manifests.yaml_text import dump_yaml
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.model.device import Device, DeviceAttribute
from dra_lab.model.node_type import AddedCount, AddedNodes
from dra_lab.model.nodes import Node, ObjectMeta
from dra_lab.model.placement import PlacedPod
from dra_lab.model.release import release_of_text
from dra_lab.model.sketch import asks
from dra_lab.model.slices import ResourcePool, ResourceSlice, ResourceSliceSpec
from dra_lab.model.workload import Workload
from dra_lab.sketch.object_names import object_name
from dra_lab.topology.presets import is_host
from dra_lab.words.capacity_document import added_parts, added_sentence
from dra_lab.words.document import Lines, Table, as_markdown, printable

CAPACITY = "capacity.cluster-autoscaler.kubernetes.io/"
SIZE = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
CLUSTER_API, KARPENTER = "Cluster Autoscaler with Cluster API", "Karpenter"
_GPU = "gpu"
"""The attribute `type` of every device that Cluster Autoscaler makes from the annotations."""

_AMOUNTS = {"cpu": "cpu", "memory": "memory", "ephemeral-storage": "ephemeral-disk", "pods": "maxPods"}
_SECONDS = 10.0
_USE_CLUSTER_API = (
    "Change metadata.name and metadata.namespace to those of your MachineDeployment. Then apply the annotations.",
    "The maximum size counts the new nodes only. Add those that the MachineDeployment has.",
    "The annotations only describe the nodes. Cluster API has to set the labels and taints on them.",
    "If the node group has a ready node, Cluster Autoscaler copies that node with all its devices instead.",
    "Versions without autoscaler#10200 never scale from zero for a claim: their template has an incomplete pool.",
)
_USE_KARPENTER = (
    "A NodeOverlay has extended resources but no devices. It helps only pods that request such a resource.",
    "For a ResourceClaim, the cloud provider has to describe the devices.",
    "Karpenter 1.15 describes GPUs and EFAs on AWS, if settings.enableDRA is on.",
    "Karpenter ignores all claims unless it runs with --ignore-dra-requests=false.",
    "Karpenter ignores NodeOverlays unless the feature gate NodeOverlay is on.",
    "Karpenter waits until a node reports a requested extended resource as allocatable. A DRA driver reports none.",
    "Therefore Karpenter never counts a node that was added for such a resource as initialized.",
    "Devices that several pods can share, or that share counters, are not counted. Prices are not written.",
)


class NotChecked(Struct, frozen=True):
    """A rule that an autoscaler does not check: what it is called here, and a sentence for each autoscaler."""

    subject: str
    cluster_api: str
    karpenter: str


NOT_CHECKED = (
    NotChecked(
        "gangs",
        "It looks at each pod alone: it may add nodes for a part of a gang, in any rack (autoscaler#9570).",
        "It looks at each pod alone: it may add nodes for a part of a gang, in any rack.",
    ),
    NotChecked(
        "several drivers",
        "A node made from annotations has devices of one driver. Links across drivers are checked only on copies of a "
        "node that is there.",
        "A NodeOverlay has no devices. A link across drivers is checked only if the cloud provider describes the "
        "devices of both drivers.",
    ),
    NotChecked(
        "attributes and capacity",
        "A device made from annotations has the attribute type=gpu and no other: no product name, PCIe root, NUMA node "
        "or capacity.",
        "A NodeOverlay has neither attributes nor capacity of devices; the cloud provider has to describe them.",
    ),
    NotChecked(
        "distinctAttribute",
        "A device made from annotations has no attribute that could differ, so such a claim fits only on copies of a "
        "node that is there.",
        "Its allocator refuses every claim with distinctAttribute, so it adds no node for that pod.",
    ),
    NotChecked(
        "shared counters",
        "A node made from annotations has no partitions. On copies of a node they are checked from version 1.36 on.",
        "A NodeOverlay has no partitions. They are checked only if the cloud provider describes them.",
    ),
    NotChecked(
        "taints of devices and admin access",
        "A device made from annotations has no taints.",
        "Its allocator reads neither taints of devices nor adminAccess.",
    ),
    NotChecked(
        "number of nodes",
        "It chooses how many nodes it adds, up to the maximum size.",
        "It chooses the instance types and how many nodes it adds.",
    ),
)
"""What each autoscaler does not check. Those that a plan needs come first in its files."""


class _Group(Struct, frozen=True):
    """Nodes of one type in one domain: a node group, its node as an example, and its annotations.

    `unseen` are the pods of the plan that do not fit a node made from the annotations, None if the plan has none there.
    """

    name: str
    count: AddedCount
    node: Node
    annotations: Mapping[str, str]
    unseen: tuple[str, ...] | None

    @property
    def file(self) -> str:
        return f"machinedeployment-{self.name}.yaml"


def autoscaler_files(added: AddedNodes, *, namespace: str = "") -> dict[str, str]:
    """Return the files that let an autoscaler see the nodes that must be added, by name; the same bytes every time.

    These are a MachineDeployment for each type and domain, with annotations only; a NodeOverlay for each type with an
    instance type; and `README.md`, which says what each autoscaler does not check. Raises InputError if no nodes are
    added, or two node types would have one name.
    """
    if not added.added:
        raise InputError(f"no nodes are added, so nothing is written. {added_sentence(added)}")
    needed = _needed(added)
    groups = _groups(added)
    machines: dict[str, str] = {}
    for one in groups:
        place = {"namespace": namespace} if namespace else {}
        metadata = {"name": one.name, **place, "annotations": dict(one.annotations)}
        document = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment", "metadata": metadata}
        machines[one.file] = _comment(CLUSTER_API, _result(one), needed) + dump_yaml(document)
    overlays: dict[str, str] = {}
    specs: list[dict[str, Any]] = []
    for one in groups:
        spec = _overlay(added, one.node)
        if spec and spec not in specs:
            specs.append(spec)
            name = object_name(one.count.type)
            head = {"apiVersion": "karpenter.sh/v1alpha1", "kind": "NodeOverlay", "metadata": {"name": name}}
            overlays[f"nodeoverlay-{name}.yaml"] = _comment(KARPENTER, (), needed) + dump_yaml({**head, "spec": spec})
    return {**machines, **overlays, "README.md": _readme(added, groups, [*overlays], needed)}


def not_checked(autoscaler: str, needed: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield what an autoscaler does not check, the subjects that a plan needs first."""
    for one in sorted(NOT_CHECKED, key=lambda one: one.subject not in needed):
        mark = " (used by this plan)" if one.subject in needed else ""
        yield f"{one.subject}{mark}: {one.cluster_api if autoscaler == CLUSTER_API else one.karpenter}"


def _needed(added: AddedNodes) -> frozenset[str]:
    """Return the subjects of `NOT_CHECKED` that the pods on new nodes need."""
    new = {name for one in added.added for name in one.nodes}
    pods = _pods(added, new)
    claims_of = added.plan.claims_of if added.plan is not None else {}
    drawn = [claim for key in {(pod.workload, pod.group) for pod in pods} for claim in claims_of[key]]
    links = [link for claim in drawn for link in claim.links if link.must]
    every = [ask for claim in drawn for request in claim.requests for ask in asks(request)]
    slices = [item for node in {pod.node for pod in pods} for item in added.cluster.slices_by_node.get(node, ())]
    drivers = {one.device.driver for pod in pods for one in pod.devices}
    found = {
        "gangs": any(one.is_gang for one in added.wanted),
        "several drivers": any(len({one.device.driver for one in pod.devices}) > 1 for pod in pods),
        "attributes and capacity": bool(links) or any(ask.selectors or ask.capacity for ask in every),
        "distinctAttribute": any(link.kind.distinct for link in links),
        "shared counters": any(item.spec.shared_counters for item in slices if item.spec.driver in drivers),
        "taints of devices and admin access": any(ask.tolerations or ask.admin_access for ask in every),
    }
    return frozenset(subject for subject, used in found.items() if used)


# ---------------------------------------------------------------- Cluster Autoscaler with Cluster API


def _groups(added: AddedNodes) -> list[_Group]:
    types = Counter(one.type for one in added.added)
    found: dict[str, _Group] = {}
    for one in added.added:
        name = object_name("-".join((one.type, *one.domain)) if types[one.type] > 1 else one.type)
        if name in found:
            raise InputError(f"two node groups would have the name {name!r}; give the node types other names")
        found[name] = _group(added, one, name)
    return [*found.values()]


def _group(added: AddedNodes, one: AddedCount, name: str) -> _Group:
    node = added.cluster.node_named(one.nodes[0])
    driver, count = _gpus(added, one)
    unseen = tuple(_unseen(added, one, node, driver, count)) if _pods(added, one.nodes) else None
    amounts = node.status.allocatable or node.status.capacity
    sizes = {f"{SIZE}min-size": "0" if unseen == () else "1", f"{SIZE}max-size": str(one.count)}
    labels = sorted(node.metadata.labels.items())
    values = {key: str(amounts[resource]) for resource, key in _AMOUNTS.items() if resource in amounts}
    values["labels"] = ",".join(f"{key}={value}" for key, value in labels if not is_host(key))
    taints = ((one.get("key"), one.get("value"), one.get("effect")) for one in node.spec.taints)
    values["taints"] = ",".join(f"{key}{f'={value}' if value else ''}:{effect}" for key, value, effect in taints)
    if count:
        values |= {"dra-driver": driver, "gpu-count": str(count)}
    annotations = {f"{CAPACITY}{key}": value for key, value in values.items() if value}
    return _Group(name, one, node, {**sizes, **annotations}, unseen)


def _gpus(added: AddedNodes, one: AddedCount) -> tuple[str, int]:
    """Return the driver that the annotations name, and its devices.

    Devices with the attribute type=gpu come first, then other GPUs, then devices of any kind.
    """
    typed, gpus, every = Counter[str](), Counter[str](), Counter[str]()
    for item in added.cluster.slices_by_node.get(one.nodes[0], ()):
        driver = item.spec.driver
        known = profile(driver, added.cluster.profiles)
        for device in item.spec.devices or ():
            kind = device.lookup(f"{driver}/type", driver)
            typed[driver] += kind is not None and kind.value == _GPU
            if not device.consumes_counters:
                gpus[driver] += device_kind(known, lookup_of(driver, device)) == _GPU
                every[driver] += 1
    used = Counter(item.device.driver for pod in _pods(added, one.nodes) for item in pod.devices)
    counts = +typed or +gpus or +every
    driver = max(sorted(counts), key=lambda name: used[name], default="")
    return driver, counts[driver]


def _unseen(added: AddedNodes, one: AddedCount, node: Node, driver: str, count: int) -> Iterator[str]:
    """Yield the pods that the plan places on these nodes and that do not fit a node made from the annotations."""
    from dra_lab.planner.plan_pod import plan_pod

    attributes = {"type": DeviceAttribute(string=_GPU)}
    devices = tuple(Device(name=f"gpu-{number}", attributes=attributes) for number in range(count))
    spec = ResourceSliceSpec(driver, ResourcePool(node.name, 0, 1), node_name=node.name, devices=devices)
    slices = (ResourceSlice(metadata=ObjectMeta(name=f"{node.name}-{driver}"), spec=spec),) if count else ()
    alone = added.cluster.with_objects(nodes=(node,), slices=slices, claims=(), pods=(), leaving=())
    claims = added.plan.claims_of if added.plan is not None else {}
    release = release_of_text(added.release)
    for name, group in sorted({(pod.workload, pod.group) for pod in _pods(added, one.nodes)}):
        keys = dict.fromkeys([(name, group), (name, "/shared"), (name, f"{group}/shared")])
        pod = Workload(object_name(name), [claim for key in keys for claim in claims[key]])
        fits = False
        with suppress(UnsupportedFeature):
            fits = plan_pod(alone, pod, release=release, time_limit=_SECONDS).fits
        if not fits:
            yield name if group in ("", name) else f"{name}/{group}"


def _pods(added: AddedNodes, nodes: Collection[str]) -> list[PlacedPod]:
    return [pod for pod in added.plan.pods if pod.node in nodes] if added.plan is not None else []


def _result(group: _Group) -> Iterator[str]:
    if group.unseen is None:
        yield "Nothing is known of the pods of these nodes. Keep one node: set spec.replicas to 1."
    elif group.unseen:
        pods = ", ".join(group.unseen)
        yield f"Pods of {pods} do not fit a node made from these annotations. Keep one node: set spec.replicas to 1."
    else:
        yield "The pods of the plan fit a node made from these annotations."
    if missing := [key for key in (f"{CAPACITY}cpu", f"{CAPACITY}memory") if key not in group.annotations]:
        yield f"Add {' and '.join(missing)}: scaling from zero needs them, and nothing is known of them."
    if group.count.new:
        yield "Labels with -new- stand for a domain that does not exist yet. Replace them by its real name."


# ---------------------------------------------------------------- Karpenter


def _overlay(added: AddedNodes, node: Node) -> dict[str, Any]:
    """Return the spec of a NodeOverlay, {} if no instance type is known or no class has devices."""
    kind = node.metadata.labels.get(INSTANCE_TYPE, "")
    matching, capacity = node_index(added.cluster, release_of_text(added.release)).matching, {}
    for device_class in sorted(added.cluster.classes, key=lambda one: one.name):
        request = DeviceRequest(name="any", exactly=ExactDeviceRequest(device_class_name=device_class.name))
        matches = [
            device
            for item in added.cluster.slices_by_node.get(node.name, ())
            for device in item.spec.devices or ()
            if matching.match(asks(request)[0], item.spec.driver, device)
        ]
        # how often a device can be allocated that is shared or partitioned depends on what uses it
        if matches and not any(one.consumes_counters or one.allow_multiple_allocations for one in matches):
            resource = device_class.spec.extended_resource_name or f"{IMPLICIT}{device_class.name}"
            capacity[resource] = str(len(matches))
    if not kind or not capacity:
        return {}
    return {"requirements": [{"key": INSTANCE_TYPE, "operator": "In", "values": [kind]}], "capacity": capacity}


# ---------------------------------------------------------------- words


def _comment(autoscaler: str, result: Iterator[str] | Sequence[str], needed: frozenset[str]) -> str:
    lines = [f"For {autoscaler}, drawn with dra-lab. README.md says how to use it.", *result, "Not checked:"]
    lines += [f"- {line}" for line in not_checked(autoscaler, needed)]
    return "".join(f"# {printable(line)}\n" for line in lines)


def _readme(added: AddedNodes, groups: Sequence[_Group], overlays: Sequence[str], needed: frozenset[str]) -> str:
    rows = [
        (
            one.file,
            one.count.type,
            "/".join(one.count.domain),
            one.count.count,
            "yes" if one.unseen == () else f"no: {', '.join(one.unseen)}" if one.unseen else "not known",
        )
        for one in groups
    ]
    answer = [part for part in added_parts(added) if not isinstance(part, Table)]
    table = Table(("file", "node type", "domain", "nodes", "pods of the plan fit from zero"), rows)
    needs = f"No NodeOverlay is written: it needs the label {INSTANCE_TYPE} and a DeviceClass with whole devices."
    parts = [
        "# Nodes to add, for an autoscaler",
        as_markdown(answer),
        f"## {CLUSTER_API}",
        as_markdown([table]),
        f"    kubectl apply --server-side -f {groups[0].file}",
        as_markdown([Lines("To know", _USE_CLUSTER_API), Lines("Not checked", [*not_checked(CLUSTER_API, needed)])]),
        f"## {KARPENTER}",
        file_list(overlays) or needs,
        as_markdown([Lines("To know", _USE_KARPENTER), Lines("Not checked", [*not_checked(KARPENTER, needed)])]),
    ]
    return "\n\n".join(parts) + "\n"

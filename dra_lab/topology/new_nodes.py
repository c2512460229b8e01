"""Where new nodes may be, and the cluster and hierarchies with them: each has the labels of its domains."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import count as count_from
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.errors import InputError
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, DeviceAttribute
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.names import split_qualified
from dra_lab.model.node_type import NodeType
from dra_lab.model.nodes import Node, NodeSpec, ObjectMeta, node_matches
from dra_lab.model.slices import ResourceSlice
from dra_lab.model.topologies import HyperNode, Member, MemberSelector, NameMatch, TopologyObject
from dra_lab.model.what_if import copied_slices
from dra_lab.topology.hierarchies import HYPER_NODES, domain_tree, hierarchies, published_places
from dra_lab.topology.node_tree import natural_order
from dra_lab.topology.presets import ATTRIBUTES, CLIQUE, HOSTNAME, NVLINK, PRESETS, ZONE, is_host, is_known

Path = tuple[str, ...]

_ZONES = frozenset(key for preset in PRESETS if preset.hierarchy == ZONE for key in preset.keys)
_NOT_LABEL = re.compile(r"[^a-z0-9]+")


class NewPlace(Struct, frozen=True):
    """One place for new nodes: the domain they are added to, and their path in every hierarchy by its name.

    `values` are the labels, and attributes of devices, that say so; "" for those that such a node does not have. `new`
    says that the domain does not exist yet.
    """

    domain: Path
    paths: Mapping[str, Path]
    values: Mapping[str, str]
    new: bool = False


class NewNode(Struct, frozen=True):
    """A node to add."""

    name: str
    type: NodeType
    place: NewPlace


def anywhere(cluster: Cluster, trees: Sequence[Hierarchy]) -> NewPlace:
    """Return the place of new nodes in a cluster without hierarchies."""
    return NewPlace((), {tree.name: () for tree in trees}, dict.fromkeys(_keys(cluster, trees), ""))


def existing_places(cluster: Cluster, trees: Sequence[Hierarchy], tree: Hierarchy, level: str) -> Iterator[NewPlace]:
    """Yield the places in the domains of a level: one for each combination of domains that its nodes have."""
    keys = _keys(cluster, trees)
    for domain in tree.at(level):
        seen: dict[tuple[Path, ...], str] = {}
        for node in domain.nodes:
            seen.setdefault(tuple(one.path_of(node) for one in trees), node)
        for found, node in seen.items():
            paths = {one.name: path for one, path in zip(trees, found, strict=True)}
            yield NewPlace(domain.path, paths, _values(cluster, trees, keys, node, paths))


def new_place(
    cluster: Cluster, trees: Sequence[Hierarchy], tree: Hierarchy, level: str, like: str, number: int
) -> NewPlace:
    """Return a place in a domain that does not exist yet, next to the domain of the node `like`.

    The domain, the innermost domains of other hierarchies that are all inside the domain of `like`, and its NVLink
    domain get names of their own. Labels of wider domains are kept: blocks, zones.
    """
    depth = tree.level_index(level)
    example = next(domain for domain in tree.at(level) if domain.path == tree.path_of(like)[: depth + 1])
    inside = set(example.nodes)
    named: dict[str, str] = {}
    paths: dict[str, Path] = {}
    for one in trees:
        path = one.path_of(like)
        first = len(path)
        if one.name.startswith(NVLINK):
            first = 0
        elif one.name == tree.name:
            first = depth
        elif path and not one.name.startswith(ZONE):
            there = next(domain.nodes for domain in one.domains if domain.path == path)
            first = len(path) - 1 if inside.issuperset(there) else first
        paths[one.name] = _renamed(one, path, first, number, named)
    for one in trees:
        # One label is a level of several hierarchies.
        pairs = zip(one.levels, paths[one.name], strict=False)
        paths[one.name] = tuple(named.get(level.key, value) if level.key else value for level, value in pairs)
    keys = _keys(cluster, trees)
    values = _values(cluster, trees, keys, like, paths)
    levels = {level.key for one in trees for level in one.levels}
    values |= {key: f"{values[key]}-new-{number}" for key in ATTRIBUTES if key in values and key not in levels}
    for key in keys:
        if key not in levels and key not in _ZONES and values[key]:
            have = (node.name for node in cluster.nodes if node.metadata.labels.get(key) == values[key])
            if inside.issuperset(have):
                values[key] = f"{values[key]}-new-{number}"
    return NewPlace(paths[tree.name][: depth + 1], paths, values, new=True)


def _renamed(tree: Hierarchy, path: Path, first: int, number: int, named: dict[str, str]) -> Path:
    """Return a path with names of its own from a level on; `named` has the new value of each label."""
    known = {value for domain in tree.domains for value in domain.path}
    made = list(path[:first])
    for old, level in zip(path[first:], tree.levels[first:], strict=False):
        value = f"{_NOT_LABEL.sub('-', level.name.lower()).strip('-')}-new-{number}"
        if level.key == CLIQUE:
            value = f"nvlink-domain-new-{number}.{old.partition('.')[2] or '0'}"
        while value in known:
            value += "-new"
        made.append(named.setdefault(level.key, value) if level.key else value)
    return tuple(made)


def _keys(cluster: Cluster, trees: Sequence[Hierarchy]) -> frozenset[str]:
    """Return the labels and attributes that say where a node is."""
    named = {level.key for tree in trees for level in tree.levels if level.key}
    return frozenset(named | {key for node in cluster.nodes for key in node.metadata.labels if is_known(key)})


def _values(
    cluster: Cluster, trees: Sequence[Hierarchy], keys: frozenset[str], node: str, paths: Mapping[str, Path]
) -> dict[str, str]:
    labels = cluster.node_by_name[node].metadata.labels
    values = {key: labels.get(key, "") for key in sorted(keys)}
    # of what several devices publish the first counts
    own = [pair for item in cluster.slices_by_node.get(node, ()) for pair in published_places(cluster, item)]
    values |= dict(reversed(own))
    for tree in trees:
        path = paths[tree.name]
        values |= {level.key: value for level, value in zip(tree.levels, path, strict=False) if level.key}
    return values


def with_new_nodes(cluster: Cluster, new: Sequence[NewNode]) -> Cluster:
    """Return the cluster with new nodes: nothing in use, not cordoned, with pools of their own."""
    pools = {(item.spec.driver, item.spec.pool.name) for item in cluster.slices}
    nodes = [_node(cluster, one) for one in new]
    slices = [made for one in new for made in _slices(cluster, one, pools)]
    return cluster.with_objects(
        nodes=(*cluster.nodes, *nodes),
        slices=(*cluster.slices, *slices),
        name=f"{cluster.name} + {len(new)} {'node' if len(new) == 1 else 'nodes'}".strip(" +"),
    )


def with_nodes_near(
    cluster: Cluster, like: str, count: int, beside: str, hierarchy: str = "", level: str = ""
) -> Cluster:
    """Return the cluster with more nodes like one, in the domains of the node `beside`.

    With a level of a hierarchy, they are in a new domain of this level. Raises NodeError or InputError for nodes,
    hierarchies and levels that do not exist.
    """
    node_type, trees = NodeType.like(cluster.node_named(like).name), hierarchies(cluster)
    cluster.node_named(beside)
    if level:
        tree = next((one for one in trees if one.name == hierarchy), None)
        if tree is None or not tree.path_of(beside)[tree.level_index(level) :]:
            raise InputError(f"{beside} is in no {level} of a hierarchy {hierarchy!r}")
        known = [value for one in trees for domain in one.domains for value in domain.path]
        number = next(at for at in count_from(1) if not any(f"-new-{at}" in value for value in known))
        place = new_place(cluster, trees, tree, level, beside, number)
    else:
        paths = {tree.name: tree.path_of(beside) for tree in trees}
        place = NewPlace((), paths, _values(cluster, trees, _keys(cluster, trees), beside, paths))
    check_own_devices(cluster, node_type, [place])
    new = [NewNode(name, node_type, place) for name in islice(new_names(like, cluster.node_by_name), count)]
    larger = with_new_nodes(cluster, new)
    tree = next((one for one in trees if one.name == HYPER_NODES), None)
    if tree is None:
        return larger
    pairs = [*zip(tree.path_of(beside), place.paths[HYPER_NODES], strict=True)]
    return larger.with_objects(topologies=_with_hyper_nodes(cluster, pairs, new))


def _with_hyper_nodes(
    cluster: Cluster, pairs: Sequence[tuple[str, str]], new: Sequence[NewNode]
) -> tuple[TopologyObject, ...]:
    """Return the topology objects with HyperNodes for new nodes: those of a new domain are like those of its neighbour.

    `pairs` are the names of the neighbour's domains and those of the new nodes, from the outermost level on.
    """
    known = {item.name: item for item in cluster.topologies if isinstance(item, HyperNode)}
    members = tuple(_member("Node", one.name) for one in new)
    made: list[TopologyObject] = []
    for old, name in reversed([pair for pair in pairs if all(pair)]):
        if name in known:
            grown = replace(known[name], spec=replace(known[name].spec, members=(*known[name].spec.members, *members)))
            return (*(grown if item is known[name] else item for item in cluster.topologies), *made)
        spec = replace(known[old].spec, members=members)
        made.append(replace(known[old], metadata=ObjectMeta(name=name), spec=spec))
        members = (_member("HyperNode", name),)
    return (*cluster.topologies, *made)


def _member(kind: str, name: str) -> Member:
    return Member(type=kind, selector=MemberSelector(exact_match=NameMatch(name=name)))


def new_names(like: str, taken: Container[str]) -> Iterator[str]:
    """Yield names for new nodes that no node has."""
    return (name for number in count_from(1) if (name := f"{like}-new-{number}") not in taken)


def _original(cluster: Cluster, node_type: NodeType) -> Node:
    return cluster.node_named(node_type.node) if node_type.node else node_type.made_node


def _node(cluster: Cluster, new: NewNode) -> Node:
    original = _original(cluster, new.type)
    labels = {key: value for key, value in original.metadata.labels.items() if not is_host(key)}
    labels |= {key: value for key, value in new.place.values.items() if key not in ATTRIBUTES}
    labels = {key: value for key, value in labels.items() if value}
    metadata = ObjectMeta(
        name=new.name, labels={**labels, HOSTNAME: new.name}, annotations=original.metadata.annotations
    )
    # These taints say how a node is at the moment: not ready, cordoned, short of memory.
    taints = [one for one in original.spec.taints if not str(one.get("key", "")).startswith("node.kubernetes.io/")]
    return replace(original, metadata=metadata, spec=NodeSpec(taints=tuple(taints)))


def _slices(cluster: Cluster, new: NewNode, pools: set[tuple[str, str]]) -> Iterator[ResourceSlice]:
    """Yield the slices of a new node; its devices have other values of the attributes that say where it is."""
    own = cluster.slices_by_node.get(new.type.node, ()) if new.type.node else new.type.slices
    values = {key: new.place.values[key] for key in ATTRIBUTES if new.place.values.get(key)}
    for made in copied_slices(own, _original(cluster, new.type).name, new.name, pools):
        devices: list[Device] = []
        for device in made.spec.devices or ():
            named = {_own_name(device, made.spec.driver, key): value for key, value in values.items()}
            changed = {name: DeviceAttribute(string=v) for name, v in named.items() if name in device.attributes}
            devices.append(replace(device, attributes={**device.attributes, **changed}) if changed else device)
        yield replace(made, spec=replace(made.spec, devices=tuple(devices))) if values else made


def _own_name(device: Device, driver: str, key: str) -> str:
    """Return the name under which a device has an attribute: that of its own driver may be bare."""
    domain, bare = split_qualified(key, "")
    return bare if domain == driver and bare in device.attributes else key


def hierarchies_with(trees: Sequence[Hierarchy], paths: Mapping[str, Mapping[str, Path]]) -> tuple[Hierarchy, ...]:
    """Return hierarchies with new nodes: `paths` has for each of them its path in every hierarchy."""
    found = []
    for tree in trees:
        inside = {node: tree.path_of(node) for domain in tree.domains for node in domain.nodes}
        inside |= {node: mine[tree.name] for node, mine in paths.items() if mine[tree.name]}
        ordered = {node: inside[node] for node in sorted(inside, key=natural_order)}
        found.append(domain_tree(tree.name, tree.levels, ordered, tree.left_out))
    return tuple(found)


def check_own_devices(cluster: Cluster, node_type: NodeType, places: Sequence[NewPlace]) -> None:
    """Raise InputError if new nodes would use devices that several nodes see: their number does not grow with them."""
    for item in cluster.network_slices:
        for place in places:
            node = _node(cluster, NewNode("new", node_type, place))
            if _sees(item, node, node_type.node):
                raise InputError(
                    f"node type {node_type.name!r}: its nodes would use the devices of slice {item.name!r}, which "
                    "several nodes share; only devices of one node can be added. Remove this slice from the snapshot"
                )


def _sees(item: ResourceSlice, node: Node, like: str) -> bool:
    spec = item.spec
    if spec.all_nodes or (spec.node_selector is not None and node_matches(spec.node_selector, node)):
        return bool(spec.devices)
    return any(
        device.all_nodes
        or (device.node_name and device.node_name == like)
        or (device.node_selector is not None and node_matches(device.node_selector, node))
        for device in spec.devices or ()
    )

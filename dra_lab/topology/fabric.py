"""The fabric above the nodes: zones, blocks, racks and NVLink domains as one tree, read from labels and slices."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from dra_lab.findings import Finding, Severity
from dra_lab.model.cluster import Cluster
from dra_lab.model.memo import once_per_devices
from dra_lab.model.names import split_qualified
from dra_lab.model.slices import ResourceSlice
from dra_lab.topology.fabric_labels import ATTRIBUTES, LEVEL_WORDS, FabricLabel, fabric_label
from dra_lab.topology.fabric_named import given_label, in_order, named_levels
from dra_lab.topology.node_tree import natural_order

Values = Mapping[str, Mapping[str, str]]
"""Label to node to value; a node without the label is not in it."""

_RANK = {level: rank for rank, level in enumerate(LEVEL_WORDS)}
_NVLINK = ("nvlinkDomain", "nvlinkPartition")
_NAMED = 5


class FabricBranch(Struct, frozen=True):
    """A place in the fabric: its level (a label, "" for the whole cluster), its value, what is below.

    `nodes` are the names of the nodes that sit here and in no deeper branch, in natural order.
    """

    label: str
    value: str
    branches: tuple[FabricBranch, ...] = ()
    nodes: tuple[str, ...] = ()

    def all_nodes(self) -> Iterator[str]:
        """Yield the names of the nodes of the whole branch."""
        for branch in self.branches:
            yield from branch.all_nodes()
        yield from self.nodes


class FabricTree(Struct, frozen=True):
    """The levels from wide to near, the tree of the nodes, and what contradicts or is missing.

    `same` names labels that say the same as one of the levels and are left out. The node itself is the last level and
    is not in `levels`.
    """

    levels: tuple[FabricLabel, ...]
    root: FabricBranch
    findings: tuple[Finding, ...] = ()
    same: Mapping[str, str] | None = None

    def path(self, node: str) -> tuple[tuple[str, str], ...]:
        """Return (label, value) of the places of a node, from wide to near. Raises KeyError for an unknown node."""
        found = _path_to(self.root, node)
        if found is None:
            raise KeyError(node)
        return found


class FabricRow(Struct, frozen=True):
    """One level in words: `level` for people, the label and who writes it, how many places, nodes with and without it.

    `smallest` and `largest` count the nodes of the places.
    """

    level: str
    label: str
    writer: str
    places: int
    nodes: int
    without: int
    smallest: int
    largest: int


def fabric_tree(cluster: Cluster, *, levels: Sequence[str] = ()) -> FabricTree:
    """Return the tree of the levels that the nodes' labels tell, the widest first; the nodes hang at its ends.

    The known labels are those of Kubernetes, Kueue, KAI, Topograph, GKE, EKS, OKE and NVIDIA (`fabric_labels`). So are
    the attributes of devices that DRANET publishes for GKE, AKS and OKE. Topology objects of Kueue and KAI name labels
    too, and those keep the order of the object. `levels` names labels instead, from wide to near. An NVLink domain
    stands above what it spans and below what spans it. A node without a label hangs at the last place that is known of
    it. Findings tell labels that only some nodes have, values that stand in several places, and devices of one node
    that disagree.
    """
    findings: list[Finding] = []
    if levels:
        labels = [fabric_label(name) or given_label(name, "given") for name in levels]
        values: Values = {name: _of_label(cluster, name) for name in levels}
    else:
        named = named_levels(cluster)
        found = _of_labels(cluster, named)
        values = found | _of_attributes(cluster, found, findings)
        known = [fabric_label(name) or named.get(name) or ATTRIBUTES[name] for name in values]
        labels = sorted(known, key=lambda label: (_RANK[label.level], label.order, label.name))
        labels = in_order(labels, cluster)
    labels, same = _without_repetitions([label for label in labels if values[label.name]], values)
    if not levels:
        labels = _nvlink_in_place(labels, values)
    findings += _partial(cluster, labels, values)
    findings += _crossing(labels, values)
    nodes = sorted(cluster.node_names, key=natural_order)
    return FabricTree(tuple(labels), _branch("", "", nodes, labels, values), tuple(findings), same)


def fabric_rows(tree: FabricTree) -> tuple[FabricRow, ...]:
    """Return a row for each level, from wide to near; none where no label is known."""
    total = sum(1 for _ in tree.root.all_nodes())
    rows = []
    for label in tree.levels:
        sizes = [sum(1 for _ in branch.all_nodes()) for branch in _at(tree.root, label.name)]
        here = sum(sizes)
        rows.append(
            FabricRow(label.title, label.name, label.writer, len(sizes), here, total - here, min(sizes), max(sizes))
        )
    return tuple(rows)


def fabric_words(tree: FabricTree) -> str:
    """Return `2 zones · 4 blocks · 16 racks of 8 to 9 nodes`, "" where nothing is known.

    Levels of one name that different programs wrote say whose they are: `1 block (GKE) · 1 block (Kueue)`.
    """
    rows = fabric_rows(tree)
    names = Counter(row.level for row in rows)
    writers = {row.label: f" ({row.writer})" if names[row.level] > 1 else "" for row in rows}
    parts = [
        f"{row.places:,} {row.level}{'' if row.places == 1 else plural(row.level)}{writers[row.label]}" for row in rows
    ]
    if not rows:
        return ""
    last = rows[-1]
    size = f"{last.largest:,}" if last.smallest == last.largest else f"{last.smallest:,} to {last.largest:,}"
    return " · ".join(parts) + f" of {size} node{'' if last.largest == 1 else 's'}"


def plural(word: str) -> str:
    """Return the ending of a level's name for several places: "es" or "s"."""
    return "es" if word.endswith("ch") else "s"


def _of_label(cluster: Cluster, name: str) -> Mapping[str, str]:
    return {node.name: value for node in cluster.nodes if (value := node.metadata.labels.get(name, ""))}


def _of_labels(cluster: Cluster, named: Mapping[str, FabricLabel]) -> dict[str, dict[str, str]]:
    values: dict[str, dict[str, str]] = {}
    for node in cluster.nodes:
        for name, value in node.metadata.labels.items():
            if value and (name in named or fabric_label(name) is not None):
                values.setdefault(name, {})[node.name] = value
    return values


def _of_attributes(cluster: Cluster, labels: Values, findings: list[Finding]) -> dict[str, dict[str, str]]:
    """Return what devices publish of their node's place, where no label says the same level."""
    told = {known.level for name in labels if (known := fabric_label(name)) is not None}
    wanted = [(name, *split_qualified(name, "")) for name, known in ATTRIBUTES.items() if known.level not in told]
    values: dict[str, dict[str, str]] = {}
    for node in _telling(cluster):
        for slice_ in cluster.slices_by_node.get(node, ()):
            for device in slice_.spec.devices or ():
                for name, domain, bare in wanted:
                    attribute = device.attributes.get(bare if domain == slice_.spec.driver else name)
                    if attribute is None or not isinstance(attribute.value, str) or not attribute.value:
                        continue
                    first = values.setdefault(name, {}).setdefault(node, attribute.value)
                    if first != attribute.value:
                        findings.append(_disagree(node, name, first, attribute.value))
    return values


@once_per_devices
def _telling(cluster: Cluster) -> tuple[str, ...]:
    """Return the nodes of which a device publishes anything of ATTRIBUTES."""
    return tuple(node for node, slices in cluster.slices_by_node.items() if any(map(_tells, slices)))


def _tells(slice_: ResourceSlice) -> bool:
    split = ((name, *split_qualified(name, "")) for name in ATTRIBUTES)
    keys = {bare if domain == slice_.spec.driver else name for name, domain, bare in split}
    return any(not keys.isdisjoint(device.attributes) for device in slice_.spec.devices or ())


def _disagree(node: str, name: str, first: str, other: str) -> Finding:
    message = f"its devices publish {name} as {first!r} and as {other!r}; the first is used"
    return Finding("fabric-devices-disagree", Severity.WARNING, node, message)


def _without_repetitions(labels: Sequence[FabricLabel], values: Values) -> tuple[list[FabricLabel], Mapping[str, str]]:
    """Leave out a label that divides the same nodes in the same way as another writer's of its level."""
    kept: list[FabricLabel] = []
    same: dict[str, str] = {}
    for label in labels:
        mine = values[label.name]
        others = (other for other in kept if (other.level, other.writer != label.writer) == (label.level, True))
        twin = next((o for o in others if _nested(values[o.name], mine) and _nested(mine, values[o.name])), None)
        if twin is not None and set(mine) <= set(values[twin.name]):
            same[label.name] = twin.name
        else:
            kept.append(label)
    return kept, same


def _nested(near: Mapping[str, str], wide: Mapping[str, str]) -> bool:
    """Say whether every place of `near` lies in one place of `wide`, on the nodes that have both."""
    parent: dict[str, str] = {}
    return all(parent.setdefault(near[node], wide[node]) == wide[node] for node in near if node in wide)


def _nvlink_in_place(labels: list[FabricLabel], values: Values) -> list[FabricLabel]:
    """Move an NVLink domain above those levels of which it spans several places, where they lie in it."""
    placed = [label for label in labels if label.level not in _NVLINK]
    for label in (label for label in labels if label.level in _NVLINK):
        at = len(placed)
        while (
            at and placed[at - 1].level not in _NVLINK and _goes_above(values[label.name], values[placed[at - 1].name])
        ):
            at -= 1
        placed.insert(at, label)
    return placed


def _goes_above(domain: Mapping[str, str], other: Mapping[str, str]) -> bool:
    return _nested(other, domain) and not _nested(domain, other)


def _partial(cluster: Cluster, labels: Sequence[FabricLabel], values: Values) -> Iterator[Finding]:
    for label in labels:
        missing = [node for node in cluster.node_names if node not in values[label.name]]
        if missing:
            more = f" and {len(missing) - _NAMED:,} more" if len(missing) > _NAMED else ""
            message = (
                f"{len(missing):,} of {len(cluster.node_names):,} nodes have no value for it: "
                f"{', '.join(missing[:_NAMED])}{more}"
            )
            advice = "dra-lab shows them under the last level that it knows for them."
            yield Finding("fabric-label-partial", Severity.NOTE, label.name, message, advice)


def _crossing(labels: Sequence[FabricLabel], values: Values) -> Iterator[Finding]:
    """Yield values of a level that stand in several places of the level above."""
    for wide, near in pairwise(labels):
        above: dict[str, set[str]] = defaultdict(set)
        for node, value in values[near.name].items():
            if node in values[wide.name]:
                above[value].add(values[wide.name][node])
        split = sorted((value for value, places in above.items() if len(places) > 1), key=natural_order)
        if not split:
            continue
        first = split[0]
        more = f" and {len(split) - 1:,} more" if len(split) > 1 else ""
        message = f"{first!r}{more} belong to several values of {wide.name}: {', '.join(sorted(above[first])[:_NAMED])}"
        if near.unique:
            advice = "One of both labels is wrong, or the levels do not nest; dra-lab shows the parts separately."
            yield Finding("fabric-crossing", Severity.WARNING, near.name, message, advice)
        else:
            yield Finding(
                "fabric-names-reused", Severity.NOTE, near.name, message, "dra-lab treats them as different places."
            )


def _branch(
    label: str, value: str, nodes: Sequence[str], levels: Sequence[FabricLabel], values: Values
) -> FabricBranch:
    here: list[str] = list(nodes)
    branches: list[FabricBranch] = []
    for at, level in enumerate(levels):
        groups: dict[str, list[str]] = defaultdict(list)
        rest: list[str] = []
        for node in here:
            found = values[level.name].get(node)
            (rest if found is None else groups[found]).append(node)
        ordered = sorted(groups, key=natural_order)
        branches += [_branch(level.name, name, groups[name], levels[at + 1 :], values) for name in ordered]
        # a node without this level may have a nearer one
        here = rest
    return FabricBranch(label, value, tuple(branches), tuple(here))


def _at(branch: FabricBranch, label: str) -> Iterator[FabricBranch]:
    for deeper in branch.branches:
        if deeper.label == label:
            yield deeper
        else:
            yield from _at(deeper, label)


def _path_to(branch: FabricBranch, node: str) -> tuple[tuple[str, str], ...] | None:
    here = ((branch.label, branch.value),) if branch.label else ()
    if node in branch.nodes:
        return here
    for deeper in branch.branches:
        found = _path_to(deeper, node)
        if found is not None:
            return (*here, *found)
    return None

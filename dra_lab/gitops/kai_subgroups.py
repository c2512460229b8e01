"""The subgroups of a PodGroup of KAI as groups of a gang: a subgroup with identical children is a group with slices.

Source: kai-scheduler/KAI-Scheduler v0.17.0, `PodGroup.spec.subGroups`, docs/topology/multilevel.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.findings import Finding, Severity
from dra_lab.gitops.folder import Document
from dra_lab.gitops.gang_fields import LevelConstraint, WrittenGroup, topology_constraint, whole
from dra_lab.manifests.pod_templates import value_at

LABEL = "kai.scheduler/subgroup-name"
"""Label of pods that names their subgroup."""

_MOST_DEPTH = 16


class _SubGroup(Struct, frozen=True):
    name: str
    parent: str
    least: int | None
    least_groups: int
    constraint: LevelConstraint


def subgroup_groups(document: Document, groups: Sequence[WrittenGroup], findings: list[Finding]) -> list[WrittenGroup]:
    """Return the groups of pods that name the subgroups of a PodGroup; the same groups if it has no subgroups."""
    known = {one.name: one for one in _subgroups(document)}
    leaves: dict[str, list[WrittenGroup]] = {}
    others = [group for group in groups if str(group.pod.labels.get(LABEL, "")) not in known]
    for group in groups:
        if (name := str(group.pod.labels.get(LABEL, ""))) in known:
            leaves.setdefault(name, []).append(group)
    tops: dict[str, list[str]] = {}
    for name in leaves:
        tops.setdefault(_chain(known, name)[0].name, []).append(name)
    found = others
    for name, below in tops.items():
        found += _group(document, [(_chain(known, leaf), leaves[leaf]) for leaf in below], name, findings)
    return found


def _subgroups(document: Document) -> Iterator[_SubGroup]:
    written = value_at(document.value, "spec.subGroups")
    for item in written if isinstance(written, list) else ():
        if isinstance(item, Mapping) and isinstance(item.get("name"), str):
            parent = item.get("parent")
            yield _SubGroup(
                item["name"],
                parent if isinstance(parent, str) else "",
                0 if item.get("minMember") == 0 else whole(item.get("minMember"), 0) or None,
                whole(item.get("minSubGroup"), 0),
                topology_constraint(item.get("topologyConstraint")),
            )


def _chain(known: Mapping[str, _SubGroup], name: str) -> tuple[_SubGroup, ...]:
    """Return a subgroup with those that contain it, the outermost first."""
    found = [known[name]]
    while found[0].parent in known and len(found) < _MOST_DEPTH:
        found.insert(0, known[found[0].parent])
    return tuple(found)


def _group(
    document: Document,
    leaves: Sequence[tuple[tuple[_SubGroup, ...], Sequence[WrittenGroup]]],
    name: str,
    findings: list[Finding],
) -> Iterator[WrittenGroup]:
    """Yield the pods below one outermost subgroup: one group with slices if its children are identical."""
    top, first = leaves[0][0][0], leaves[0][1][0]
    kinds = {
        (tuple((one.constraint, one.least) for one in chain[1:]), len(groups), _claims(groups[0]), groups[0].pods)
        for chain, groups in leaves
    }
    depths = [_sizes(leaves, depth) for depth in range(1, len(leaves[0][0]))]
    if len(kinds) == 1 and len(leaves[0][1]) == 1 and all(len(set(sizes)) == 1 for sizes in depths):
        pods = sum(groups[0].pods for _, groups in leaves)
        levels = [one.constraint.required for one in leaves[0][0][1:]]
        slices = tuple((sizes[0], level) for sizes, level in zip(depths, levels, strict=True) if level)
        least = top.least if not depths else top.least_groups * depths[0][0] or None
        yield replace(
            first,
            name=name,
            pods=pods,
            least=pods if least is None else min(least, pods),
            constraint=replace(top.constraint, slices=slices),
        )
        return
    for chain, groups in leaves:
        inner = next((one.constraint for one in reversed(chain) if one.constraint.required), chain[-1].constraint)
        for group in groups:
            least = chain[-1].least if len(groups) == 1 else None
            least = group.pods if least is None else min(least, group.pods)
            yield replace(group, name=chain[-1].name, least=least, constraint=inner)
    if top.constraint.required:
        message = f"the level {top.constraint.required} of its subgroup {name} is planned for each part of it alone"
        advice = "Give the PodGroup that level if all of its pods need one domain."
        findings.append(Finding("gang-subgroup-level", Severity.WARNING, document.name, message, advice))


def _claims(group: WrittenGroup) -> tuple[tuple[str, str], ...]:
    return tuple((claim.name, claim.template) for claim in group.pod.claims)


def _sizes(leaves: Sequence[tuple[tuple[_SubGroup, ...], Sequence[WrittenGroup]]], depth: int) -> list[int]:
    """Return the pods below each subgroup of a depth."""
    found: dict[str, int] = {}
    for chain, groups in leaves:
        if len(chain) > depth:
            found[chain[depth].name] = found.get(chain[depth].name, 0) + sum(group.pods for group in groups)
    return list(found.values())

"""What a scheduler cannot say of a gang: one sentence for each thing that the gang wants and its files lack."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from dra_lab.exports.gangs.gang_parts import GangParts, required_levels, wanted_levels
from dra_lab.exports.gangs.kueue_objects import MOST_LAYERS, leads
from dra_lab.exports.gangs.level_keys import is_host
from dra_lab.exports.gangs.volcano_objects import partition, tier_of


def not_expressed(scheduler: str, parts: GangParts) -> tuple[str, ...]:
    """Return what a scheduler cannot say of a gang, most important first."""
    return tuple(dict.fromkeys(_BY_SCHEDULER[scheduler](parts)))


def _kueue(parts: GangParts) -> Iterator[str]:
    yield from _without_label(parts, "Kueue")
    if len(parts.groups) > 1 and parts.gang.level and not leads(parts):
        kept = "The pinned domain does." if parts.pinned else "They may get several."
        yield (
            f"Kueue puts each group into one {parts.gang.level}, and only a leader with one other group without "
            f"slices into the same one. {kept}"
        )
    for group in parts.groups:
        if group.required and group.preferred:
            yield f"Kueue takes a required or a preferred level, so {group.preferred} of {group.name} is left out."
        if len(group.slices) > MOST_LAYERS:
            yield f"Kueue takes {MOST_LAYERS} layers of slices, so the coarsest of {group.name} are left out."
        if group.least < group.pods:
            if len(parts.groups) == 1 and not group.slices and group.least:
                yield (
                    f"Kueue decides once between {group.least} and {group.pods} pods of {group.name} at a time. "
                    "It adds none later, and the Job still completes all of them."
                )
            else:
                yield f"Kueue starts all {group.pods} pods of {group.name} or none, not {group.least} at least."


def _kai(parts: GangParts) -> Iterator[str]:
    yield from _without_label(parts, "KAI")
    if parts.gang.every_shared_claim:
        yield "KAI does not support claims that several pods share."


def _volcano(parts: GangParts) -> Iterator[str]:
    for level in required_levels(parts):
        if tier_of(parts, level) is None:
            yield f"No HyperNode is of the level {level}, so Volcano cannot require it."
    soft = any(group.preferred for group in parts.groups)
    if soft and parts.required:
        yield "Volcano's network topology is hard or soft, so the preferred level is left out."
    elif soft:
        yield "Volcano's soft mode prefers close nodes and names no level."
    for group in parts.groups:
        layers, own = group.slices, group.own
        if len(layers) > 1:
            finer = " and ".join(level for _, level in layers[1:])
            yield f"Volcano cuts a task into one layer of partitions, so the slices in {finer} are left out."
        if layers and own and len(parts.groups) > 1:
            yield f"Volcano has one level for the partitions of a task, so {own} of {group.name} is left out."
        cut = partition(group, parts)
        if cut is not None and group.least % cut[0]:
            yield (
                f"A level of one task is a partition, which is placed as a whole: {group.name} starts all "
                f"{group.pods} pods or none, not {group.least} at least."
            )


def _kube_scheduler(parts: GangParts) -> Iterator[str]:
    yield from _without_label(parts, "kube-scheduler")
    for level in dict.fromkeys(filter(None, (group.preferred for group in parts.groups))):
        yield f"A PodGroup has no preferred level, so {level} is left out."
    for group in parts.groups:
        if group.own and len(parts.groups) > 1:
            yield f"A PodGroup has one required level, so {group.own} of {group.name} is left out."
        if group.slices:
            cut = ", ".join(f"{size} pods in one {level}" for size, level in group.slices)
            yield f"A PodGroup has no slices, so {cut} of {group.name} is left out."
    if len(parts.groups) > 1:
        each = ", ".join(f"{group.least} of {group.name}" for group in parts.groups)
        yield f"A PodGroup counts {parts.gang.least} pods of any group and not {each}."


def _without_label(parts: GangParts, scheduler: str) -> Iterator[str]:
    for level in wanted_levels(parts):
        if not is_host(level) and not parts.label(level):
            kept = " The pinned nodes keep it." if parts.pinned and level == parts.required else ""
            yield f"No node label names the level {level}, so {scheduler} cannot use it.{kept}"


_BY_SCHEDULER: Mapping[str, Callable[[GangParts], Iterator[str]]] = {
    "kueue": _kueue,
    "kai": _kai,
    "volcano": _volcano,
    "kube-scheduler": _kube_scheduler,
}

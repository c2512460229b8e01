"""The rows of gangs: levels to choose from, the price of a level, and what schedulers do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

from msgspec.structs import replace

from dra_lab.errors import InputError
from dra_lab.findings import sentence_case
from dra_lab.model.cluster import Cluster
from dra_lab.model.gang_verdicts import QUOTA, STOPS, GangChoice, GangVerdict, GangVerdicts
from dra_lab.model.hierarchy import Hierarchy, Level
from dra_lab.model.placement import SameValues
from dra_lab.model.queues import LocalQueue
from dra_lab.model.sketch import GangDrawing, PodDrawing, pod_drawing
from dra_lab.model.workload import HOST, RAIL, Workload, workload_of
from dra_lab.session import Session
from dra_lab.session.answers import Answer
from dra_lab.session.gang_answers import hierarchy_of
from dra_lab.session.gang_domains import NodePods, SameOption, Value, same_options, value_nodes
from dra_lab.topology.hierarchies import hierarchies
from dra_lab.topology.hierarchy_findings import preferred_rules
from dra_lab.widgets.session_view import Row
from dra_lab.words.document import printable
from dra_lab.words.facts import counted, sentence
from dra_lab.words.workload_words import (
    KUEUE_NOTE,
    QUESTIONS,
    choice_sentence,
    frame_words,
    gang_words,
    is_rail,
    level_word,
    same_words,
    values_words,
)


class LevelRow(Row, frozen=True):
    """One level that a gang can have: `level` of `hierarchy` ("" for none), its label and what defines it."""

    level: str = ""
    hierarchy: str = ""
    label: str = ""
    source: str = ""


class PriceRow(Row, frozen=True):
    """How many gangs fit in all if a level is required; `now` if it is the one of the gang."""

    level: str
    gangs: str
    now: bool = False


class SchedulerRow(Row, frozen=True):
    """The verdict of a scheduler for the gang: yes, maybe or no, and why; `note` says what is not known."""

    name: str
    verdict: Literal["yes", "maybe", "no"]
    text: str
    note: str = ""


class StopRow(Row, frozen=True):
    """The answer to one question about Kueue (quota, its counts, devices), and whether it stops the gang."""

    question: str
    says: str
    stops: bool = False
    text: str = ""


class GangRow(Row, frozen=True):
    """The gang of a workload: its size, the least that start (0: all), its levels and the queue of Kueue.

    `same` are attributes of which all pods use the same values, `sames` those to choose from. `link` is what they are
    in short, and `values` what the plan chose, in words.

    `words` are what it is, and `frame` the same in short. `levels` are what `level` can be, `prefers` what `prefer` can
    be, `queues` those of Kueue. `note` says why there are no levels, or that the preferred one has no effect.
    """

    size: int = 1
    min: int = 0
    level: str = ""
    hierarchy: str = ""
    prefer: str = ""
    queue: str = ""
    same: tuple[str, ...] = ()
    sames: tuple[SameOption, ...] = ()
    link: str = ""
    values: str = ""
    words: str = ""
    frame: str = ""
    levels: tuple[LevelRow, ...] = ()
    prefers: tuple[LevelRow, ...] = ()
    price: tuple[PriceRow, ...] = ()
    schedulers: tuple[SchedulerRow, ...] = ()
    stops: tuple[StopRow, ...] = ()
    queues: tuple[str, ...] = ()
    note: str = ""


_NO_LEVELS = "No node label says where nodes are. Label them with rack or block, or load a Topology object of Kueue."


def level_rows(cluster: Cluster, chosen: str = "") -> tuple[LevelRow, ...]:
    """Return the levels that a gang can have: of each hierarchy from inner to outer, then one node, then none.

    If several levels have the same name and the same domains, the hierarchy `chosen` has it, else the first one.
    """
    known = hierarchies(cluster)
    levels: dict[object, tuple[Hierarchy, Level]] = {}
    for tree in known:
        for level in reversed(tree.levels):
            same = (level.name, frozenset(domain.nodes for domain in tree.at(level.name)))
            if same not in levels or tree.name == chosen:
                levels[same] = tree, level
    names = Counter(level.name for _, level in levels.values())
    found = [
        LevelRow(
            level=level.name,
            hierarchy=tree.name,
            label=level.name if names[level.name] == 1 else f"{level.name} ({tree.name})",
            source=level.source + (f", label {level.key}" if level.key else ""),
        )
        for tree, level in levels.values()
        if len(tree.at(level.name)) > 1 or names[level.name] == 1
    ]
    node = LevelRow(level=HOST, label="node", source="All pods on one node")
    return (*found, node, LevelRow(label="none", source="Pods may be on any nodes"))


def first_gang(cluster: Cluster, pods: int) -> GangDrawing:
    """Return the gang that a workload becomes first: all its pods in one domain of the innermost level with several."""
    rows, trees = [row for row in level_rows(cluster) if row.hierarchy], {one.name: one for one in hierarchies(cluster)}
    several = (row for row in rows if len(trees[row.hierarchy].at(row.level)) > 1)
    level = next(several, rows[0] if rows else LevelRow())
    return GangDrawing(size=max(2, pods), level=level.level, hierarchy=level.hierarchy)


def gang_row(session: Session, pod: PodDrawing, gang: GangDrawing, answer: Answer | None) -> GangRow:
    """Return the gang of a workload with what is known of its level and of schedulers."""
    cluster = session.cluster
    levels = level_rows(cluster, gang.hierarchy)
    prefers = [row for row in levels if row.hierarchy and row.hierarchy == (gang.hierarchy or row.hierarchy)]
    found = None if answer is None or answer.gangs is None else answer.gangs
    total = None if found is None else found.total.get(pod.pod)
    keys = {level.key: level.name for tree in hierarchies(cluster) for level in tree.levels if level.key}

    def named(level: str) -> str:
        return keys.get(level, level)

    inner_first = (level.name for tree in hierarchies(cluster) for level in reversed(tree.levels))
    order = [HOST, *dict.fromkeys(inner_first), ""]
    price = [] if total is None else sorted(total.levels.items(), key=lambda one: order.index(named(one[0])))
    return GangRow(
        size=gang.size,
        min=gang.min or 0,
        level=named(gang.level),
        hierarchy=gang.hierarchy,
        prefer=named(gang.prefer_level),
        queue=gang.queue,
        same=gang.same,
        sames=_sames(session, pod, gang),
        link=f"same {same_words(gang.same)} in all pods" if gang.same else "",
        values=same_values_words(answer, pod.pod),
        words=gang_words(gang, pod.replicas),
        frame=frame_words(gang, pod.replicas),
        levels=levels,
        prefers=(LevelRow(label="none"), *prefers),
        price=tuple(
            PriceRow(level=level_word(named(name)) or "none", gangs=str(value), now=name == gang.level)
            for name, value in price
        ),
        schedulers=tuple(scheduler_row(one) for one in (found.choices.get(pod.pod, ()) if found is not None else ())),
        stops=stop_rows(found.verdicts.get(pod.pod, "")) if found is not None else (),
        queues=tuple(f"{one.metadata.namespace}/{one.name}" for one in cluster.queues if isinstance(one, LocalQueue)),
        note=_note(cluster, pod, gang) if any(row.hierarchy for row in levels) else _NO_LEVELS,
    )


def _sames(session: Session, pod: PodDrawing, gang: GangDrawing) -> tuple[SameOption, ...]:
    """Return the attributes that can be chosen, and those that are."""
    found = same_options(session.cluster, pod_drawing(pod.pod, pod.claims), session.release)
    unknown = {*gang.same} - {one.name for one in found}
    missing = (
        SameOption(name, (), "no device that is requested has it", label=printable(name))
        for name in gang.same
        if name in unknown
    )
    # a published attribute is named itself
    return tuple(one for one in (*found, *missing) if one.name != RAIL or one.inferred or RAIL in gang.same)


def same_values_words(answer: Answer | None, name: str) -> str:
    """Return which values the plan chose for a workload: `rails 2 and 6`, "" before that."""
    own = [one for one in answer.plan.same if answer.drawn(one.workload).pod == name] if answer is not None else []
    return "; ".join(dict.fromkeys(map(values_words, own)))


def _note(cluster: Cluster, pod: PodDrawing, drawn: GangDrawing) -> str:
    """Return that the preferred level has no effect, "" if it has one, or if the cluster does not have the levels."""
    gang = workload_of(replace(pod, gang=drawn))
    with suppress(InputError):
        found = [*preferred_rules(gang, hierarchy_of(cluster, gang))]
        return " ".join(f"{sentence_case(one.message)}. {one.advice}" for one in found)
    return ""


def is_kueue(choice: GangChoice) -> bool:
    """Say whether a choice is that of Kueue."""
    return choice.replay.scheduler.startswith("Kueue")


def scheduler_row(choice: GangChoice) -> SchedulerRow:
    """Return what a scheduler does with a gang.

    A drawing requests no CPU and memory, which Kueue counts: what it chooses without them is only what it may choose.
    """
    replay = choice.replay
    is_open = is_kueue(choice) and bool(replay.domains)
    verdict = GangVerdict.MAYBE if is_open else replay.verdict
    text, note = choice_sentence(choice, counted=not is_open), KUEUE_NOTE if is_open else ""
    return SchedulerRow(name=replay.scheduler, verdict=verdict.value, text=text, note=note)


def stop_rows(verdicts: GangVerdicts | str) -> tuple[StopRow, ...]:
    """Return what the quota, Kueue's counts and the devices say of a gang; nothing without queues."""
    if isinstance(verdicts, str):
        return (StopRow(question=QUESTIONS[QUOTA], says="not known", text=sentence(verdicts)),) if verdicts else ()
    return tuple(
        StopRow(question=QUESTIONS[row.question], says=row.says.value, stops=row.says in STOPS, text=row.sentence)
        for row in verdicts.rows
    )


class RailRow(Row, frozen=True):
    """One value, such as a rail: whether it is chosen, and its devices on each node, in `boxes` if they are few."""

    value: str
    chosen: bool = False
    words: str = ""
    boxes: tuple[NodePods, ...] = ()


class RailTable(Row, frozen=True):
    """The values of an attribute of which all pods of a gang use the same; `note` says what is left out."""

    title: str
    rows: tuple[RailRow, ...] = ()
    note: str = ""


MOST_RAILS = 16
"""Values that are shown."""

MOST_NODES = 40
"""Nodes up to which one row shows each of them."""


def rail_tables(answer: Answer, gang: Workload, nodes: Sequence[str]) -> list[RailTable]:
    """Return the values that all pods of a gang use, beside the others that some nodes have."""
    tables = []
    for same in {one.attribute: one for one in answer.plan.same if one.workload == gang.name}.values():
        noun = "Rails" if same.inferred or is_rail(same.attribute) else "Values"
        every = value_nodes(answer, gang, same, nodes)
        shown = sorted(every, key=lambda value: value not in same.values)[:MOST_RAILS]
        tables.append(
            RailTable(
                title=f"{noun} of {gang.name}: {printable(same.attribute)}{' (inferred)' if same.inferred else ''}",
                rows=tuple(_rail_row(value, boxes, same) for value, boxes in every.items() if value in shown),
                note=f"{len(every) - MOST_RAILS:,} more are not shown." if len(every) > MOST_RAILS else "",
            )
        )
    return tables


def _rail_row(value: Value, boxes: tuple[NodePods, ...], same: SameValues) -> RailRow:
    free = sum(not one.closed and bool(one.placed + one.free + one.by_plan) for one in boxes)
    words = f"free on {free:,} of {counted(len(boxes), 'node')}"
    few = boxes if len(boxes) <= MOST_NODES else ()
    return RailRow(value=printable(str(value)), chosen=value in same.values, words=words, boxes=few)

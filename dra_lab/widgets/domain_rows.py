"""The rows of gangs and their domains: levels to choose from, the price of a level, and why a domain refuses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress

from msgspec.structs import replace

from dra_lab.errors import InputError
from dra_lab.model.cluster import Cluster
from dra_lab.model.gang_verdicts import QUOTA, STOPS, GangVerdict, GangVerdicts
from dra_lab.model.hierarchy import Hierarchy, Level
from dra_lab.model.queues import LocalQueue
from dra_lab.model.sketch import GangDrawing, PodDrawing
from dra_lab.model.workload import HOST, Workload, workload_of
from dra_lab.pinning.gang_choices import GangChoice
from dra_lab.session.fleet_answer import FleetAnswer
from dra_lab.session.fleet_gangs import hierarchy_of
from dra_lab.session.gang_domains import MOST_NAMED, DomainChange, DomainPods, GangDomains, changes
from dra_lab.topology.hierarchies import hierarchies
from dra_lab.topology.hierarchy_findings import preferred_rules
from dra_lab.widgets.device_rows import HeatCell, HeatMap
from dra_lab.widgets.domain_values import (
    BoxRow,
    DomainCard,
    DomainRow,
    DomainState,
    GangRow,
    LevelRow,
    PriceRow,
    SchedulerRow,
    StopRow,
    WouldFitRow,
)
from dra_lab.words.facts import counted, sentence
from dra_lab.words.why_not_document import Bar, TestBars
from dra_lab.words.workload_words import (
    KUEUE_NOTE,
    QUESTIONS,
    domain_name,
    frame_words,
    gang_words,
    headroom_words,
    lacking_words,
    level_word,
    scheduler_words,
    trapped_words,
)

MOST_BOXES = 700
"""Nodes of a cluster up to which the rows of domains show each of them."""

MOST_IN_A_ROW = 40
"""Nodes up to which one row shows each of them."""

_MOST_REASON = 64
"""Characters of what a row says of a domain."""

_NO_LEVELS = "No node label says where nodes are. Label them with rack or block, or load a Topology object of Kueue."
_GRADES = ("fits", "up to 25 % missing", "up to 50 %", "up to 75 %", "up to 100 %")


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
    rows = [row for row in level_rows(cluster) if row.hierarchy]
    level = next((row for row in rows if _several(cluster, row)), rows[0] if rows else LevelRow())
    return GangDrawing(size=max(2, pods), level=level.level, hierarchy=level.hierarchy)


def _several(cluster: Cluster, row: LevelRow) -> bool:
    tree = next(tree for tree in hierarchies(cluster) if tree.name == row.hierarchy)
    return len(tree.at(row.level)) > 1


def asked_gang(size: int, least: int, level: str, hierarchy: str, prefer: str, queue: str) -> GangDrawing | None:
    """Return the gang that a person asks for, None for no gang; a minimum of all pods is none of its own."""
    if not size:
        return None
    return GangDrawing(
        size=size,
        min=None if least >= size or not least else least,
        level=level,
        prefer_level=prefer,
        hierarchy=hierarchy,
        queue=queue.strip(),
    )


def gang_row(cluster: Cluster, pod: PodDrawing, gang: GangDrawing, answer: FleetAnswer | None) -> GangRow:
    """Return the gang of a workload with what is known of its level and of schedulers."""
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


def _note(cluster: Cluster, pod: PodDrawing, drawn: GangDrawing) -> str:
    """Return that the preferred level has no effect, "" if it has one, or if the cluster does not have the levels."""
    gang = workload_of(replace(pod, gang=drawn))
    with suppress(InputError):
        found = [*preferred_rules(gang, hierarchy_of(cluster, gang))]
        return " ".join(f"{_first([one.message])}. {one.advice}" for one in found)
    return ""


def is_kueue(choice: GangChoice) -> bool:
    """Say whether a choice is that of Kueue."""
    return choice.replay.scheduler.startswith("Kueue")


def scheduler_row(choice: GangChoice) -> SchedulerRow:
    """Return what a scheduler does with a gang.

    A drawing requests no CPU and memory, which Kueue counts: what it chooses without them is only what it may choose.
    """
    replay, trapped = choice.replay, choice.trapped
    is_open = is_kueue(choice) and bool(replay.domains)
    verdict = GangVerdict.MAYBE if is_open else replay.verdict
    text = scheduler_words(replay.scheduler, verdict.value, replay.sentence)
    if is_open and (trapped or replay.verdict is GangVerdict.NO):
        waiting = trapped or tuple(row.domain for row in replay.domains if row.most < row.wanted)
        text = trapped_words(replay.scheduler, waiting)
    return SchedulerRow(name=replay.scheduler, verdict=verdict.value, text=text, note=KUEUE_NOTE if is_open else "")


def stop_rows(verdicts: GangVerdicts | str) -> tuple[StopRow, ...]:
    """Return what the quota, Kueue's counts and the devices say of a gang; nothing without queues."""
    if isinstance(verdicts, str):
        return (StopRow(question=QUESTIONS[QUOTA], says="not known", text=sentence(verdicts)),) if verdicts else ()
    return tuple(
        StopRow(question=QUESTIONS[row.question], says=row.says.value, stops=row.says in STOPS, text=row.sentence)
        for row in verdicts.rows
    )


def domain_id(path: Sequence[str]) -> str:
    """Return the id of a domain for the browser."""
    return "\n".join(path) or "all"


def domain_rows(found: GangDomains, nodes: int) -> tuple[DomainRow, ...]:
    """Return the domains of a gang; with the nodes of each as boxes in a small cluster."""
    return tuple(_domain_row(found, domain, nodes <= MOST_BOXES) for domain in found.domains)


def _domain_row(found: GangDomains, domain: DomainPods, is_small: bool) -> DomainRow:  # noqa: FBT001
    state = domain_state(found, domain)
    few = is_small and state != "outer" and len(domain.nodes) <= MOST_IN_A_ROW
    return DomainRow(
        id=domain_id(domain.path),
        name=domain_name(domain.path) if domain.path else "all nodes",
        depth=max(0, len(domain.path) - 1),
        state=state,
        nodes=len(domain.nodes),
        holds=_holds(found, domain, state),
        words=_words(found, domain, state),
        sums=_sums(domain),
        boxes=boxes(domain) if few else (),
    )


def domain_state(found: GangDomains, domain: DomainPods) -> DomainState:
    """Return whether a domain is chosen by the plan, fits, or refuses the gang."""
    if found.level and len(domain.path) <= _depth(found):
        return "outer"
    if domain.placed:
        return "chosen"
    headroom = domain.headroom
    if headroom is None:
        return "unknown"
    if headroom.fits:
        return "fits"
    return "refused" if headroom.pods.is_below(headroom.least) or headroom.replicas.bound == 0 else "unknown"


def _depth(found: GangDomains) -> int:
    return 0 if found.hierarchy is None else found.hierarchy.level_index(found.level)


def _holds(found: GangDomains, domain: DomainPods, state: DomainState) -> str:
    if domain.headroom is not None and state in ("refused", "unknown"):
        return headroom_words(domain.headroom)
    if found.exact:
        return f"holds {domain.holds:,}"
    return "" if domain.headroom is None else headroom_words(domain.headroom)


def _words(found: GangDomains, domain: DomainPods, state: DomainState) -> str:
    if state == "outer":
        inside = [
            one for one in found.domains if one.headroom is not None and one.path[: len(domain.path)] == domain.path
        ]
        if inside and all(one.gangs >= 0 for one in inside):
            return counted(sum(one.gangs for one in inside), "gang")
        return ""
    if state == "chosen":
        return f"{counted(domain.placed, 'pod')} placed"
    if state == "fits":
        return counted(domain.gangs, "gang") if domain.gangs > 1 else "fits"
    return _reasons(lacking_words(domain.headroom)) if domain.headroom is not None else ""


def _reasons(reasons: Sequence[str]) -> str:
    """Return reasons for a row of two lines: all of them, or the first one and how many more the card has."""
    text = "; ".join(reasons)
    if len(reasons) < 2 or len(text) <= _MOST_REASON:
        return text
    return f"{reasons[0]}; {counted(len(reasons) - 1, 'more reason')}"


def _sums(domain: DomainPods) -> tuple[int, int, int, int, int]:
    rows = domain.nodes
    free = sum(one.free for one in rows if not one.closed)
    closed = sum(one.free + one.in_use for one in rows if one.closed)
    used = sum(one.in_use for one in rows if not one.closed)
    return domain.placed, free, sum(one.by_plan for one in rows), used, closed


def boxes(domain: DomainPods) -> tuple[BoxRow, ...]:
    """Return the nodes of a domain."""
    return tuple((one.node, one.placed, one.free, one.by_plan, one.in_use, one.closed) for one in domain.nodes)


def domain_heat(found: GangDomains) -> HeatMap:
    """Return the domains by the share of the gang's pods that they lack."""
    cells = []
    for domain in found.domains:
        headroom = domain.headroom
        if headroom is None:
            continue
        missing = headroom.size - headroom.pods.value
        grade = 0 if headroom.fits or domain.placed else max(1, -(-4 * missing // headroom.size))
        words = f"{domain_name(domain.path)}: {_holds(found, domain, domain_state(found, domain))}"
        lacking = f"; {'; '.join(lacking_words(headroom))}" if grade and headroom.reasons else ""
        cells.append(
            HeatCell(rack=domain_name(domain.path), grade=grade, words=words + lacking, id=domain_id(domain.path))
        )
    word = level_word(found.level)
    source = "name of the node"
    if found.hierarchy is not None:
        level = found.hierarchy.levels[found.hierarchy.level_index(found.level)]
        source = f"{word} label {level.key}" if level.key else f"{word} of {level.source}"
    return HeatMap(title=f"Pods that are missing by {word}", source=source, grades=_GRADES, cells=tuple(cells))


def domain_card(found: GangDomains, domain: DomainPods) -> DomainCard:
    """Return why a domain refuses the gang, or what it holds, and what would make it hold the gang."""
    state, word = domain_state(found, domain), level_word(found.level) or "nodes"
    name = domain_name(domain.path)
    refused = state == "refused"
    lines = []
    if domain.headroom is not None and domain.headroom.reasons and state != "outer":
        lines.append(f"{_first(lacking_words(domain.headroom))}.")
    fixes = (
        [WouldFitRow(title=_title(one), brings=_brings(found, one)) for one in changes(found, domain)]
        if refused
        else []
    )
    if refused and found.exact and not fixes:
        idle = sum(one.placed + one.free + one.by_plan + one.in_use for one in domain.nodes)
        lines.append(
            f"If nothing were in use and no node were cordoned, {name} would hold {idle:,} of "
            f"{counted(found.gang.least, 'pod')}. Choose an outer level, or a smaller gang."
        )
    bars = TestBars("Pods of one gang", tuple(_bars(found, domain)))
    title = f"Why not {name}?" if refused else f"{word} {name}" if domain.path else "All nodes"
    return DomainCard(
        id=domain_id(domain.path),
        title=title,
        lines=tuple(lines),
        bars=(bars,) if bars.bars else (),
        fixes=tuple(fixes),
        boxes=boxes(domain) if state != "outer" else (),
    )


def _bars(found: GangDomains, domain: DomainPods) -> Iterator[Bar]:
    """Yield how many pods are left step by step; nothing if the numbers of nodes cannot be added up."""
    if not found.exact:
        return
    idle = sum(one.placed + one.free + one.by_plan + one.in_use for one in domain.nodes)
    closed = [one for one in domain.nodes if one.closed]
    least, most = found.gang.least, max(idle, found.gang.size)

    def bar(label: str, count: int, note: str = "") -> Bar:
        return Bar(label=label, count=count, of=most, note=note, short=count < least)

    yield bar(f"on {counted(len(domain.nodes), 'node')}, nothing in use", idle)
    if closed:
        lost = sum(one.free + one.in_use for one in closed)
        yield bar(f"without {_named([one.node for one in closed])}, cordoned", idle - lost)
    yield bar("with the devices that are free", domain.holds)
    others = domain.holds - domain.placed - sum(one.free for one in domain.nodes if not one.closed)
    if domain.placed or others:
        yield bar("left after this plan", domain.holds - domain.placed - others)


def _title(change: DomainChange) -> str:
    named = _named(change.nodes, "and" if change.together else "or")
    if change.kind == "uncordon":
        return f"Uncordon {named}"
    return f"Free the devices in use on {named}" + (", and uncordon what is cordoned" if change.kind == "both" else "")


def _brings(found: GangDomains, change: DomainChange) -> str:
    size = found.gang.size
    return f"{min(size, change.pods):,} of {size:,} pods fit then"


def _named(nodes: Sequence[str], word: str = "and") -> str:
    if len(nodes) > MOST_NAMED:
        return f"{', '.join(nodes[:MOST_NAMED])} {word} {len(nodes) - MOST_NAMED:,} more nodes"
    return nodes[0] if len(nodes) == 1 else f"{', '.join(nodes[:-1])} {word} {nodes[-1]}"


def _first(lacking: Sequence[str]) -> str:
    text = "; ".join(lacking)
    return text[:1].upper() + text[1:]


def chosen_gang(gangs: Sequence[Workload], name: str) -> Workload | None:
    """Return the gang of a name, else the first one."""
    return next((gang for gang in gangs if gang.name == name), gangs[0] if gangs else None)

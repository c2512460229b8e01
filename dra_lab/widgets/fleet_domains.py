"""The domains of gangs in the Fleet mode: which hold them, and why one refuses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import traitlets

from dra_lab.findings import sentence_case
from dra_lab.model.plan import Plan
from dra_lab.model.workload import Workload
from dra_lab.session.answers import Answer, pods_of
from dra_lab.session.fleet import SessionFleet
from dra_lab.session.gang_domains import (
    MOST_NAMED,
    DomainChange,
    DomainPods,
    GangDomains,
    NodePods,
    changes,
    gang_domains,
)
from dra_lab.widgets.device_rows import HeatCell, HeatMap
from dra_lab.widgets.gang_rows import RailTable, first_gang, rail_tables
from dra_lab.widgets.session_view import Pane, Row, calls, on
from dra_lab.words.facts import counted
from dra_lab.words.why_not_document import Bar, TestBars
from dra_lab.words.workload_words import (
    domain_name,
    headroom_words,
    lacking_words,
    level_word,
    sharing_words,
)

DomainState = Literal["chosen", "fits", "refused", "unknown", "outer"]


class DomainRow(Row, frozen=True):
    """One domain: what it holds of one gang, in words and in sums over its nodes.

    `state` is "outer" above the level of the gang. `sums` are pods placed, free, kept away by the plan, by devices in
    use, and on cordoned nodes. `boxes` are its nodes where they are few.
    """

    id: str
    name: str
    depth: int = 0
    state: DomainState = "unknown"
    nodes: int = 0
    holds: str = ""
    words: str = ""
    sums: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)
    boxes: tuple[NodePods, ...] = ()


class DomainTable(Row, frozen=True):
    """The domains of one gang: `gang` is its name, `level` what people call a domain, `title` the heading.

    `gangs` are the names that can be chosen. `note` is shown above the rows, or in place of them.
    """

    gang: str = ""
    gangs: tuple[str, ...] = ()
    level: str = ""
    title: str = ""
    rows: tuple[DomainRow, ...] = ()
    heat: HeatMap = HeatMap()
    note: str = ""


class DomainCard(Row, frozen=True):
    """The domain that is chosen: a question with its numbers, the nodes, and what would make it hold the gang."""

    id: str = ""
    title: str = ""
    lines: tuple[str, ...] = ()
    bars: tuple[TestBars, ...] = ()
    fixes: tuple[tuple[str, str], ...] = ()
    boxes: tuple[NodePods, ...] = ()


class FleetDomains(Pane):
    """The part of the Fleet mode about gangs; without gangs its table has no names of gangs.

    Both sides write `fleet_gang` (the gang whose domains are shown), `fleet_domain` (the id of the chosen domain) and
    `fleet_side` (what the right side shows: domains or devices).
    """

    fleet_domains = traitlets.Dict().tag(sync=True, value=DomainTable)
    fleet_rails: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[RailTable])
    fleet_domain_card = traitlets.Dict().tag(sync=True, value=DomainCard)
    fleet_gang = traitlets.Unicode("").tag(sync=True)
    fleet_domain = traitlets.Unicode("").tag(sync=True)
    fleet_side = traitlets.Unicode("domains").tag(sync=True)

    only_in = "fleet"

    def _begin(self) -> None:
        self._domains: GangDomains | None = None
        self._domains_of: tuple[Answer, Workload] | None = None
        self._known_rails: tuple[Plan, tuple[object, ...], Sequence[RailTable]] | None = None
        self.when(self._show_domains, "fleet", "mode")
        self.watch(self._show_domains, "fleet_gang")
        self.watch(self._show_domain, "fleet_domain")

    def _show_domains(self) -> None:
        fleet, answer = self.session.fleet, self.session.fleet.answer
        names = tuple(pod.pod for pod in fleet.workloads if pod.gang is not None)
        if not names or fleet.refusal is not None or answer is None or answer.gangs is None:
            note = "No answer." if fleet.refusal is not None else "Planning …"
            self._domains = None
            table = DomainTable(gangs=names, note=note)
            self.assign(fleet_domains=table, fleet_domain_card=DomainCard(), fleet_rails=[])
            return
        gangs = answer.plan.gangs
        gang = next((one for one in gangs if one.name == self.view.fleet_gang), gangs[0] if gangs else None)
        if gang is None:
            return
        known = self._domains_of
        if self._domains is None or known is None or known[0] is not answer or known[1] is not gang:
            self._domains_of, self._domains = (answer, gang), gang_domains(answer, gang)
        found, is_small = self._domains, len(answer.question.cluster.node_names) <= MOST_BOXES
        word = level_word(found.level)
        table = DomainTable(
            gang=gang.name,
            gangs=tuple(one.name for one in gangs),
            level=word,
            title=_table_title(answer, gang, word),
            rows=tuple(_domain_row(found, one, is_small) for one in found.domains),
            heat=domain_heat(found) if gang.level else HeatMap(),
        )
        self.assign(fleet_domains=table)
        self._show_domain()

    def _show_domain(self) -> None:
        found, chosen = self._domains, self.view.fleet_domain
        domains = found.domains if found is not None else ()
        domain = next((one for one in domains if domain_id(one.path) == chosen), None)
        self.assign(
            fleet_domain_card=DomainCard() if domain is None or found is None else domain_card(found, domain),
            fleet_rails=self._rails(found, domain) if found is not None else [],
        )

    def _rails(self, found: GangDomains, domain: DomainPods | None) -> Sequence[RailTable]:
        """Return the values that all pods of a gang use, in a domain, or in those where it has its place."""
        assert self._domains_of is not None, "the domains are those of an answer"
        answer = self._domains_of[0]
        chosen = (one for one in found.domains if domain_state(found, one) == "chosen")
        domains = [*chosen] if domain is None else [domain]
        key, known = (found.gang.name, *(one.path for one in domains)), self._known_rails
        # The answer grows after its plan, which alone decides.
        if known is None or known[0] is not answer.plan or known[1] != key:
            nodes = tuple(dict.fromkeys(box.node for one in domains for box in one.nodes))
            known = self._known_rails = answer.plan, key, rail_tables(answer, found.gang, nodes)
        return known[2]

    @on
    def make_gang(self, name: str) -> None:
        """Make a workload one gang of all its pods in one domain of the innermost level."""
        fleet = self.session.fleet
        fleet.set_gang(name, first_gang(self.session.cluster, pods_of(fleet.workload(name))))
        self.view.fleet_gang, self.view.fleet_side = name, "domains"

    set_gang = calls(SessionFleet.set_gang, "fleet", tag="set-gang")


def _table_title(answer: Answer, gang: Workload, word: str) -> str:
    pods = f"Pods of {gang.name} that {f'each {word} holds' if word else 'the nodes hold'}"
    drawn = answer.drawn(gang.name).gang
    if drawn is None or not drawn.same:
        return pods
    chosen = any(one.workload == gang.name for one in answer.plan.same)
    return f"{pods} {sharing_words(drawn.same, 'these' if chosen else 'the closest')}"


MOST_BOXES = 700
"""Nodes of a cluster up to which the rows of domains show each of them."""

MOST_IN_A_ROW = 40
"""Nodes up to which one row shows each of them."""

_MOST_REASON = 64
"""Characters of what a row says of a domain."""

_GRADES = ("fits", "up to 25 % missing", "up to 50 %", "up to 75 %", "up to 100 %")


def domain_id(path: Sequence[str]) -> str:
    """Return the id of a domain for the browser."""
    return "\n".join(path) or "all"


def _domain_row(found: GangDomains, domain: DomainPods, is_small: bool) -> DomainRow:  # noqa: FBT001
    """Return a domain; of a small cluster with its nodes as boxes."""
    state, rows = domain_state(found, domain), domain.nodes
    free = sum(one.free for one in rows if not one.closed)
    closed = sum(one.free + one.in_use for one in rows if one.closed)
    used = sum(one.in_use for one in rows if not one.closed)
    few = is_small and state != "outer" and len(domain.nodes) <= MOST_IN_A_ROW
    return DomainRow(
        id=domain_id(domain.path),
        name=domain_name(domain.path) if domain.path else "all nodes",
        depth=max(0, len(domain.path) - 1),
        state=state,
        nodes=len(domain.nodes),
        holds=_holds(found, domain, state),
        words=_words(found, domain, state),
        sums=(domain.placed, free, sum(one.by_plan for one in rows), used, closed),
        boxes=domain.nodes if few else (),
    )


def domain_state(found: GangDomains, domain: DomainPods) -> DomainState:
    """Return whether a domain is chosen by the plan, fits, or refuses the gang."""
    if found.level and len(domain.path) <= (found.hierarchy.level_index(found.level) if found.hierarchy else 0):
        return "outer"
    if domain.placed:
        return "chosen"
    headroom = domain.headroom
    if headroom is None:
        return "unknown"
    if headroom.fits:
        return "fits"
    return "refused" if headroom.pods.is_below(headroom.least) or headroom.replicas.bound == 0 else "unknown"


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
        lines.append(f"{sentence_case('; '.join(lacking_words(domain.headroom)))}.")
    size = found.gang.size
    fixes = [
        (_title(one), f"{min(size, one.pods):,} of {size:,} pods fit then")
        for one in (changes(found, domain) if refused else ())
    ]
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
        boxes=domain.nodes if state != "outer" else (),
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


def _named(nodes: Sequence[str], word: str = "and") -> str:
    if len(nodes) > MOST_NAMED:
        return f"{', '.join(nodes[:MOST_NAMED])} {word} {len(nodes) - MOST_NAMED:,} more nodes"
    return nodes[0] if len(nodes) == 1 else f"{', '.join(nodes[:-1])} {word} {nodes[-1]}"

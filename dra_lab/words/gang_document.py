"""Gangs in a document: what each domain has, how many fit, what schedulers do, and the nodes to add."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dra_lab.findings import sentence_case
from dra_lab.model.headroom import Bounded, Fit, Headroom, counted_to
from dra_lab.model.plan import Plan
from dra_lab.model.workload import HOSTS, Workload
from dra_lab.words.document import Lines, Part, Sentence, Table, printable
from dra_lab.words.facts import sentence
from dra_lab.words.workload_words import headroom_words, lacking_words

if TYPE_CHECKING:
    from dra_lab.model.gang_replay import GangReplay
    from dra_lab.model.node_type import AddedNodes
    from dra_lab.pinning.gang_choices import GangChoice

MOST = 12
"""Domains that are shown one by one."""

_REASONS = 2
"""Reasons against a domain that are shown if it has many."""


def domains_table(plan: Plan, gang: Workload, title: str) -> Table:
    """Return what each domain has for one gang, those with most pods first."""
    headrooms = sorted(
        (headroom for headroom in plan.where if headroom.workload == gang.name),
        key=lambda headroom: (-headroom.pods.value, headroom.members),
    )
    rows = [
        (
            "/".join(headroom.members) or "all nodes",
            headroom_words(headroom),
            str(headroom.replicas),
            _lacks(headroom),
        )
        for headroom in headrooms[:MOST]
    ]
    more = [f"{len(headrooms) - MOST:,} more domains are not shown; -o json has all."] if len(headrooms) > MOST else []
    level = "node" if gang.level in HOSTS else gang.level or "domain"
    return Table((printable(level), "pods", "gangs", "lacks"), rows, title, more)


def _lacks(headroom: Fit) -> str:
    reasons = lacking_words(headroom)
    more = [f"{len(reasons) - _REASONS} more reasons"] if len(reasons) > _REASONS + 1 else []
    return "; ".join([*reasons[:_REASONS], *more] if more else reasons)


def levels_table(found: Headroom, name: str = "") -> Table:
    """Return how many gangs fit in all with each required level."""
    rows = [(level or "no level", str(number)) for level, number in found.levels.items()]
    return Table(("required level", "gangs in all"), rows, f"Gangs of {name}" if name else "")


def choice_tables(choices: Sequence[GangChoice], gang: Workload) -> Iterator[Table]:
    """Yield how many pods of a gang each domain has for each scheduler that was replayed."""
    for choice in choices:
        rows = [(row.domain, row.least, row.most, row.wanted) for row in choice.replay.domains]
        title = f"{choice.replay.scheduler}: pods of {gang.name}"
        yield Table(("domain", "at least", "at most", "needed"), rows, printable(title))


def added_words(found: AddedNodes) -> str:
    """Return with which new nodes everything fits, and whether fewer suffice."""
    rows = [
        f"{one.count:,} more {'node' if one.count == 1 else 'nodes'} like {one.type} {_in(one.domain)}"
        for one in found.added[:_REASONS]
    ]
    left = sum(one.count for one in found.added[_REASONS:])
    rows += [f"{left:,} more elsewhere"] if left else []
    proof = "fewer do not suffice, proven" if found.proven else "fewer may suffice"
    gangs = sum(gang.replicas for gang in found.wanted)
    what = "It fits" if gangs == 1 and not found.workloads else "All of it fits"
    return printable(f"{what} with {', '.join(rows)}, if there are places for them; {proof}.")


def _in(domain: Sequence[str]) -> str:
    return f"in {'/'.join(domain)}" if domain else "anywhere"


def more_words(now: Headroom, after: Headroom, gang: Workload) -> str:
    """Return how many gangs fit after the plan, and how many in all with each level: what the level costs."""
    levels = sorted(now.levels.items(), key=lambda row: row[0] != gang.level)
    words = ", ".join(f"{number} with {name or 'no level'}" for name, number in levels)
    more = "1 more gang fits" if after.count == Bounded(1, 1) else f"{after.count} more gangs fit"
    return f"After this plan, {more}. In all: {words}."


def choice_lines(choices: Sequence[GangChoice], gang: Workload, heading: str) -> Lines:
    """Return what each scheduler does with a gang, one after the other."""
    return Lines(printable(heading), [choice_sentence(choice, gang) for choice in choices])


def choice_sentence(choice: GangChoice, gang: Workload) -> str:
    """Return what a scheduler does with a gang: the verdict, why, how many gangs start, and where the claims miss."""
    return printable(" ".join(_choice(choice, gang)))


def _choice(choice: GangChoice, gang: Workload) -> Iterator[str]:
    yield _replay(choice.replay)
    if choice.started is not None and gang.replicas > 1:
        least, most = choice.started
        number = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        yield f"It starts {number} of {gang.replicas:,} gangs."
    if choice.trapped:
        named = ", ".join(choice.trapped[:3]) + (" and more" if len(choice.trapped) > 3 else "")
        yield f"It may choose {named}, where the claims do not fit."


def _replay(replay: GangReplay) -> str:
    """Return whether a scheduler finds a place for a gang, and why: `Kueue 0.19: no. Kueue does not admit it ...`."""
    why = sentence(replay.sentence)
    return printable(f"{replay.scheduler}: {replay.verdict.value}. {sentence_case(why)}")


def replay_parts(replay: GangReplay) -> Iterator[Part]:
    """Yield whether a scheduler finds a place for a gang, then the domains that it tries or chooses."""
    yield Sentence(_replay(replay))
    yield replay_table(replay)


def replay_table(replay: GangReplay) -> Table:
    """Return how many pods get their devices in each domain that a scheduler tries or chooses."""
    rows = [(row.domain, str(counted_to(row.least, row.most)), row.wanted) for row in replay.domains[:MOST]]
    more = len(replay.domains) - len(rows)
    notes = [f"{more:,} more are not listed."] if more else []
    return Table(("domain", "pods with devices", "pods wanted"), rows, notes=notes)

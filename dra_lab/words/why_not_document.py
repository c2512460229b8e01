"""Why a node or a device does not serve a claim, and why devices are stranded: the tests as bars, and the reasons."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import DAMAGE
from dra_lab.model.headroom import CORDONED
from dra_lab.model.names import MARK, DeviceID
from dra_lab.model.plan import Plan
from dra_lab.model.reasons import FailedTest, Funnel, FunnelStep, WhyNot
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.planner.fleet.why_stranded import WhyStranded
from dra_lab.sketch.links import LEVEL_WORDS
from dra_lab.words.document import clean
from dra_lab.words.drawing_words import Noun, nouns, selector_words
from dra_lab.words.facts import FIT_WORDS, KINDS, goal_words, sentence

MOST_USERS = 2
"""Claims that hold devices and are named; others are counted."""


class Bar(Struct, frozen=True, omit_defaults=True):
    """One test of a funnel: what is counted, how many devices are left of how many, and whether that is too few."""

    label: str
    count: int
    of: int
    note: str = ""
    short: bool = False


class TestBars(Struct, frozen=True, omit_defaults=True):
    """The tests of one request, the first that fails before all others; `needed` devices must be left."""

    title: str
    bars: tuple[Bar, ...] = ()
    request: str = ""
    needed: int = 0


def why_not_title(node: str, *, fits: bool | None) -> str:
    """Return `Why not 158-9?`, or what is asked of a node that serves the claim."""
    return f"Why {node}?" if fits else f"Why not {node}?"


def node_sentence(found: WhyNot, plan: Plan | None, node: str) -> str:
    """Return in a sentence or two whether a node serves the claim; `node` is the name under which it is shown."""
    if found.fits is None:
        return f"It is not known yet whether {node} can serve this claim." if found.funnels else "Nothing is drawn yet."
    if any(reason.rule == CORDONED for reason in found.shortfalls):
        return f"{node} is cordoned: kube-scheduler starts no new pod there."
    if not found.fits:
        return f"{node} cannot serve this claim."
    if plan is not None and plan.fits and plan.node == found.node:
        return f"{node} serves this claim best."
    here = next((fit for fit in plan.node_classes if found.node in fit.members), None) if plan is not None else None
    values = (
        ", ".join(goal_words(goal) for goal in here.values if goal.value and goal.goal != DAMAGE)
        if here is not None
        else ""
    )
    if here is None:
        return f"Nothing blocks this claim on {node}."
    fit = FIT_WORDS[here.verdict] if here.verdict is not None and here.fits else "fits"
    return f"Nothing blocks this claim on {node}: it {fit}{f' ({values})' if values else ''}."


def bars(found: WhyNot, names: dict[str, Noun]) -> tuple[TestBars, ...]:
    """Return the tests of every request on the node, each with the devices that are left; what fails is first."""
    rows = [_bars(found, funnel, names.get(funnel.request)) for funnel in found.funnels]
    return tuple(sorted(rows, key=lambda row: not any(bar.short for bar in row.bars)))


def _bars(found: WhyNot, funnel: Funnel, noun: Noun | None) -> TestBars:
    total = funnel.steps[0].count
    rows: list[Bar] = []
    needed = max(1, funnel.needed)
    before, number = total, 0
    for at, step in enumerate(funnel.steps):
        after = funnel.steps[at + 1].test if at + 1 < len(funnel.steps) else ""
        if step.test == "class-selector" and after == "class-selector":
            continue
        number += step.test == "selector"
        always = step.test in ("published", "class", "class-selector", "in-use")
        if not always and step.count == before and step.test != "selector":
            continue
        users = found.users.get(funnel.request, ()) if step.test == "in-use" and step.count < before else ()
        uses = [f"{claim} uses {count}" for claim, count in users[:MOST_USERS]]
        more = sum(count for _, count in users[MOST_USERS:])
        note = clean(", ".join([*uses, *([f"others use {more}"] if more else [])]))
        rows.append(Bar(_label(step, number, use_known=found.use_known), step.count, total, note, step.count < needed))
        before = step.count
    claim, _, request = funnel.request.rpartition(MARK)
    title = f"{request} of {claim}" if claim else request
    title = f"{title}: {noun.many(funnel.needed)}" if noun is not None and funnel.needed else title
    short = [bar for bar in rows if bar.short]
    rows = [*short[:1], *(bar for bar in rows if not bar.short), *short[1:]]
    return TestBars(clean(title), tuple(rows), funnel.request, needed)


def _label(step: FunnelStep, number: int, *, use_known: bool) -> str:
    match step.test:
        case "published":
            return "on the node"
        case "class" | "class-selector":
            return "of the class"
        case "selector":
            return f"match {clean(selector_words(step.text)) or f'selector {number}'}"
        case "gate":
            return "not hidden by a feature gate"
        case "taint":
            return "not tainted, or tolerated"
        case "in-use":
            return "free" if use_known else "free, if nothing is in use"
        case "capacity":
            return "enough capacity left"
        case _:
            return f"place known for {clean(step.text)}"


def link_bars(found: WhyNot, sketch: ClaimSketch) -> tuple[Bar, ...]:
    """Return, of every link that is in the way, how many devices or pairs it allows."""
    links = {link.name: link for link in sketch.links}
    rows = [s for s in found.shortfalls if s.rule == "link" and s.subject in links and s.needed]
    return tuple(
        Bar(_link_label(links[s.subject]), s.available, s.needed, f"{s.needed} needed", short=True) for s in rows
    )


def _link_label(link: Link) -> str:
    place = LEVEL_WORDS.get(link.where, link.where)
    if link.how is How.PAIRWISE:
        return f"pairs on the same {place}"
    return f"devices on one {place}" if link.how is How.TOGETHER else f"different {place}s"


def reason_lines(found: WhyNot) -> Iterator[str]:
    """Yield the reasons of a node without its name, each as a sentence."""
    for shortfall in found.shortfalls:
        yield clean(sentence(shortfall.message.replace(f" (node {shortfall.node})", "")))


def device_lines(found: WhyNot, device: DeviceID, plan: Plan | None) -> Iterator[str]:
    """Yield for each request whether a device may serve it, and the first test that keeps it away."""
    chosen = dict(plan.chosen()) if plan is not None and plan.node == found.node else {}
    tests = found.devices.get(device, ())
    # a device of another class is of no use for a request, which is no news where it serves another one
    near = [test for test in tests if test.test != "class"]
    for test in near or tests:
        yield clean(f"{test.request}: {_device_words(test, chosen.get(device, ''))}.")


def _device_words(test: FailedTest, chosen: str) -> str:
    match test.test:
        case "class":
            return f"not of the device class; {test.text}" if test.text else "not of the device class"
        case "selector":
            return f"the selector is false: {test.text}"
        case "taint":
            return f"tainted with {test.text}, which the request does not tolerate"
        case "in-use":
            return f"in use by {test.text}" if test.text else "what is left of its shared counters is in use"
        case "capacity":
            return f"too little capacity: {test.text}" if test.text else "too little is left of its shared counters"
        case _ if chosen == test.request:
            return "chosen for this request"
        case _ if chosen:
            return f"passes all tests, and is chosen for {chosen}"
        case _:
            return "passes all tests; the plan uses others that serve the claim as well or better"


def stranded_bars(found: WhyStranded, cluster: Cluster, release: KubernetesRelease) -> Iterator[TestBars]:
    """Yield the tests of each request of which too few devices are left, and of the links that are in the way."""
    for claim, why in found.reasons:
        yield from (row for row in bars(why, nouns(claim, cluster, release)) if any(bar.short for bar in row.bars))
        if links := link_bars(why, claim):
            yield TestBars("Links", links, "links")


def stranded_lines(found: WhyStranded) -> Iterator[str]:
    """Yield what is stranded once the node is full, and what would make some of it usable."""
    kinds = [f"{kind.stranded:,} of {kind.free:,} free {KINDS[kind.kind]}" for kind in found.kinds if kind.stranded]
    if not kinds:
        return
    yield f"Once more pods fill this node, {' and '.join(kinds)} stay unused."
    leaving, relaxed = found.leaving, found.relaxed
    if leaving is not None:
        would = f"{leaving.after:,} {KINDS[leaving.kind]} would be stranded instead of {leaving.before:,}"
        yield clean(f"If {leaving.claim} left this node, {would}.")
    if relaxed is not None:
        yield clean(f"{relaxed.title}: one more pod then fits here.")
    if leaving is None and relaxed is None:
        yield "No single claim that leaves this node, and no weaker link, was found to free any of them."

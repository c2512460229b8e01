"""Workloads: what pods and gangs ask for, what each domain has, how many fit, and what schedulers do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dra_lab.model.gang_verdicts import COUNTS, DEVICES, QUOTA, STOPS, GangVerdict, GangVerdicts, Says
from dra_lab.model.headroom import Bounded, Fit, Headroom, Stranded, counted_to
from dra_lab.model.placement import SameValues
from dra_lab.model.plan import Plan
from dra_lab.model.sketch import ClaimSketch, GangDrawing, PodDrawing, asks
from dra_lab.model.workload import HOST, HOSTS, RAIL, Workload
from dra_lab.scheduler.kueue.quota_verdict import amount_words
from dra_lab.sketch.links import listed
from dra_lab.topology.hierarchy_findings import plural, some
from dra_lab.words.document import Lines, Part, Sentence, Table, Words, printable
from dra_lab.words.facts import KINDS, counted, sentence

if TYPE_CHECKING:
    from dra_lab.model.gang_verdicts import GangChoice, GangReplay
    from dra_lab.model.node_type import AddedNodes


_ONE = {"gpu": "GPU", "nic": "NIC", "cpu": "CPU", "memory": "memory device", "other": "other device"}


_UUID = re.compile(r"\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
"""The cluster UUID in the name of an NVLink partition; its first part tells the partitions of a cluster apart."""

_CUT = r"\1…"

_NAMED = 3
"""Domains that are named."""

_IN_USE = " in use on "

QUESTIONS: Mapping[str, str] = {QUOTA: "quota", COUNTS: "Kueue counts", DEVICES: "devices"}
"""What is asked of a gang in Kueue, in the words of the screen."""

KUEUE_NOTE = (
    "Kueue counts CPU and memory and no devices. A drawing has no CPU and memory, so only pods are counted here."
)
"""What a replay of Kueue for a drawing leaves out."""


def claim_words(claims: Sequence[ClaimSketch]) -> str:
    """Return what one pod requests: `2 gpu + 2 nic + 32 cpu`."""
    parts = []
    for request in (request for claim in claims for request in claim.requests):
        first = asks(request)[0] if request.exactly or request.first_available else None
        count = "all" if first is not None and first.all_devices else f"{first.count if first is not None else 1:,}"
        if first is not None and first.count == 1 and len(first.capacity) == 1:
            count = str(next(iter(first.capacity.values())))  # of one device that is shared
        parts.append(f"{count} {request.name}")
    return printable(" + ".join(parts)) or "nothing yet"


def request_words(pods: Sequence[PodDrawing]) -> str:
    """Return what is asked, such as `You ask for 5 × large (4 gpu + 4 nic) and 8 × small (2 gpu + 2 nic)`."""
    parts = [
        f"{f'{pod.pod}, {gang_words(pod.gang, pod.replicas)}' if pod.gang else f'{pod.replicas:,} × {pod.pod}'} "
        f"({claim_words(pod.claims)})"
        for pod in pods
    ]
    return printable(f"You ask for {listed(parts)}.") if parts else "Nothing is asked for yet."


def gang_words(gang: GangDrawing, number: int) -> str:
    """Return what a gang is: `2 gangs of 16 pods, each in one rack`."""
    least = f" (at least {gang.min:,})" if gang.min is not None and gang.min < gang.size else ""
    where = f"in one {level_word(gang.level)}" if gang.level else ""
    prefer = f"in as few {plural(level_word(gang.prefer_level))} as possible" if gang.prefer_level else ""
    each = ", " + ("all " if number == 1 else "each ") if where or prefer or gang.same else ""
    same = sharing_words(gang.same, "the same") if gang.same else ""
    places = ", ".join(filter(None, (where, prefer, same)))
    return f"{counted(number, 'gang')} of {counted(gang.size, 'pod')}{least}{each}{places}"


def same_words(attributes: Sequence[str]) -> str:
    """Return what people call attributes of which all pods use the same values: `rails`, `ifName and rails`."""
    return printable(listed(dict.fromkeys("rails" if is_rail(one) else one.rpartition("/")[2] for one in attributes)))


_MOST_VALUES = 4
"""More values of an attribute are not all named in a sentence."""


def values_words(same: SameValues) -> str:
    """Return the values that all pods of a replica use: `rails 2 and 6`."""
    texts = [str(value).lower() if isinstance(value, bool) else str(value) for value in same.values]
    noun = "rail" if same.inferred or is_rail(same.attribute) else "value"
    named = listed(texts) if len(texts) <= _MOST_VALUES else some(texts)
    return printable(f"{noun}{'s' if len(texts) > 1 else ''} {named}")


def sharing_words(attributes: Sequence[str], which: str, *, short: bool = False) -> str:
    """Return that pods share values of attributes: `on the same rails`, `with the same values of ifName`."""
    if all(map(is_rail, attributes)):
        return f"on {which} rails"
    return f"with {which} values" + ("" if short else f" of {same_words(attributes)}")


def is_rail(attribute: str) -> bool:
    """Say whether an attribute has a rail by its name."""
    return RAIL in attribute.rpartition("/")[2].lower()


def frame_words(gang: GangDrawing, number: int) -> str:
    """Return what a gang is, as short as a frame on the canvas needs it: `2 × 16 pods in one rack`."""
    several = f"{number:,} × " if number > 1 else ""
    where = f" in one {level_word(gang.level)}" if gang.level else ""
    return f"{several}{counted(gang.size, 'pod')}{where}"


def level_word(level: str) -> str:
    """Return what people call a level: the node for a host, else its name or the last part of its key."""
    return "node" if level == HOST else level.rpartition("/")[2]


def domain_name(domain: Sequence[str]) -> str:
    """Return the value of a domain of its own, a UUID in it cut; the whole cluster has the name `the cluster`."""
    return _UUID.sub(_CUT, domain[-1]) if domain else "the cluster"


def more_words(headroom: Headroom) -> str:
    """Return how many more pods fit, with its proof: `2 more, proven`."""
    return f"{headroom.count} more{', proven' if headroom.proven else ''}"


def more_number(headroom: Headroom) -> str:
    """Return how many more pods fit, as short as a table needs it: `2`, `2–4` if it is not proven, `≥ 2`."""
    count = headroom.count
    if count.exact:
        return f"{count.value:,}"
    return f"≥ {count.value:,}" if count.bound is None else f"{count.value:,}–{count.bound:,}"


def stranded_words(lost: Stranded) -> tuple[tuple[str, str], ...]:
    """Return for each kind of devices that is requested the number that is stranded, and what is proven of it."""
    found = []
    where = ", on the nodes examined" if lost.not_examined else ""
    for kind in lost.kinds:
        name = _ONE.get(kind.kind, kind.kind) if kind.stranded == 1 else KINDS.get(kind.kind, kind.kind)
        proof = "stranded, proven" if kind.proven else f"stranded at most, {kind.least:,} for certain"
        found.append((f"{kind.stranded:,} {name}", proof + where))
    return tuple(found)


def headroom_words(headroom: Fit) -> str:
    """Return how many pods of one gang a domain holds: `14 of 16`."""
    return str(replace(headroom, reasons=()))


def lacking_words(headroom: Fit) -> list[str]:
    """Return what keeps pods away from a domain, one reason for the same nodes: `GPUs and NICs in use on n1`.

    A list of nodes that is cut may have others behind, so it stays a reason of its own.
    """
    found: dict[str, list[str]] = {}
    for reason in headroom.reasons:
        kind, _, nodes = reason.partition(_IN_USE)
        named = bool(nodes) and not nodes.endswith(" more")
        found.setdefault(f"{_IN_USE}{nodes}" if named else "", []).append(kind if named else reason)
    cut = found.pop("", [])
    return [*(f"{' and '.join(kinds)}{nodes}" for nodes, kinds in found.items()), *cut]


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
        f"{counted(one.count, 'more node')} like {one.type} "
        + (f"in {'/'.join(one.domain)}" if one.domain else "anywhere")
        for one in found.added[:_REASONS]
    ]
    left = sum(one.count for one in found.added[_REASONS:])
    rows += [f"{left:,} more elsewhere"] if left else []
    proof = "fewer do not suffice, proven" if found.proven else "fewer may suffice"
    gangs = sum(gang.replicas for gang in found.wanted)
    what = "It fits" if gangs == 1 and not found.workloads else "All of it fits"
    return printable(f"{what} with {', '.join(rows)}, if there are places for them; {proof}.")


def levels_words(now: Headroom, after: Headroom, gang: Workload) -> str:
    """Return how many gangs fit after the plan, and how many in all with each level: what the level costs."""
    levels = sorted(now.levels.items(), key=lambda row: row[0] != gang.level)
    words = ", ".join(f"{number} with {name or 'no level'}" for name, number in levels)
    more = "1 more gang fits" if after.count == Bounded(1, 1) else f"{after.count} more gangs fit"
    return f"After this plan, {more}. In all: {words}."


def choice_sentence(choice: GangChoice, gang: Workload | None = None, *, counted: bool = True) -> str:
    """Return what a scheduler does with a gang and why, how many of several start, and where the claims do not fit.

    If what the pods request of a node is not `counted`, the scheduler only may do what it does in the replay.
    """
    replay, waiting = choice.replay, choice.trapped
    verdict = replay.verdict if counted else GangVerdict.MAYBE
    if not counted and replay.verdict is GangVerdict.NO:
        waiting = waiting or tuple(row.domain for row in replay.domains if row.most < row.wanted)
    parts = [] if waiting and not counted else [_replayed(replay, verdict)]
    if choice.started is not None and gang is not None and gang.replicas > 1:
        parts.append(f"It starts {Bounded(*choice.started)} of {gang.replicas:,} gangs.")
    if waiting:
        who, end = ("It", "") if parts else (replay.scheduler, " The pods would wait there.")
        named = _shortened(", ".join(waiting[:_NAMED]))
        more = f" or {len(waiting) - _NAMED:,} more" if len(waiting) > _NAMED else ""
        parts.append(f"{who} may choose {named}{more}, where the claims do not fit.{end}")
    return printable(" ".join(parts))


def _replayed(replay: GangReplay, verdict: GangVerdict) -> str:
    text = _shortened(replay.sentence)
    if text.startswith("it finds a place"):
        return sentence(f"{replay.scheduler} {text.removeprefix('it ')}")
    does = {"yes": "finds a place", "maybe": "may find a place", "no": "does not start it"}[verdict.value]
    return sentence(f"{replay.scheduler} {does}: {text}")


def _shortened(text: str) -> str:
    return _UUID.sub(_CUT, text)


def replay_parts(replay: GangReplay) -> Iterator[Part]:
    """Yield whether a scheduler finds a place for a gang, then the domains that it tries or chooses."""
    yield Sentence(printable(_replayed(replay, replay.verdict)))
    yield replay_table(replay)


def replay_table(replay: GangReplay) -> Table:
    """Return how many pods get their devices in each domain that a scheduler tries or chooses."""
    rows = [(row.domain, str(counted_to(row.least, row.most)), row.wanted) for row in replay.domains[:MOST]]
    more = len(replay.domains) - len(rows)
    notes = [f"{more:,} more are not listed."] if more else []
    return Table(("domain", "pods with devices", "pods wanted"), rows, notes=notes)


_NAMES = {QUOTA: "quota", COUNTS: "Kueue's counts", DEVICES: "devices"}


def verdict_sentence(found: GangVerdicts) -> str:
    """Return the answer in one or two sentences."""
    stops = [row for row in found.rows if row.says in STOPS]
    unknown = [_NAMES[row.question] for row in found.rows if row.says is Says.UNKNOWN]
    if len(stops) > 1:
        names = " and ".join(_NAMES[row.question] for row in stops)
        return printable(f"{names[:1].upper()}{names[1:]} stop {found.gang}.")
    if stops:
        [row] = stops
        name = _NAMES[row.question]
        heads = {
            Says.WAITS: f"{found.gang} waits for {name}.",
            Says.INADMISSIBLE: f"Kueue refuses {found.gang}.",
        }
        stop = f"{name[:1].upper()}{name[1:]} {'stops' if name == QUOTA else 'stop'} {found.gang}."
        return printable(f"{heads.get(row.says, stop)} {row.sentence}")
    if found.advice:
        return printable(f"{found.gang} has devices, but Kueue may choose another domain. {found.advice}")
    if unknown:
        return printable(f"Nothing that is known stops {found.gang}. Not known: {', '.join(unknown)}.")
    caution = "Kueue chooses nodes without counting devices, so pin the planned domain."
    return printable(f"Neither quota nor devices stop {found.gang} now. {caution}")


def verdict_parts(found: GangVerdicts) -> Iterator[Part]:
    """Yield the answer, the three questions, the amounts of the quota, and the domains."""
    yield Sentence(verdict_sentence(found))
    if found.advice and any(row.says in STOPS for row in found.rows):
        yield Words(printable(found.advice))
    yield questions_table(found)
    if found.quota.amounts:
        heads = ("resource", "flavor", "needed", "may use now", "of it borrowed", "at most", "own quota", "in use")
        local = f", LocalQueue {found.quota.queue}" if found.quota.queue not in ("", found.quota.cluster_queue) else ""
        title = f"Quota of ClusterQueue {found.quota.cluster_queue}{local}"
        rows = [
            (one.resource, one.flavor, *(amount_words(one.resource, amount) for amount in amounts))
            for one in found.quota.amounts
            for amounts in [(one.wanted, one.available, one.borrowable, one.most, one.nominal, one.used)]
        ]
        yield Table(heads, rows, printable(title))
    yield _domains(found)
    notes = dict.fromkeys(note for row in found.rows for note in row.notes)
    yield Lines("Assumed, or not known", [printable(note) for note in notes])


def questions_table(found: GangVerdicts) -> Table:
    """Return what stops a gang in Kueue: a row for each question, with its answer and reason."""
    return Table(("question", "answer", "reason"), [(row.question, row.says.value, row.sentence) for row in found.rows])


def _domains(found: GangVerdicts) -> Table:
    order = sorted(found.domains, key=lambda one: (-(one.devices or 0), -(one.counted or 0)))
    rows = []
    for one in order[:MOST]:
        chosen = " (Kueue's choice)" if one.domain == found.chosen else ""
        devices = one.devices if one.devices == one.bound else f"{one.devices} to {one.bound}"
        rows.append((f"{'/'.join(one.domain)}{chosen}", one.counted, devices, "; ".join(one.lacking)))
    more = [f"{len(order) - MOST:,} more domains have fewer."] if len(order) > MOST else []
    pods = found.domains[0].wanted if found.domains else 0
    heads = ("domain", "pods by Kueue's counts", "pods by devices", "lacks")
    return Table(heads, rows, f"Pods of {pods:,} that each domain has", more)

"""Workloads in the words of the screen: what pods and gangs ask for, what more fits, what a scheduler does."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from dra_lab.model.gang_verdicts import COUNTS, DEVICES, QUOTA
from dra_lab.model.headroom import Fit, Headroom, Stranded
from dra_lab.model.sketch import ClaimSketch, GangDrawing, PodDrawing, asks
from dra_lab.model.workload import HOST
from dra_lab.topology.hierarchy_findings import plural
from dra_lab.words.document import printable
from dra_lab.words.facts import KINDS, counted, sentence

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
    parts = [f"{_pods_words(pod)} ({claim_words(pod.claims)})" for pod in pods]
    if not parts:
        return "Nothing is asked for yet."
    head, last = parts[:-1], parts[-1]
    return printable(f"You ask for {', '.join(head)}{' and ' if head else ''}{last}.")


def _pods_words(pod: PodDrawing) -> str:
    if pod.gang is None:
        return f"{pod.replicas:,} × {pod.pod}"
    return f"{pod.pod}, {gang_words(pod.gang, pod.replicas)}"


def gang_words(gang: GangDrawing, number: int) -> str:
    """Return what a gang is: `2 gangs of 16 pods, each in one rack`."""
    least = f" (at least {gang.min:,})" if gang.min is not None and gang.min < gang.size else ""
    where = f"in one {level_word(gang.level)}" if gang.level else ""
    prefer = f"in as few {plural(level_word(gang.prefer_level))} as possible" if gang.prefer_level else ""
    each = ", " + ("all " if number == 1 else "each ") if where or prefer else ""
    places = ", ".join(filter(None, (where, prefer)))
    return f"{counted(number, 'gang')} of {counted(gang.size, 'pod')}{least}{each}{places}"


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


def scheduler_words(scheduler: str, verdict: str, text: str) -> str:
    """Return what a scheduler does with a gang: `Kueue 0.19 does not start it: ...`."""
    if text.startswith("it finds a place"):
        return printable(sentence(f"{scheduler} {_UUID.sub(_CUT, text.removeprefix('it '))}"))
    does = {"yes": "finds a place", "maybe": "may find a place", "no": "does not start it"}[verdict]
    return printable(sentence(f"{scheduler} {does}: {_UUID.sub(_CUT, text)}"))


def trapped_words(scheduler: str, domains: Sequence[str]) -> str:
    """Return that a scheduler may choose domains where claims do not fit: `Kueue 0.19 may choose r5, where ...`."""
    named = ", ".join(_UUID.sub(_CUT, name.rpartition("/")[2]) for name in domains[:_NAMED])
    more = f" or {len(domains) - _NAMED:,} more" if len(domains) > _NAMED else ""
    return printable(f"{scheduler} may choose {named}{more}, where the claims do not fit. The pods would wait there.")


def quota_words(text: str) -> str:
    """Return what the quota of Kueue says of a gang that it stops."""
    return printable(f"Quota stops it: {text}")

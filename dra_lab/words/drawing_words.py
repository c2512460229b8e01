"""The drawing read back in plain words: what is asked for, how the devices are connected."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from dra_lab.model.cluster import Cluster
from dra_lab.model.memo import once_per_hardware
from dra_lab.model.names import part_of, split_request
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask, ClaimSketch, How, Link, asks, claims_of, covers
from dra_lab.sketch.links import LEVEL_WORDS, listed
from dra_lab.words.document import clean

MOST_SELECTORS = 2
"""Selectors of a request that are named; more are counted."""

_COUNTS = {2: "two", 3: "three", 4: "four"}
_KIND_NOUNS = {"gpu": "GPU", "nic": "NIC", "cpu": "CPU", "memory": "memory device"}
_EQUALS = re.compile(r"""device\.(?:attributes|capacity)\["[^"]+"\]\.(\w+)\s*==\s*("[^"]*"|[\w.]+)\Z""")
_GUARD = re.compile(r"""has\(device\.[^()]*\)\s*&&\s*""")


class Noun(Struct, frozen=True):
    """What a request asks for: the full name of one (`RDMA NIC`), and the name of its kind (`NIC`).

    `amount` says that the number is a capacity of one device.
    """

    full: str
    short: str
    amount: bool = False

    def many(self, count: int) -> str:
        """Return `2 RDMA NICs`."""
        return f"{count:,} {self.full if count == 1 else plural(self.full)}"


def plural(noun: str) -> str:
    """Return a noun for several: `NICs`, `shares of a GPU`, `devices of class x`, `GPUs with model = "A100"`."""
    head = re.split(r" of | with | that ", noun, maxsplit=1)[0]
    rest = noun[len(head) :].replace(" that matches ", " that match ", 1)
    return f"{head}{'es' if head.endswith('s') else 's'}{rest}"


def request_sentence(sketch: ClaimSketch, cluster: Cluster | None = None, pods: int = 1) -> str:
    """Return the drawing in plain words: `You ask for 2 GPUs, each with its own NIC on the same PCIe root`.

    "" for an empty drawing. With several `pods` it says what each of them asks for. Text from the cluster may be in it:
    escape it where it is shown.
    """
    parts = [(claim.name, *_request_words(claim, cluster)) for claim in claims_of(sketch)]
    if not any(words for _, words, _ in parts):
        return ""
    if not sketch.claims:
        who = "You ask for" if pods == 1 else f"Each of {pods:,} pods asks for"
        return clean(" ".join((f"{who} {parts[0][1]}.", *parts[0][2])))
    count = _COUNTS.get(len(parts), str(len(parts)))
    words = (" ".join((f"{name}: {claim_words or 'nothing yet'}.", *rest)) for name, claim_words, rest in parts)
    who = "The pod has" if pods == 1 else f"Each of {pods:,} pods has"
    return clean(" ".join((f"{who} {count} claims.", *words)))


def _request_words(sketch: ClaimSketch, cluster: Cluster | None) -> tuple[str, tuple[str, ...]]:
    if not sketch.requests:
        return "", ()
    names = nouns(sketch, cluster)
    pair = _own_partner(sketch)
    first = next((link for link in sketch.links if link is pair), None)
    parts, done = [], set[str]()
    for request in sketch.requests:
        if request.name in done:
            continue
        words = ", or else ".join(_way(ask, names[ask.reference]) for ask in asks(request))
        if first is not None and request.name == first.requests[0]:
            other = first.requests[1]
            done.add(other)
            partner = names[other].full
            each = ", each with" if asks(request)[0].count > 1 else " with"
            if first.must:
                words += f"{each} its own {partner} on the same {_place(first)}"
            else:
                words += f"{each} its own {partner}, if possible on the same {_place(first)}"
        parts.append(words)
    rest = tuple(_link(link, sketch, names) for link in sketch.links if link is not first)
    joined = f"{'; '.join(parts[:-1])}; and {parts[-1]}" if first is not None and len(parts) > 1 else listed(parts)
    return joined, rest


def nouns(
    sketch: ClaimSketch, cluster: Cluster | None = None, release: KubernetesRelease | None = None
) -> dict[str, Noun]:
    """Return what every request and alternative asks for, by its reference; without a cluster by its class."""
    found = {}
    for request in sketch.requests:
        ways = asks(request)
        own = [_noun(ask, cluster, release) for ask in ways]
        found[request.name] = own[0] if len(set(own)) == 1 else Noun(own[0].short, own[0].short)
        found |= {ask.reference: noun for ask, noun in zip(ways, own, strict=True)}
    return found


def _noun(ask: Ask, cluster: Cluster | None, release: KubernetesRelease | None) -> Noun:
    known = _entries(cluster, cluster.target_release(release)) if cluster is not None else {}
    wanted = _plain(ask.selectors)
    own = [entry for entry in known.get(ask.device_class_name, ()) if entry.selectors == wanted]
    # an amount of something is offered beside whole devices
    entry = next((e for e in own if (e.capacity_key in ask.capacity) is bool(ask.capacity)), own[0] if own else None)
    selected = "" if entry is not None else _selected(ask.selectors)
    if entry is None:
        entry = next((e for e in known.get(ask.device_class_name, ()) if not e.selectors), None)
    if entry is None:
        kinds = {e.kind for e in known.get(ask.device_class_name, ())}
        kind = _KIND_NOUNS.get(kinds.pop(), "device") if len(kinds) == 1 else "device"
        short = kind if kind != "device" else f"{part_of(ask.request)[1]} device"
        return Noun(f"{kind} of class {ask.device_class_name}{selected}", short)
    name = re.sub(r"\s*\(.*\)$", "", entry.label).removeprefix("any ").removeprefix("NVIDIA ")
    if selected and entry.kind in ("gpu", "nic"):  # the selectors may exclude the model of the label
        name = _KIND_NOUNS[entry.kind]
    if entry.kind == "cpu" and entry.capacity_key and not ask.capacity:
        return Noun(f"CPU device{selected}", "CPU device")  # one device has many CPUs
    if entry.kind == "gpu" and not re.search(r"GPU|partition", name):
        name += " GPU"
    elif "." in name and " " not in name:  # the name of a driver
        name += " device"
    return Noun(
        name + selected, _KIND_NOUNS.get(entry.kind, name), amount=entry.kind == "cpu" and bool(entry.capacity_key)
    )


class _Entry(Struct, frozen=True):
    """What the palette offers of a class."""

    selectors: frozenset[str]
    label: str
    kind: str
    capacity_key: str


@once_per_hardware
def _entries(cluster: Cluster, release: KubernetesRelease) -> dict[str, list[_Entry]]:
    from dra_lab.sketch.palette import palette

    found: dict[str, list[_Entry]] = {}
    for entry in sorted(palette(cluster, release), key=lambda entry: bool(entry.capacity_key)):
        kind = "other" if entry.guessed else entry.kind  # a sentence names no kind that may be wrong
        row = _Entry(_plain(entry.selectors), entry.label, kind, entry.capacity_key)
        found.setdefault(entry.device_class, []).append(row)
    return found


def _plain(selectors: Sequence[str]) -> frozenset[str]:
    """Return selectors without the guards that keep them from failing."""
    return frozenset(_GUARD.sub("", text.strip()) for text in selectors)


def _selected(selectors: Sequence[str]) -> str:
    if not selectors:
        return ""
    found = [selector_words(text) for text in selectors]
    if "" in found or len(found) > MOST_SELECTORS:
        return f" that matches {len(selectors)} selector{'s' if len(selectors) > 1 else ''}"
    return f" with {listed(found)}"


def selector_words(text: str) -> str:
    """Return a simple selector in short, `rdma` or `model = "A100"`; "" for what is not simple."""
    found = _EQUALS.match(_GUARD.sub("", text.strip()))
    if found is None:
        return ""
    name, value = found.groups()
    return {"true": name, "false": f"no {name}"}.get(value, f"{name} = {value}")


def _way(ask: Ask, noun: Noun) -> str:
    words = f"all {plural(noun.full)} of a node" if ask.all_devices else noun.many(ask.count)
    if noun.amount and len(ask.capacity) == 1 and ask.count == 1:
        return noun.many(1).replace("1", str(next(iter(ask.capacity.values()))), 1) + "s"
    if ask.capacity:
        each = " each" if ask.count != 1 else ""
        amounts = [f"{amount} {key.rpartition('/')[2]}" for key, amount in ask.capacity.items()]
        words += f" with {listed(amounts)}{each}"
    return f"{words} (admin access)" if ask.admin_access else words


def _own_partner(sketch: ClaimSketch) -> Link | None:
    """Return the first link that gives each device of one request a device of another, if there is one."""
    for link in sketch.links:
        if link.how is not How.PAIRWISE or len(link.requests) != 2:
            continue
        ways = [asks(request) for end in link.requests for request in sketch.requests if request.name == end]
        whole = all(len(own) == 1 and own[0].count and not own[0].capacity for own in ways)
        if len(ways) == 2 and whole and ways[0][0].count == ways[1][0].count:
            return link
    return None


def _place(link: Link) -> str:
    return LEVEL_WORDS.get(link.where, f"value of {link.where}")


def _link(link: Link, sketch: ClaimSketch, names: dict[str, Noun]) -> str:
    """Return a link as a sentence about the kinds of its devices."""
    nouns_of = (names.get(end) or names[split_request(end)[0]] for end in link.requests)
    ends = tuple(dict.fromkeys(plural(noun.short) for noun in nouns_of))
    may = "" if link.must else "If possible, "
    if link.how is How.PAIRWISE:
        every = [ask for request in sketch.requests for ask in asks(request)]
        counts = {end: next((ask.count for ask in every if covers(end, ask)), 1) for end in link.requests}
        least = min(counts.values()) or 1
        per_group = [(names[end].short, count // least) for end, count in counts.items()]
        groups = [f"{n} {short if n == 1 else plural(short)}" for short, n in per_group]
        text = f"every group of {listed(groups)} shares a {_place(link)}"
    elif link.how is How.APART:
        text = f"no two of the {listed(ends)} share a {_place(link)}"
    else:
        text = f"all {listed(ends)} share one {_place(link)}"
    words = f"{may}{text}."
    return words[0].upper() + words[1:]

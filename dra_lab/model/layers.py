"""Layers: reversible changes over a snapshot, each with its text form and its words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from msgspec import Struct

from dra_lab.errors import InputError, did_you_mean
from dra_lab.model.device import Value
from dra_lab.model.quantity import whole_number
from dra_lab.model.release import KubernetesRelease

MOST_ADDED = 10_000
"""Most nodes that one layer adds."""


class Layer(Value, frozen=True):
    """One change: `change` is a name of LAYER_KINDS, `subject` the node, device or release, `count` the nodes to add.

    New nodes are in the domains of the node `beside`; "": in those of `subject`. With a `level` of a `hierarchy`, they
    are in a new domain of it, next to that of `beside`.
    """

    change: str
    subject: str = ""
    count: int = 0
    beside: str = ""
    hierarchy: str = ""
    level: str = ""

    def __str__(self) -> str:
        """Return the text form, which is an option of the command line: `--add 4=node-1`, `--drain node-1`."""
        value = f"{self.count}={self.subject}" if self.count else self.subject
        value += f"@{self.beside}" if self.beside else ""
        value += f"/{self.hierarchy}/{self.level}" if self.level else ""
        return f"--{self.change} {value}".rstrip()

    @property
    def words(self) -> str:
        """Return what it changes, in a few words."""
        if self.change not in LAYER_KINDS:
            return self.change
        if self.change == "moved":
            pod, devices = moved_devices(self)
            return f"Move {pod} to {devices[0][1].split('/')[1]}"
        words = LAYER_KINDS[self.change].words.format(self.subject, f"{self.count:,}", "" if self.count == 1 else "s")
        if self.level:
            return f"{words} in a new {self.level.rpartition('/')[2]} next to that of {self.beside}"
        return f"{words} next to {self.beside}" if self.beside else words


class LayerSpan(Struct, frozen=True):
    """Layers that a person sees as one change: what they do, the position of the first, and how many they are."""

    words: str
    first: int
    count: int


def spans(layers: Sequence[Layer]) -> Iterator[LayerSpan]:
    """Yield the changes that a person sees: moves of pods that follow each other are one, as only all make room."""
    first = 0
    for change, group in groupby(layers, key=lambda layer: layer.change):
        own = list(group)
        words = [layer.words for layer in own]
        if change == "moved":
            yield LayerSpan(", ".join(words) if len(own) <= 2 else f"Move {len(own)} pods", first, len(own))
        else:
            yield from (LayerSpan(one, first + at, 1) for at, one in enumerate(words))
        first += len(own)


class AddableNode(Value, frozen=True):
    """Nodes that a person can add: copies of `node`, which cost `cost` each.

    Each existing domain has places for `places` of them; a mapping has them by domain, and None is no limit.
    """

    node: str
    cost: float = 1.0
    places: dict[str, int] | int | None = None


class Addable(Value, frozen=True):
    """What a person can add to a cluster: node types, and domains of one level of one hierarchy.

    `domains` new ones may be made, with places for `nodes` each.
    """

    types: tuple[AddableNode, ...] = ()
    hierarchy: str = ""
    level: str = ""
    domains: int = 0
    nodes: int = 0


class LayerKind(Struct, frozen=True):
    """One kind of change.

    `words` say it with {0} for the subject, {1} for the number and {2} for the plural "s"; `value` is the form of its
    value in text, "" if it has none.
    """

    words: str
    value: str = ""


def read_layer(change: str, value: str = "") -> Layer:
    """Return the layer of a kind and the value of its text form; the names in it are not looked up.

    Raises InputError, with the form that is expected, for another kind or value.
    """
    kind = _kind(change)
    if not kind.value:
        if value:
            raise InputError(f"--{change} has no value, not {value!r}")
        return Layer(change=change)
    if change != "add":
        if not value:
            raise InputError(f"--{change} needs {kind.value}")
        return Layer(change=change, subject=value)
    number, equals, place = value.partition("=")
    like, _, place = place.partition("@")
    beside, _, domain = place.partition("/")
    hierarchy, _, level = domain.partition("/")
    count = whole_number(number)
    if not equals or not like or count is None:
        raise InputError(f"--add {value!r}: write {kind.value}, for example 4=node-1")
    layer = Layer(change=change, subject=like, count=count, beside=beside, hierarchy=hierarchy, level=level)
    check_layer(layer)
    return layer


def check_layer(layer: Layer) -> None:
    """Raise InputError if a layer is wrong whatever the cluster is: an unknown kind, release, or number of nodes."""
    kind = _kind(layer.change)
    if bool(kind.value) != bool(layer.subject):
        raise InputError(f"change {layer.change!r}: " + (f"needs {kind.value}" if kind.value else "has no subject"))
    if layer.change == "add":
        if not 1 <= layer.count <= MOST_ADDED:
            raise InputError(f"{layer.count:,} more nodes: give 1 to {MOST_ADDED:,}")
        if bool(layer.hierarchy) != bool(layer.level) or (layer.level and not layer.beside):
            raise InputError("nodes in a new domain need its hierarchy, its level, and a node next to it")
    elif layer.count or layer.beside or layer.level or layer.hierarchy:
        raise InputError(f"change {layer.change!r} has no count and no place")
    if layer.change == "release":
        KubernetesRelease(layer.subject)
    if layer.change == "moved":
        moved_devices(layer)


def moved_devices(layer: Layer) -> tuple[str, list[tuple[str, str]]]:
    """Return the pod that a layer moves, and the request and device of each of its new devices.

    Raises InputError for another form.
    """
    pod, _, text = layer.subject.partition("=")
    pairs = [one.partition(":") for one in text.split(",")]
    if not pod or not all(request and device.count("/") >= 2 for request, _, device in pairs):
        raise InputError(f"--moved {layer.subject!r}: write {LAYER_KINDS['moved'].value}")
    return pod, [(request, device) for request, _, device in pairs]


def layered_release(layers: Sequence[Layer]) -> str:
    """Return the release of the last layer that changes it, "" if none does."""
    return next((layer.subject for layer in reversed(layers) if layer.change == "release"), "")


def _kind(change: str) -> LayerKind:
    if change not in LAYER_KINDS:
        advice = did_you_mean(change, LAYER_KINDS) or f"; changes: {', '.join(LAYER_KINDS)}"
        raise InputError(f"there is no change {change!r}{advice}")
    return LAYER_KINDS[change]


LAYER_KINDS: Mapping[str, LayerKind] = {
    "add": LayerKind("Add {1} node{2} like {0}", "N=NODE"),
    "drain": LayerKind("Drain {0}", "NODE"),
    "uncordon": LayerKind("Uncordon {0}", "NODE"),
    "without": LayerKind("Remove {0}", "DRIVER/POOL/DEVICE"),
    "taint": LayerKind("Taint {0}", "DRIVER/POOL/DEVICE"),
    "moved": LayerKind("Move {0}", "NAMESPACE/POD=REQUEST:DRIVER/POOL/DEVICE,..."),
    "idle": LayerKind("Nothing in use"),
    "publish-numa": LayerKind("Next driver publishes NUMA"),
    "release": LayerKind("Kubernetes {0}", "RELEASE"),
}
"""Every kind of change, by the name of its option."""

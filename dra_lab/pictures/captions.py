"""The words on a picture: headings of places, short names of devices, and how much room they take."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from dra_lab.model.driver_profile import kind_words
from dra_lab.topology.node_tree import UNKNOWN, Branch
from dra_lab.topology.places import Locality
from dra_lab.words.document import clean
from dra_lab.words.facts import KINDS

KIND_NAMES = {"gpu": "GPU", "nic": "NIC", "cpu": "CPU", "memory": "memory", "other": "device"}
_LEVEL_NAMES = {"socket": "socket", "numaNode": "NUMA node", "pcieRoot": "PCIe root", "switch": "PCIe switch"}
PLACED = {"slices": "a GPU in partitions", "counters": "a device in partitions"}
"""The boxes of partitioned devices, which are no places of the tree, and what each is."""

_NARROW = frozenset("fijlrtI.,:;|'!()[]-/ ")
_WIDE = frozenset("mwMW@%—…")


@lru_cache(maxsize=4096)
def text_width(text: str, size: float) -> float:
    """Return about how wide a text is in a system sans-serif font of `size` pixels, rather too wide than too narrow."""
    return size * sum(_sign_width(sign) for sign in text)


def _sign_width(sign: str) -> float:
    if sign in _NARROW:
        return 0.37
    if sign in _WIDE or unicodedata.east_asian_width(sign) in ("W", "F"):
        return 1.0
    return 0.72 if sign.isupper() else 0.61


_BREAKS = re.compile(r"(?<=[-_./:+])(?=.)|(?<= )")


def wrap(text: str, size: float, width: float) -> tuple[str, ...]:
    """Return a text in lines that fit a width: broken at spaces, else after signs such as "-", else between letters."""
    lines: list[str] = []
    line = ""
    for piece in (part for word in _BREAKS.split(text) for part in _pieces(word, size, width)):
        if line and text_width((line + piece).rstrip(), size) > width:
            lines.append(line.rstrip())
            line = piece
        else:
            line += piece
    return (*lines, line.rstrip())


def _pieces(word: str, size: float, width: float) -> list[str]:
    """Return a word whole, or in pieces if it alone is too wide."""
    pieces = [""]
    for sign in word:
        if pieces[-1] and text_width((pieces[-1] + sign).rstrip(), size) > width:
            pieces.append("")
        pieces[-1] += sign
    return pieces


def heading(branch: Branch) -> tuple[str, str]:
    """Return what to write over a place: its name, and the source of a derived place, or ""."""
    value = clean(str(branch.value))
    if branch.level == UNKNOWN:
        return "Location unknown", ""
    if branch.level == "node" or branch.level in PLACED:
        return value, ""
    return f"{_LEVEL_NAMES[branch.level]} {value}", _source(branch) if branch.level == "numaNode" else ""


def _source(branch: Branch) -> str:
    """Say in a few words where a place is derived from and who publishes none; "" where all publish it."""
    published: list[tuple[str, bool]] = []
    derived: list[tuple[str, bool]] = []
    sources: list[str] = []
    for locality in branch.all_devices() if branch.level in _LEVEL_NAMES else ():
        place = locality.place(branch.level)
        if place is None:
            continue
        (derived if place.derived else published).append((locality.kind, locality.guessed))
        if place.derived:
            # "from the NICs on the same PCIe root (...)", "file: FILE:LINE", or "derived: " and a fact
            inferred = f"inferred {place.source.split(' on the same', 1)[0]}" if " on the same" in place.source else ""
            sources.append("from a topology file" if place.source.startswith("file: ") else inferred or "inferred")
    if not derived:
        return ""
    reporters = " and ".join(dict.fromkeys(sources))
    without = [kind for kind in dict.fromkeys(derived) if kind not in published]
    return f"{reporters} (the {_kinds(without)} report none)" if without else f"partly {reporters}"


def _kinds(kinds: Iterable[tuple[str, bool]]) -> str:
    order = list(KINDS)
    known = sorted(set(kinds), key=lambda kind: (order.index(kind[0]), kind[1]))
    return " and ".join(kind_words(KINDS[kind], guessed=guessed) for kind, guessed in known)


def place_words(branch: Branch) -> str:
    """Return a place in full words for tooltips and screen readers."""
    if branch.level == UNKNOWN:
        return "Location unknown: the driver does not say where these devices sit"
    name = heading(branch)[0]
    if branch.level in PLACED:
        return f"{name}, {PLACED[branch.level]}"
    source = _source(branch)
    return f"{name}, {source}" if source else name


def device_words(locality: Locality) -> str:
    """Return kind, name and model of a device: `GPU gpu-0, NVIDIA A100`."""
    return clean(f"{kind_name(locality)} {locality.name}, {locality.label}")


def kind_name(locality: Locality) -> str:
    """Return the word for a device's kind: `GPU`, or `GPU (guessed)`."""
    return kind_words(KIND_NAMES[locality.kind], guessed=locality.guessed)


def locality_words(locality: Locality) -> str:
    """Return where a device sits, with the source of each place: `NUMA node 0 (dra.net/numaNode), PCIe root ...`."""
    parts = []
    for level, name in _LEVEL_NAMES.items():
        if (place := locality.place(level)) is not None:
            derived = "derived " if place.derived and not place.source.startswith("derived") else ""
            parts.append(f"{name} {place.value} ({derived}{place.source})")
    if locality.address:
        parts.append(f"address {locality.address}")
    return clean(", ".join(parts)) if locality.known else "location unknown"

"""The slice map of a partitioned GPU: rows of profiles over columns of memory slices, its compute slices below."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from dra_lab.model.names import DeviceID
from dra_lab.pictures.boxes import LINE, PAD, SIZE, SLICES, BoxWords, Frame, Mark
from dra_lab.pictures.captions import text_width, wrap
from dra_lab.pictures.partitions import Card, Part, profile_name
from dra_lab.topology.locality import Locality
from dra_lab.topology.node_tree import Branch

_ROW = 24.0
_CELL = 26.0

Parts = Mapping[DeviceID, Part]


def narrowest_map(card: Card, devices: Sequence[Locality]) -> float:
    """Return how narrow the slice map of a card may be: every slice is wide enough to hit."""
    return 2 * PAD + _label_width(devices) + max(card.slices, card.compute) * _CELL


def slice_map(card: Card, devices: Sequence[Locality], parts: Parts, width: float) -> Frame:
    """Return the box of a card at the origin, with its partitions as marks of the shape "slice"."""
    branch = Branch(SLICES, card.name, devices=tuple(devices))
    inner = width - 2 * PAD
    lines, source = _heading(card, devices, inner)
    top = 5 + LINE * (len(lines) + len(source))
    left = PAD + _label_width(devices)
    cell = (width - PAD - left) / card.slices
    words = [BoxWords("memory", PAD, top + 13)]
    words += [BoxWords(str(at), left + (at + 0.5) * cell, top + 13, middle=True) for at in range(card.slices)]
    y = top + LINE + 3
    marks = []
    for name, row in _profile_rows(devices, parts):
        words.append(BoxWords(name, PAD, y + _ROW / 2 + 4.5))
        for locality in row:
            part = parts[locality.device]
            place = (left + part.first * cell + 1, y, part.count * cell - 2, _ROW)
            marks.append(Mark((locality,), "slice", *place, (name,), part))
        y += _ROW + 3
    cells = []
    if card.compute:
        words.append(BoxWords("compute", PAD, y + 15))
        step = cell if card.compute <= card.slices else (width - PAD - left) / card.compute
        cells = [(left + at * step + 1, y, step - 2) for at in range(card.compute)]
        y += 24
    return Frame(branch, 0.0, 0.0, width, y + 4, lines, source, (), tuple(marks), tuple(words), tuple(cells), card=card)


def _profile_rows(devices: Sequence[Locality], parts: Parts) -> list[tuple[str, list[Locality]]]:
    """Return the rows: partitions of one name that do not overlap, large ones first."""
    by_name: dict[str, list[list[Locality]]] = defaultdict(list)
    sizes: dict[str, tuple[int, int]] = {}
    for locality in sorted(devices, key=lambda one: parts[one.device].first):
        part, name = parts[locality.device], profile_name(locality)
        sizes[name] = max(sizes.get(name, (0, 0)), (part.count, part.compute))
        row = next((row for row in by_name[name] if _ends_before(parts[row[-1].device], part)), None)
        if row is None:
            by_name[name].append([locality])
        else:
            row.append(locality)
    names = sorted(by_name, key=lambda name: (-sizes[name][0], -sizes[name][1], name))
    return [(name, row) for name in names for row in by_name[name]]


def _ends_before(last: Part, part: Part) -> bool:
    return last.first + last.count <= part.first


def _label_width(devices: Sequence[Locality]) -> float:
    names = {profile_name(locality) for locality in devices} | {"compute", "memory"}
    return math.ceil(max(text_width(name, SIZE) for name in names)) + 6.0


def _heading(card: Card, devices: Sequence[Locality], space: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
    label = Counter(locality.label.partition(" MIG ")[0] for locality in devices).most_common(1)[0][0]
    facts = f"{card.compute} compute × {card.slices} memory slices" if card.compute else f"{card.slices} memory slices"
    if card.is_static:
        facts = f"fixed partitions, memory slices 0 to {card.slices - 1}"
    whole = f"{card.name} · {label} · {facts}"
    if text_width(whole, SIZE) <= space:
        return (whole,), ()
    return wrap(f"{card.name} · {label}", SIZE, space), wrap(facts, SIZE, space)

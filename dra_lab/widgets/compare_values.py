"""The values of Compare mode."""

from __future__ import annotations

from dra_lab.widgets.canvas_values import Row


class CompareCell(Row, frozen=True):
    """One value of the comparison, and whether it is the best of its row."""

    text: str
    best: bool = False


class CompareLine(Row, frozen=True):
    """One row of the comparison: a cell per plan; `meaning` says what it counts."""

    key: str
    label: str
    cells: tuple[CompareCell, ...]
    differs: bool = False
    meaning: str = ""


class ChipRow(Row, frozen=True):
    """A device of the small picture: its name, kind and state in a word; letter and colours if the plan takes it."""

    name: str
    kind: str
    state: str
    letter: str = ""
    colour: str = ""
    text_colour: str = ""


class PlaceRow(Row, frozen=True):
    """A PCIe root of the small picture, under its NUMA node, with its devices."""

    numa: str
    root: str
    chips: tuple[ChipRow, ...]


BarRow = tuple[str, int, int, int, int, int]
"""A kind of device, then in use, planned, free, stranded and not available."""


class ComparedPlan(Row, frozen=True):
    """A kept plan: a column. `drawn` says that it is the present drawing; `places` are a small picture of its node.

    `bars` are the devices of a fleet, `elsewhere` says that it was kept from another snapshot. `diff` are the lines of
    its manifest against that of the first plan, each with its sign, () for the first.
    """

    name: str
    sentence: str
    node: str = ""
    drawn: bool = False
    places: tuple[PlaceRow, ...] = ()
    bars: tuple[BarRow, ...] = ()
    elsewhere: bool = False
    diff: tuple[str, ...] = ()


class CompareRow(Row, frozen=True):
    """Compare mode; {} while another mode is shown. The table is ready to be copied in both forms.

    `every` are the names of all kept plans, of which `plans` are shown.
    """

    sentence: str
    stage: str = ""
    plans: tuple[ComparedPlan, ...] = ()
    lines: tuple[CompareLine, ...] = ()
    most: int = 4
    every: tuple[str, ...] = ()
    markdown: str = ""
    csv: str = ""

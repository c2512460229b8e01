"""The values of the node strip of `HardwareView`: nodes or types of nodes, and how they serve the drawing."""

from __future__ import annotations

from dra_lab.widgets.wire import Row


class HeatCell(Row, frozen=True):
    """A rack of a heat map: `grade` from 0 to 4 is its colour, `words` all of it, `id` what a click chooses.

    That is a node of the rack in Plan, and the row of the rack in Fleet.
    """

    rack: str
    grade: int
    words: str
    id: str = ""


class HeatMap(Row, frozen=True):
    """Racks by a value: `title` says what it counts, `grades` what each colour means, `source` what makes a rack."""

    title: str = ""
    source: str = ""
    grades: tuple[str, ...] = ()
    cells: tuple[HeatCell, ...] = ()

"""The values of `ClusterBar` and of the lists of findings, as rows that travel in synced traits."""

from __future__ import annotations

from dra_lab.widgets.canvas_values import Row


class SourceRow(Row, frozen=True):
    """A cluster that can be picked: `value` for `load_cluster`, its label, its heading, one line more.

    With `example` it is a drawing of the sample above it, which opens with that cluster.
    """

    value: str
    label: str
    group: str = ""
    detail: str = ""
    example: bool = False


class DrawableRow(Row, frozen=True):
    """A drawing that a file holds: what it is called, and what it comes from."""

    label: str
    detail: str = ""


class OfferRow(Row, frozen=True):
    """What the files that were given hold to be opened as a drawing, with a sentence about them; "" for no offer."""

    text: str = ""
    options: tuple[DrawableRow, ...] = ()


class FindingRow(Row, frozen=True):
    """One finding in words; `severity` is error, warning or note; `origin` is the place of the text, or "".

    `help` has the lines of the catalogue about its rule, () for a rule that this dra_lab does not have.
    """

    severity: str
    message: str
    subject: str = ""
    advice: str = ""
    origin: str = ""
    rule: str = ""
    help: tuple[str, ...] = ()


class CountsRow(Row, frozen=True):
    """How many findings there are of each severity; `checking` where a large cluster is still being looked at."""

    error: int = 0
    warning: int = 0
    note: int = 0
    checking: bool = False


class DetailRow(Row, frozen=True):
    """One line about the present cluster: what, and how much, when or who."""

    label: str
    value: str


class MeterRow(Row, frozen=True):
    """One kind of devices: how many are in use of how many; `text` says how many are free."""

    label: str
    text: str
    used: int
    total: int


class NodeUseRow(Row, frozen=True):
    """A node, or `nodes` of one hardware type, with the devices of one kind in use there; `text` says what is free."""

    node: str
    kind: str
    used: int
    total: int
    text: str
    nodes: int = 1


class FollowRow(Row, frozen=True):
    """Whether a running cluster is followed (off, connecting, live, lost, stopped), and why not; "" for others."""

    state: str = ""
    reason: str = ""


class ModeRow(Row, frozen=True):
    """One mode of the planner screen: its name and what the bar calls it."""

    name: str
    label: str


class AskRow(Row, frozen=True):
    """A question to the person and its answers as (id, label); without text there is no question."""

    text: str = ""
    options: tuple[tuple[str, str], ...] = ()

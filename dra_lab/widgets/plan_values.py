"""The values of `PlanView`: the answer and its figures, goals, reasons, suggestions, devices."""

from __future__ import annotations

from typing import Literal

from dra_lab.widgets.canvas_values import Row

Tone = Literal["plain", "ok", "warn", "error"]
State = Literal["fits", "misfit", "empty", "error", "stopped", "solving"]


class TileRow(Row, frozen=True):
    """One figure of the verdict: number and caption, and what explains it on a click."""

    value: str
    caption: str
    tone: Tone = "plain"
    title: str = ""
    lines: tuple[str, ...] = ()


class FixCard(Row, frozen=True):
    """A change that makes the claim fit: what to do, what it brings; `id` applies it."""

    title: str
    id: str
    brings: str = ""


class ProgressRow(Row, frozen=True):
    """How far a solve is: the stage, what to tell a person, and the best value so far in words."""

    text: str
    stage: str = ""
    best_text: str = ""


class AnswerRow(Row, frozen=True):
    """The verdict: the drawing read back, the answer, what kube-scheduler does, the figures, the changes that help.

    `stale` while they belong to what was drawn or loaded before; `differs` says that the picture can show a difference.

    `previous` says which of the two it was, `trouble` why the present drawing has no answer, such as a selector that is
    half written, `after` what goes on although the answer is there.
    """

    state: State = "empty"
    sentence: str = ""
    asked: str = ""
    scheduler: str = ""
    differs: bool = False
    tiles: tuple[TileRow, ...] = ()
    fixes: tuple[FixCard, ...] = ()
    tried: str = ""
    stale: bool = False
    progress: ProgressRow | None = None
    trouble: str = ""
    previous: Literal["drawing", "cluster"] = "drawing"
    after: str = ""


class GoalRow(Row, frozen=True):
    """One goal: best value with bound and proof; kube-scheduler with the manifest, and with counts and selectors only.

    `number` and `caption` are the best value in words, as in the verdict, `at_best` its bound in the same way, and
    `meaning` says what the goal counts. The two texts of kube-scheduler say what it ends with if it has no value.
    `better` is how much better the best is. `movable` is False for the goals that come first whatever a person prefers.
    """

    goal: str
    label: str
    best: int
    number: str = ""
    caption: str = ""
    at_best: str = ""
    meaning: str = ""
    bound: int | None = None
    proven: bool = False
    manifest: str = ""
    plain: str = ""
    better: str = ""
    movable: bool = True


class RegretRow(Row, frozen=True):
    """What the first fits cost in bandwidth, as sentences, and where the ranges come from."""

    lines: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


class FunnelRow(Row, frozen=True):
    """The devices left for one request after each test: a table, what its columns stand for, and rows not shown."""

    title: str
    columns: tuple[str, ...] = ()
    legend: tuple[tuple[str, str], ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    more: int = 0


class WhyRow(Row, frozen=True):
    """The details of the reasons: the causes, counts by test, and the changes tried without success or not tried."""

    lines: tuple[str, ...] = ()
    funnels: tuple[FunnelRow, ...] = ()
    tried: tuple[str, ...] = ()


class BarRow(Row, frozen=True):
    """One test: how many devices are left of how many, who uses the others, and whether that is too few."""

    label: str
    count: int
    of: int
    note: str = ""
    short: bool = False


class BarsRow(Row, frozen=True):
    """The tests of one request in their order."""

    title: str
    bars: tuple[BarRow, ...] = ()
    request: str = ""


class WhyNotRow(Row, frozen=True):
    """Why a node or a device does not serve the drawing; `title` is the question, `asked` if a person asked it."""

    title: str = ""
    asked: bool = False
    sentence: str = ""
    node: str = ""
    device: str = ""
    device_lines: tuple[str, ...] = ()
    requests: tuple[BarsRow, ...] = ()
    lines: tuple[str, ...] = ()


class OutgoingRow(Row, frozen=True):
    """One line about what is exported, and whether it is good news."""

    text: str
    tone: Tone = "ok"


class PinOffer(Row, frozen=True):
    """Whether the pins are written, what kube-scheduler allocates with them, and their price; "" for no pins."""

    text: str = ""
    on: bool = False
    tone: Tone = "ok"


class NodeRow(Row, frozen=True):
    """One node, or the first of `nodes` identical ones, and how it serves the drawing."""

    id: str
    label: str
    fit: str
    detail: str = ""
    nodes: int = 1


class ReasonRow(Row, frozen=True):
    """A reason why the drawing does not fit, and what to do about it."""

    rule: str
    message: str
    subject: str = ""
    advice: str = ""


class SuggestionRow(Row, frozen=True):
    """A change that would help; `id` applies it, "" where it can only be read."""

    title: str
    detail: str = ""
    source: str = ""
    id: str = ""


class BadgeRow(Row, frozen=True):
    """The letter of a request and its colours, as on the canvas and the picture."""

    letter: str
    colour: str
    text_colour: str


class DeviceTable(Row, frozen=True):
    """The table of devices: every row has an id (`driver/pool/device`) and a text for each column.

    `caption` says which devices they are; `total` counts those of the cluster.
    """

    columns: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    caption: str = ""
    total: int = 0

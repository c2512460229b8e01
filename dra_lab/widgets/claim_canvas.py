"""ClaimCanvas: the drawing of a claim. The browser says what the person did; Python decides what it means."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec
import traitlets
from msgspec.structs import replace

from dra_lab.checks.claim_validation import check_opaque
from dra_lab.errors import DraLabError, ManifestError, SketchError
from dra_lab.manifests.yaml_text import load_yaml
from dra_lab.model.claims import DeviceClaimConfiguration, OpaqueDeviceConfiguration
from dra_lab.model.decoding import from_builtins
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.sketch_rules import check_sketch
from dra_lab.session import Session
from dra_lab.session.fleet import SessionFleet
from dra_lab.session.history import History
from dra_lab.widgets.canvas_rows import CanvasStatus, PaletteRow, ProblemRow, palette_rows, problem_rows, status_rows
from dra_lab.widgets.gang_rows import GangRow, first_gang, gang_row, same_values_words
from dra_lab.widgets.session_view import STATIC, Highlight, Pane, Row, SessionView, Shown, calls, on, wire
from dra_lab.widgets.stored_output import drawing_parts
from dra_lab.words.document import Part
from dra_lab.words.workload_words import gang_words


class ConfigAnswer(Row, frozen=True):
    """What is wrong with the parameters that were typed last for the entry `index`; "" when they are drawn."""

    index: int = 0
    message: str = ""


class CanvasHistory(Row, frozen=True):
    """Which of the two undo buttons can be pressed."""

    can_undo: bool = False
    can_redo: bool = False


def read_sketch(value: object) -> ClaimSketch:
    """Return the sketch of a value from the browser or a cell. Raises SketchError saying where it is wrong."""
    if isinstance(value, ClaimSketch):
        sketch = value
    else:
        try:
            sketch = from_builtins(value, ClaimSketch)
        except msgspec.ValidationError as error:
            raise SketchError(f"the drawing is not a ClaimSketch: {error}") from error
    check_sketch(sketch)
    return sketch


class Drawing(Pane):
    """The session's drawing, and what is known of it."""

    palette: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[PaletteRow])
    status = traitlets.Dict().tag(sync=True, value=CanvasStatus)
    problems: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[ProblemRow])

    def _begin(self) -> None:
        self.when(self._show_sketch, "sketch")
        self.shows("layout", positions=_positions_of)
        self.shows("history", history=lambda session: _history_row(session.history))
        self.when(self._show_palette, "cluster")
        self.shows("status", "sketch", status=lambda session: status_rows(session, self.view.status))
        self.shows("plan", "sketch", problems=problem_rows)

    def _show_sketch(self) -> None:
        # The browser's own change comes back here: setting an equal sketch again would only send it twice.
        if self.session.sketch != self.view.drawn:
            self.assign(sketch=self.session.sketch)

    def _show_palette(self) -> None:
        if self.session.is_prepared:
            self.assign(palette=palette_rows(self.session.cluster))


FIRST_PODS = 4
"""Pods of a gang that is drawn first."""


class CanvasGang(Pane):
    """The part of a canvas about the gang of the drawn pod; `gang` is empty without one, and only Python writes it."""

    gang = traitlets.Dict().tag(sync=True, value=GangRow)

    def _begin(self) -> None:
        self.when(self._show_gang, "history", "cluster", "sketch", "fleet")

    def _show_gang(self) -> None:
        fleet = self.session.fleet
        drawn = fleet.drawn_gang
        if drawn is None:
            self.view.gang = {}
            return
        answer = fleet.answer if fleet.is_current else None
        # The fleet is asked after this; until then its answer may be to other workloads.
        if answer is not None and answer.question.pods != fleet.workloads:
            answer = None
        values = same_values_words(answer, fleet.editing)
        row = gang_row(self.session, fleet.workload(fleet.editing), drawn, None)
        self.assign(gang=replace(row, values=values))

    @on
    def make_gang(self) -> None:
        """Make the drawn pod one gang of all its pods in one domain of the innermost level."""
        session = self.session
        if session.fleet.drawn_gang is None:
            pods = session.fleet.workload(session.fleet.editing).replicas if session.fleet.editing else 1
            session.fleet.set_drawn_gang(first_gang(session.cluster, pods if pods > 1 else FIRST_PODS))

    set_gang = calls(SessionFleet.set_drawn_gang, "fleet", tag="set-gang")


def drawn_gang_words(session: Session) -> str:
    """Return who answers for the gang of the drawn pod: Plan answers for one pod."""
    drawn = session.fleet.drawn_gang
    if drawn is None:
        return ""
    number = session.fleet.workload(session.fleet.editing).replicas
    return f"Fleet answers for {gang_words(drawn, number)}."


class ClaimCanvas(SessionView):
    """The drawing of a claim as boxes (requests) tied to knots (links), with its palette and inspector.

    `sketch` is replaced as a whole by either side (`draw` takes a `ClaimSketch`). A value that is no consistent sketch
    is refused: from Python with a TraitError, from the browser with `problem` and the old state sent back. `positions`
    holds {request or link name: [x, y]} in canvas pixels and is no step of the undo history (the name `layout` is
    taken by ipywidgets). `palette`, `status`, `history`, `problems` (the requests and links that cause a misfit) and
    `configured` are written by Python only. `highlight` is a request's name or a device id, written by either side.
    `height` is in pixels; 0 fills the container.

    Example:
        >>> from dra_lab import ClaimCanvas, read_sketch
        >>> canvas = ClaimCanvas()
        >>> canvas.draw(read_sketch("sample:two-sockets/lesson"))
        >>> canvas.drawn.name
        'lesson'
    """

    _esm = STATIC / "claim_canvas.js"
    _css = STATIC / "claim_canvas.css"

    panes = (Shown, Drawing, CanvasGang, Highlight)

    sketch = traitlets.Dict().tag(sync=True, value=ClaimSketch)
    positions = traitlets.Dict().tag(sync=True, value=dict[str, tuple[float, float]])
    history = traitlets.Dict().tag(sync=True, value=CanvasHistory)
    configured = traitlets.Dict().tag(sync=True, value=ConfigAnswer)
    read_only = traitlets.Bool(False).tag(sync=True)
    height = traitlets.Int(460, min=0).tag(sync=True)

    def __init__(self, session: Session | None = None, **traits: Any) -> None:
        """Draw the session's drawing, or the traits given by hand (values of the model and rows, or plain dicts)."""
        self._refused = False
        super().__init__(session, **traits)
        self._history = History(self.drawn)
        self.observe(self._on_sketch, "sketch")
        self.observe(self._on_positions, "positions")

    @property
    def drawn(self) -> ClaimSketch:
        """The sketch as a value of the model."""
        return read_sketch(self.sketch)

    def draw(self, sketch: ClaimSketch) -> None:
        """Show another sketch, as one step that can be undone.

        Args:
            sketch: The drawing to show.

        Raises:
            TraitError: The drawing is inconsistent.
        """
        self.sketch = wire(sketch)

    def stored_parts(self) -> list[Part]:
        """Return the claim as its manifest says it, with the sentence of the answer."""
        return drawing_parts(self._session) if self._session is not None else []

    @on
    def undo(self) -> None:
        """Go one step back in the one history of mouse, keyboard and Python; nothing happens where there is none."""
        self._step(lambda past: past.undo())

    @on
    def redo(self) -> None:
        """Do one undone step again; nothing happens where there is none."""
        self._step(lambda past: past.redo())

    def _step(self, go: Callable[[Session | History[ClaimSketch]], bool]) -> None:
        self.report("drawing", "")
        if self._session is not None:
            go(self._session)
        elif go(self._history):
            self.sketch = wire(self._history.present)
            self.history = wire(_history_row(self._history))

    # ------------------------------------------------------------ the browser's side

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Accept the browser's values; `problem` says why one is refused, and its former value is sent back.

        ipywidgets prints the error of a refused value and goes on, which would leave the browser ahead of the kernel.
        """
        self._refused = False
        if sync_data.get("problem") == "":
            self._troubles.clear()
        try:
            super().set_state(sync_data)
        except (traitlets.TraitError, DraLabError) as error:
            self.report("drawing", str(error))
            self.send_state([key for key in sync_data if key in self.keys])
        else:
            if "sketch" in sync_data and not self._refused:
                self.report("drawing", "")

    @on
    def configure(self, index: int, requests: tuple[str, ...], driver: str, text: str) -> None:
        """Make a typed text (YAML or JSON) the parameters for a driver of some requests; "" removes them.

        `index` is the entry of the drawing's `config`, or one beyond the last for a new entry.
        """
        drawn, message = self.drawn if self._session is None else self._session.sketch, ""
        try:
            drawn = with_config(drawn, index, requests, driver, text)
        except DraLabError as error:
            message = str(error)
        self.configured = wire(ConfigAnswer(index=index, message=message))
        if not message:
            self.draw(drawn)

    # ------------------------------------------------------------ values

    @traitlets.validate("sketch")
    def _check_sketch(self, proposal: Any) -> dict[str, Any]:
        value = proposal["value"]
        try:
            read_sketch(value)
        except SketchError as error:
            raise traitlets.TraitError(str(error)) from error
        kept: dict[str, Any] = value
        return kept

    @traitlets.validate("positions")
    def _check_positions(self, proposal: Any) -> dict[str, Any]:
        for name, place in proposal["value"].items():
            if not _is_place(place):
                raise traitlets.TraitError(f"positions[{name!r}] is {place!r}; give [x, y] in canvas pixels")
        kept: dict[str, Any] = proposal["value"]
        return kept

    # ------------------------------------------------------------ session or own history

    def _on_sketch(self, _change: object) -> None:
        if self._session is None:
            if self._history.push(self.drawn):
                self.history = wire(_history_row(self._history))
            return
        try:
            self._session.edit(self.drawn)
        except DraLabError as error:
            self._refused = True
            self.report("drawing", str(error))
            self.sketch = wire(self._session.sketch)

    def _on_positions(self, _change: object) -> None:
        if self._session is not None and self.positions != _positions_of(self._session):
            self._session.move({name: (place[0], place[1]) for name, place in self.positions.items()})


def _history_row(past: History[Any]) -> CanvasHistory:
    return CanvasHistory(can_undo=past.can_undo, can_redo=past.can_redo)


def _is_place(value: object) -> bool:
    numbers = value if isinstance(value, (list, tuple)) and len(value) == 2 else (math.nan,)
    return all(isinstance(n, (int, float)) and math.isfinite(n) for n in numbers)


def _positions_of(session: Session) -> dict[str, list[float]]:
    return {name: [x, y] for name, (x, y) in session.drawing.layout.items()}


def with_config(sketch: ClaimSketch, index: int, requests: tuple[str, ...], driver: str, text: str) -> ClaimSketch:
    """Return the drawing with typed parameters in `config[]`; with an empty text, without that entry.

    Raises ManifestError, with the line, for a text that is no YAML or JSON object or that the API server refuses.
    """
    entries = list(sketch.config)
    if not text.strip():
        return replace(sketch, config=tuple(entry for at, entry in enumerate(entries) if at != index))
    found = [document.value for document in load_yaml(text) if document.value is not None]
    if len(found) != 1 or not isinstance(found[0], dict):
        raise ManifestError("the parameters are one YAML or JSON object, such as `sharing: {strategy: TimeSlicing}`")
    driver = driver.strip()
    for error in check_opaque({"opaque": {"driver": driver, "parameters": found[0]}}, ""):
        raise ManifestError(f"{error.field.removeprefix('.opaque.')}: {error.message}")
    entry = DeviceClaimConfiguration(
        requests=requests, opaque=OpaqueDeviceConfiguration(driver=driver, parameters=found[0])
    )
    entries[index : index + 1] = [entry]
    return replace(sketch, config=tuple(entries))

"""PlanView: the answer to a drawing: sentence and figures, manifests, goals, reasons, findings, devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
import traitlets
from msgspec.structs import replace

from dra_lab.errors import DraLabError, SketchError
from dra_lab.model.claims import DeviceRequest, RequestPart, expressions, selected
from dra_lab.model.cluster import Cluster
from dra_lab.model.reasons import Shortfall, Suggestion
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.session import Session
from dra_lab.session.preparing import moved_layers
from dra_lab.widgets.answer_rows import (
    BadgeRow,
    GoalRow,
    RegretRow,
    SuggestionRow,
    WhyRow,
    badge_rows,
    goal_rows,
    reasons_of,
    regret_row,
    suggestion_rows,
    why_row,
)
from dra_lab.widgets.claim_canvas import drawn_gang_words
from dra_lab.widgets.cluster_opening import FolderListing
from dra_lab.widgets.cluster_rows import FindingRow, finding_rows
from dra_lab.widgets.compare_mode import CompareMode
from dra_lab.widgets.device_rows import MAX_DEVICES, DeviceTable, chosen_devices, device_table
from dra_lab.widgets.export_sheet import ExportSheet, Outgoing, Printing, simulated_of
from dra_lab.widgets.fleet_adding import FleetAdding
from dra_lab.widgets.fleet_bars import FleetBars
from dra_lab.widgets.fleet_domains import FleetDomains
from dra_lab.widgets.fleet_mode import FleetMode
from dra_lab.widgets.session_view import (
    STATIC,
    Highlight,
    Pane,
    Row,
    SessionView,
    Shown,
    attempt,
    calls,
    latest_plan,
    on,
    wire,
)
from dra_lab.widgets.verdict_row import AnswerRow, answer_row, progress_row
from dra_lab.widgets.why_not import MovesPane, Why
from dra_lab.words.verdict import MAKE_ROOM

if TYPE_CHECKING:
    from dra_lab.gitops.corrections import Correction


class FixRow(Row, frozen=True):
    """A correction with one sensible reading: the line (from 1) in the claim's text, and what becomes what, and why."""

    text: str
    line: int = 0


class ClaimAnswer(Row, frozen=True):
    """The answer to the text number `number`: "" if the drawing shows it, else what is wrong, at `line` (from 1).

    `fixes` are the corrections that the text could have. Where they were asked for, `text` is the corrected text, and
    `fixes` are what was changed.
    """

    number: int = 0
    message: str = ""
    line: int = 0
    fixes: tuple[FixRow, ...] = ()
    text: str = ""


class ClaimEditor(Pane):
    """The manifests as text, and the claim's document with what a person types there.

    `yaml_marks` maps a line's number from 1 to the letter of its request, `badges` a request to its letter and colours.
    `claim_text` is the claim's document alone; `claim_number` is that of the edit that it shows, 0 where the drawing
    was changed elsewhere since; `claim_fixes` are its corrections. `claim_answer` answers the latest text that was
    typed or corrected.
    """

    yaml = traitlets.Unicode("").tag(sync=True)
    yaml_marks = traitlets.Dict().tag(sync=True, value=dict[str, str])
    badges = traitlets.Dict().tag(sync=True, value=dict[str, BadgeRow])
    claim_text = traitlets.Unicode("").tag(sync=True)
    claim_number = traitlets.Int(0).tag(sync=True)
    claim_answer = traitlets.Dict().tag(sync=True, value=ClaimAnswer)
    claim_fixes: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[FixRow])

    def _begin(self) -> None:
        self._unwritten = False
        self._edited: tuple[int, ClaimSketch] | None = None
        self._written_for: tuple[ClaimSketch, KubernetesRelease, Cluster] | None = None
        # The picture is what a person waits for: the manifest is written while it is drawn.
        attempt(self.view, self._show.__qualname__, self._show)
        self.when(self.soon(self._show), "sketch", "cluster", "plan")
        self.when(lambda: self._show() if self._unwritten else None, "status")

    def _show(self) -> None:
        from dra_lab.session.claim_text import claim_document, fixed_claim
        from dra_lab.session.outputs import manifest

        session = self.session
        badges = badge_rows(session.sketch)
        about = (session.sketch, session.release, session.cluster)
        # clusters by identity: to compare two large ones takes longer than to write
        if self._written_for is not None and self._written_for[:2] == about[:2] and self._written_for[2] is about[2]:
            return  # an answer changes nothing in it
        self._written_for = None
        self._unwritten = not session.is_counted
        if self._unwritten:
            # Writing it down asks what the devices publish, which the worker finds out with the status of the requests.
            self.assign(badges=badges, yaml=self.view.yaml or "# The devices of the cluster are being counted ...\n")
            return
        try:
            made = manifest(session)
        except DraLabError as error:
            words = f"# {error}\n".replace("\n", "\n# ").removesuffix("# ")
            self.assign(badges=badges, yaml=words, yaml_marks={}, claim_text="", claim_fixes=[])
            return
        letter = {name: badge.letter for name, badge in badges.items()}
        marks = {str(line): letter.get(key, key) for key, lines in made.lines.items() for line in lines}
        number = self._edited[0] if self._edited is not None and self._edited[1] == session.sketch else 0
        text = claim_document(made.text)
        self.assign(badges=badges, yaml=made.text, yaml_marks=marks, claim_text=text, claim_number=number)
        self.assign(claim_fixes=fix_rows(fixed_claim(session, text)[1]))
        self._written_for = about

    # ------------------------------------------------------------ what the person did

    @on
    def edit_claim(self, text: str, number: int) -> None:
        """Make a typed text the drawing; `number` is repeated in the answer."""
        from dra_lab.session.claim_text import fixed_claim

        fixes = fix_rows(fixed_claim(self.session, text)[1])
        self._take(text, ClaimAnswer(number=number, fixes=fixes))

    @on
    def fix_claim(self, text: str | None = None, number: int = 0) -> None:
        """Correct a typed text, or without a text the drawing's."""
        from dra_lab.session.claim_text import fixed_claim

        fixed, fixes = fixed_claim(self.session, self.view.claim_text if text is None else text)
        self._take(fixed, ClaimAnswer(number=number, fixes=fix_rows(fixes), text=fixed))

    def _take(self, text: str, answer: ClaimAnswer) -> None:
        """Make a text the drawing, as one undo step, and answer; the drawing stays where the text is wrong."""
        from dra_lab.session.claim_text import edit_claim

        try:
            edit_claim(self.session, text)
            self._edited = (answer.number, self.session.sketch)
        except DraLabError as error:
            line = error.origin.line if error.origin else 0
            answer = replace(answer, message=error.message, line=line)
        self.assign(claim_answer=answer)


def fix_rows(found: Iterable[Correction]) -> tuple[FixRow, ...]:
    """Return corrections of the claim's text as rows."""
    return tuple(FixRow(text=f"{one.path}: {one.old} → {one.new} ({one.why})", line=one.line) for one in found)


SEARCHING = "trying the manifest on every kind of node, as kube-scheduler would"


class PlanAnswer(Pane):
    """The verdict with its figures, goals, reasons and suggestions, the findings, and the devices.

    `goals_changed` says that a person has put the goals in another order. `chosen` maps a device id to its request.
    """

    answer = traitlets.Dict().tag(sync=True, value=AnswerRow)
    goals: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[GoalRow])
    goals_changed = traitlets.Bool(False).tag(sync=True)
    regret = traitlets.Dict().tag(sync=True, value=RegretRow)
    why = traitlets.Dict().tag(sync=True, value=WhyRow)
    reasons: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[Shortfall])
    suggestions: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[SuggestionRow])
    findings: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[FindingRow])
    devices = traitlets.Dict().tag(sync=True, value=DeviceTable)
    chosen = traitlets.Dict().tag(sync=True, value=dict[str, str])

    def _begin(self) -> None:
        self._shown: Cluster | None = None
        self.when(self._show_answer, "plan", "copies", "history", "export")
        # A quick answer takes a dozen steps that are too short to read; each would be drawn before the answer.
        self.when(self.soon(self._show_answer), "solving", "progress")
        self.when(self._show_plan, "cluster", "plan", "findings")
        self.when(self._show_devices, "cluster", "plan")

    def _show_answer(self) -> None:
        session = self.session
        if session.stale and session.answer is not None and self.view.answer:
            # The last answer stays as it was, for the drawing and the cluster that it was given for.
            progress = wire(progress_row(session.progress))
            loaded = session.answer.cluster != session.cluster.name
            shown = {"stale": True, "progress": progress, "previous": "cluster" if loaded else "drawing", "after": ""}
            self.assign(answer={**self.view.answer, **shown})
            return
        row = answer_row(session, simulated_of(session))
        if (gang := drawn_gang_words(session)) and row.asked:
            row = msgspec.structs.replace(row, asked=f"{row.asked} {gang}")
        self.assign(answer=msgspec.structs.replace(row, after=SEARCHING) if session.searching else row)

    def _show_plan(self) -> None:
        session, refusal = self.session, self.session.refusal
        plan = latest_plan(session)
        self.assign(
            goals=goal_rows(plan),
            reasons=reasons_of(plan, refusal),
            suggestions=suggestion_rows(plan) if refusal is None else (),
            regret=regret_row(plan),
            why=why_row(plan if refusal is None else None),
            goals_changed=bool(session.drawing.goals),
            findings=finding_rows(session.findings),
            chosen=chosen_devices(plan),
        )

    def _show_devices(self) -> None:
        session = self.session
        # The table of a whole cluster changes with the cluster only; that of one node with the plan's node.
        is_new = session.cluster is not self._shown or self.view.devices.get("total", 0) > MAX_DEVICES
        if session.is_prepared and is_new:
            self._shown, plan = session.cluster, latest_plan(session)
            self.assign(devices=device_table(session.cluster, plan.node if plan is not None else ""))

    # ------------------------------------------------------------ what the person did

    cancel = calls(Session.cancel, tag="cancel")
    order_goals = calls(Session.order_goals, tag="order-goals")

    @on
    def apply_suggestion(self, number: int) -> None:
        """Apply the suggestion with this number."""
        plan = latest_plan(self.session)
        if number == MAKE_ROOM and self.session.room is not None:
            fleet = self.session.fleet
            fleet.what_if(*moved_layers(self.session.room.moves, fleet.layers))
            return
        if plan is None or not 0 <= number < len(plan.suggestions):
            return
        if plan.sketch != self.session.sketch:
            raise SketchError("the drawing has changed since this was suggested; wait for the new answer")
        self.session.edit(with_suggestion(plan.sketch, plan.suggestions[number]))


class PlanView(SessionView):
    """The verdict, "why not?", what is exported, and a dock with manifests, goals, devices, nodes and findings.

    All traits but `highlight` (a request's name or a device id, either side) and those of Fleet are written by Python.

    Example:
        >>> from dra_lab import PlanView, Session
        >>> PlanView(Session("sample:two-sockets")).claim_number
        0
    """

    _esm = STATIC / "plan_view.js"
    _css = STATIC / "plan_view.css"

    # in the order in which an answer reaches them
    panes = (
        Shown,
        PlanAnswer,
        ClaimEditor,
        ExportSheet,
        CompareMode,
        Why,
        Outgoing,
        Highlight,
        MovesPane,
        FleetDomains,
        FleetAdding,
        FleetMode,
        FleetBars,
        FolderListing,
        Printing,
    )


def with_suggestion(sketch: ClaimSketch, suggestion: Suggestion) -> ClaimSketch:
    """Return the drawing that a suggestion carries, else with its selectors added; what is there already stays once."""
    if suggestion.sketch is not None:
        return suggestion.sketch
    requests = tuple(_with_selectors(request, suggestion.selectors) for request in sketch.requests)
    return msgspec.structs.replace(sketch, requests=requests)


def _with_selectors(request: DeviceRequest, wanted: Mapping[str, tuple[str, ...]]) -> DeviceRequest:
    def added(reference: str, part: RequestPart) -> RequestPart:
        known = expressions(part.selectors)
        texts = (text for end in dict.fromkeys((request.name, reference)) for text in wanted.get(end, ()))
        return selected(part, *(text for text in texts if text not in known))

    return request.with_parts(added)

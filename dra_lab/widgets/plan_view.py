"""PlanView: the answer to a drawing: sentence and figures, manifests, goals, reasons, findings, devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import traitlets

from dra_lab.errors import DraLabError, SketchError
from dra_lab.model.claims import CELDeviceSelector, DeviceRequest, DeviceSelector
from dra_lab.model.cluster import Cluster
from dra_lab.model.numbers import unsigned_number
from dra_lab.model.plan import Suggestion
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.pinning.pod_start import with_start
from dra_lab.session import Session
from dra_lab.widgets import messages
from dra_lab.widgets.answer_rows import (
    answer_row,
    badge_rows,
    goal_rows,
    progress_row,
    reason_rows,
    suggestion_rows,
)
from dra_lab.widgets.bar_values import FindingRow
from dra_lab.widgets.canvas_gang import drawn_gang_words
from dra_lab.widgets.claim_values import ClaimAnswer, FixRow
from dra_lab.widgets.cluster_rows import finding_rows
from dra_lab.widgets.compare_mode import CompareMode
from dra_lab.widgets.device_rows import MAX_DEVICES, chosen_devices, device_table
from dra_lab.widgets.export_sheet import ExportSheet
from dra_lab.widgets.fleet_mode import FleetMode
from dra_lab.widgets.highlight import HighlightingWidget
from dra_lab.widgets.looked_at import LookedAt
from dra_lab.widgets.plan_values import (
    AnswerRow,
    BadgeRow,
    DeviceTable,
    GoalRow,
    ReasonRow,
    RegretRow,
    SuggestionRow,
    WhyRow,
)
from dra_lab.widgets.reason_rows import regret_row, why_row
from dra_lab.widgets.session_view import STATIC, Actions, latest_plan
from dra_lab.widgets.wire import wire

if TYPE_CHECKING:
    from dra_lab.gitops.corrections import Correction

SEARCHING = "trying the manifest on every kind of node, as kube-scheduler would"


class PlanView(FleetMode, ExportSheet, CompareMode, LookedAt, HighlightingWidget):
    """The verdict, "why not?", what is exported, and a dock with manifests, goals, devices, nodes and findings.

    All traits but `highlight` (a request's name or a device id, either side) are written by Python. `yaml_marks` maps a
    line's number from 1 to the letter of its request, `badges` a request to its letter and colours, `chosen` a device
    id to its request.  `goals_changed` says that a person has
    put the goals in another order. `claim_text` is the claim's document alone, for its editor; `claim_number`
    is that of the edit that it shows, 0 where the drawing was changed elsewhere since; `claim_fixes` are its
    corrections.

    `claim_answer` answers the latest text that was typed or corrected.

    Example:
        >>> from dra_lab import PlanView, Session
        >>> PlanView(Session("sample:two-sockets")).claim_number
        0
    """

    _esm = STATIC / "plan_view.js"
    _css = STATIC / "plan_view.css"

    answer = traitlets.Dict().tag(sync=True, value=AnswerRow)
    yaml = traitlets.Unicode("").tag(sync=True)
    claim_text = traitlets.Unicode("").tag(sync=True)
    claim_number = traitlets.Int(0).tag(sync=True)
    claim_answer = traitlets.Dict().tag(sync=True, value=ClaimAnswer)
    claim_fixes: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[FixRow])
    yaml_marks = traitlets.Dict().tag(sync=True, value=dict[str, str])
    badges = traitlets.Dict().tag(sync=True, value=dict[str, BadgeRow])
    goals: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[GoalRow])
    goals_changed = traitlets.Bool(False).tag(sync=True)
    regret = traitlets.Dict().tag(sync=True, value=RegretRow)
    why = traitlets.Dict().tag(sync=True, value=WhyRow)
    reasons: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[ReasonRow])
    suggestions: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[SuggestionRow])
    findings: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[FindingRow])
    devices = traitlets.Dict().tag(sync=True, value=DeviceTable)
    chosen = traitlets.Dict().tag(sync=True, value=dict[str, str])

    def _follow(self, session: Session) -> None:
        self._shown: Cluster | None = None
        self._unwritten = False
        self._edited: tuple[int, ClaimSketch] | None = None
        self._written_for: tuple[ClaimSketch, KubernetesRelease, Cluster] | None = None
        self._when(session, self._show_answer, "plan", "copies", "history")
        # A quick answer takes a dozen steps that are too short to read; each would be drawn before the answer.
        self._when(session, self._soon(self._show_answer), "solving", "progress")
        self._when(session, self._show_plan, "cluster", "plan", "findings")
        # The picture is what a person waits for: the manifest is written while it is drawn.
        self._try("_show_manifest", self._show_manifest)
        self._when(session, self._soon(self._show_manifest), "sketch", "cluster", "plan")
        self._when(session, self._show_late_manifest, "status")
        self._when(session, self._show_devices, "cluster", "plan")
        self._follow_export(session)
        self._follow_compare(session)
        self._follow_look(session)
        self._when(session, self._show_outgoing, "plan", "findings", "progress", "export")
        self._follow_light(session)
        self._follow_fleet(session)

    def _show_answer(self) -> None:
        if (session := self._session) is None:
            return
        if session.stale and session.answer is not None and self.answer:
            # The last answer stays as it was, for the drawing and the cluster that it was given for.
            progress = wire(progress_row(session.progress))
            loaded = session.answer.cluster != session.cluster.name
            shown = {"stale": True, "progress": progress, "previous": "cluster" if loaded else "drawing", "after": ""}
            self._assign(answer={**self.answer, **shown})
            return
        latest = latest_plan(session)
        row = answer_row(
            with_start(latest, session.findings) if latest is not None else None,
            session.cluster,
            stale=session.stale,
            progress=session.progress,
            refusal=session.refusal,
            headroom=session.copies,
            counting=session.counting,
        )
        if (gang := drawn_gang_words(session)) and row.asked:
            row = msgspec.structs.replace(row, asked=f"{row.asked} {gang}")
        self._assign(answer=msgspec.structs.replace(row, after=SEARCHING) if session.searching else row)

    def _show_plan(self) -> None:
        if (session := self._session) is None:
            return
        plan = latest_plan(session)
        reasons = reason_rows(plan, session.refusal)
        offered = suggestion_rows(plan) if session.refusal is None else ()
        self._assign(goals=goal_rows(plan), reasons=reasons, suggestions=offered)
        self._assign(
            regret=regret_row(plan),
            why=why_row(plan if session.refusal is None else None),
            goals_changed=bool(session.drawing.goals),
        )
        self._assign(findings=finding_rows(session.findings), chosen=chosen_devices(plan))

    def _show_manifest(self) -> None:
        from dra_lab.session.claim_text import claim_document, fixed_claim
        from dra_lab.session.outputs import manifest

        if (session := self._session) is None:
            return
        badges = badge_rows(session.sketch)
        about = (session.sketch, session.release, session.cluster)
        # clusters by identity: to compare two large ones takes longer than to write
        if self._written_for is not None and self._written_for[:2] == about[:2] and self._written_for[2] is about[2]:
            return  # an answer changes nothing in it
        self._written_for = None
        self._unwritten = not session.is_counted
        if self._unwritten:
            # Writing it down asks what the devices publish, which the worker finds out with the status of the requests.
            self._assign(badges=badges, yaml=self.yaml or "# The devices of the cluster are being counted ...\n")
            return
        try:
            made = manifest(session)
        except DraLabError as error:
            words = f"# {error}\n".replace("\n", "\n# ").removesuffix("# ")
            self._assign(badges=badges, yaml=words, yaml_marks={}, claim_text="", claim_fixes=[])
            return
        letter = {name: badge.letter for name, badge in badges.items()}
        marks = {str(line): letter.get(key, key) for key, lines in made.lines.items() for line in lines}
        number = self._edited[0] if self._edited is not None and self._edited[1] == session.sketch else 0
        text = claim_document(made.text)
        self._assign(badges=badges, yaml=made.text, yaml_marks=marks, claim_text=text, claim_number=number)
        self._assign(claim_fixes=fix_rows(fixed_claim(session, text)[1]))
        self._written_for = about
        self._show_outgoing()

    def _show_outgoing(self) -> None:
        self._set_outgoing(self.yaml)

    def _show_late_manifest(self) -> None:
        if self._unwritten:
            self._show_manifest()

    def _show_devices(self) -> None:
        if (session := self._session) is None or not session.is_prepared:
            return
        plan = latest_plan(self._session)
        # The table of a whole cluster changes with the cluster only; that of one node with the plan's node.
        if session.cluster is not self._shown or self.devices.get("total", 0) > MAX_DEVICES:
            self._shown = session.cluster
            self._assign(devices=device_table(session.cluster, plan.node if plan is not None else ""))

    # ------------------------------------------------------------ what the person did

    def _cancel(self, _message: messages.Cancel) -> None:
        if self._session is not None:
            self._session.cancel()

    def _edit_claim(self, message: messages.EditClaim) -> None:
        from dra_lab.session.claim_text import fixed_claim

        if self._session is not None:
            fixes = fix_rows(fixed_claim(self._session, message.text)[1])
            self._take_claim(message.text, ClaimAnswer(number=message.number, fixes=fixes))

    def _fix_claim(self, message: messages.FixClaim) -> None:
        from dra_lab.session.claim_text import fixed_claim

        if self._session is not None:
            typed = self.claim_text if message.text is None else message.text
            text, fixes = fixed_claim(self._session, typed)
            self._take_claim(text, ClaimAnswer(number=message.number, fixes=fix_rows(fixes), text=text))

    def _take_claim(self, text: str, answer: ClaimAnswer) -> None:
        """Make a text the drawing, as one undo step, and answer; the drawing stays where the text is wrong."""
        from dra_lab.session.claim_text import edit_claim

        if self._session is None:
            return
        try:
            edit_claim(self._session, text)
            self._edited = (answer.number, self._session.sketch)
        except DraLabError as error:
            line = error.origin.line if error.origin else 0
            answer = msgspec.structs.replace(answer, message=error.message, line=line)
        self._assign(claim_answer=answer)

    def _order_goals(self, message: messages.OrderGoals) -> None:
        if self._session is not None:
            self._session.order_goals(list(message.goals))

    def _apply_suggestion(self, message: messages.ApplySuggestion) -> None:
        plan, number = latest_plan(self._session), unsigned_number(message.id)
        if self._session is None or plan is None or number is None or number >= len(plan.suggestions):
            return
        if plan.sketch != self._session.sketch:
            raise SketchError("the drawing has changed since this was suggested; wait for the new answer")
        self._session.edit(with_suggestion(plan.sketch, plan.suggestions[int(number)]))

    actions: ClassVar[Actions] = {
        **HighlightingWidget.actions,
        **ExportSheet.actions,
        **CompareMode.actions,
        **LookedAt.looking,
        **FleetMode.fleet_actions,
        messages.Cancel: _cancel,
        messages.EditClaim: _edit_claim,
        messages.FixClaim: _fix_claim,
        messages.OrderGoals: _order_goals,
        messages.ApplySuggestion: _apply_suggestion,
    }


def fix_rows(found: Iterable[Correction]) -> tuple[FixRow, ...]:
    """Return corrections of the claim's text as rows."""
    return tuple(FixRow(text=f"{one.path}: {one.old} → {one.new} ({one.why})", line=one.line) for one in found)


def with_suggestion(sketch: ClaimSketch, suggestion: Suggestion) -> ClaimSketch:
    """Return the drawing that a suggestion carries, else with its selectors added; what is there already stays once."""
    if suggestion.sketch is not None:
        return suggestion.sketch
    requests = tuple(_with_selectors(request, suggestion.selectors) for request in sketch.requests)
    return msgspec.structs.replace(sketch, requests=requests)


def _with_selectors(request: DeviceRequest, wanted: Mapping[str, tuple[str, ...]]) -> DeviceRequest:
    def added(selectors: tuple[DeviceSelector, ...], texts: tuple[str, ...]) -> tuple[DeviceSelector, ...]:
        known = {selector.cel.expression for selector in selectors if selector.cel is not None}
        new = [DeviceSelector(cel=CELDeviceSelector(expression=text)) for text in texts if text not in known]
        return (*selectors, *new)

    replace, own = msgspec.structs.replace, tuple(wanted.get(request.name, ()))
    if request.exactly is not None:
        return replace(request, exactly=replace(request.exactly, selectors=added(request.exactly.selectors, own)))
    parts = tuple(
        replace(part, selectors=added(part.selectors, (*own, *wanted.get(f"{request.name}/{part.name}", ()))))
        for part in request.first_available
    )
    return replace(request, first_available=parts)

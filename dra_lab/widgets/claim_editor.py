"""The manifests of the drawing in `PlanView`, and the editor of its claim."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import traitlets
from msgspec.structs import replace

from dra_lab.errors import DraLabError
from dra_lab.model.cluster import Cluster
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.widgets.answer_rows import BadgeRow, badge_rows
from dra_lab.widgets.messages import on
from dra_lab.widgets.session_view import Pane, attempt
from dra_lab.widgets.wire import Row

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
        self.when(self._show_late, "status")

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

    def _show_late(self) -> None:
        if self._unwritten:
            self._show()

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

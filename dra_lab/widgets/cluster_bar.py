"""ClusterBar: which cluster, what is in it, for which release, and what is wrong with it; the way to another."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import traitlets

from dra_lab.errors import DraLabError, SourceError
from dra_lab.findings import Finding
from dra_lab.model.cluster import Cluster
from dra_lab.model.release import RELEASES
from dra_lab.session import MODES, READ, Session
from dra_lab.session.preparing import is_checked
from dra_lab.sources import PREFIX as SAMPLE
from dra_lab.sources import load_texts
from dra_lab.sources.confined import confined_source, why_refused
from dra_lab.sources.live import PREFIX, Context, contexts
from dra_lab.widgets import messages
from dra_lab.widgets.bar_values import (
    AskRow,
    CountsRow,
    DetailRow,
    DrawableRow,
    FindingRow,
    FollowRow,
    MeterRow,
    ModeRow,
    NodeUseRow,
    OfferRow,
    SourceRow,
)
from dra_lab.widgets.cluster_loading import Loading, Read, Show, reading_of
from dra_lab.widgets.cluster_rows import (
    MOST_NODES,
    counts,
    detail_rows,
    finding_rows,
    meter_rows,
    node_use_rows,
    read_words,
    source_rows,
)
from dra_lab.widgets.session_view import STATIC, Actions, FollowingWidget
from dra_lab.widgets.stored_output import source_parts
from dra_lab.widgets.uploads import Upload, plain_texts
from dra_lab.words.cluster_document import first_words, summary
from dra_lab.words.document import Part

if TYPE_CHECKING:
    from dra_lab.session.drawables import Drawable, Drawables


class ClusterBar(FollowingWidget):
    """The line over a plan: cluster, its contents in a few words, target release, findings, a tab of its own.

    All traits are written by Python.
    `meters` say how much of the cluster is free, `node_use` how much is in use on each node (of a large cluster once
    that is asked for).
    `example` shows the line about the example, and `ask` a question with a button for each answer. `busy` is what is
    being read, and `refused` why the latest cluster could not be read. `offer` is what a file contains to draw, and
    `uploaded` how many bytes of a drop have arrived. `details` is what was read, and `follow` whether the running
    cluster is followed. `modes` are the modes of the planner (a bar alone has none). Clusters are read in a thread
    (`loading`).

    Example:
        >>> from dra_lab import ClusterBar, Session
        >>> bar = ClusterBar(Session("sample:two-sockets"))
        >>> bar.close()
    """

    _esm = STATIC / "cluster_bar.js"
    _css = STATIC / "cluster_bar.css"

    sources: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[SourceRow])
    source = traitlets.Unicode("").tag(sync=True)
    summary = traitlets.Unicode("").tag(sync=True)
    meters: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[MeterRow])
    node_use: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[NodeUseRow])
    read_at = traitlets.Unicode("").tag(sync=True)
    details: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[DetailRow])
    follow = traitlets.Dict().tag(sync=True, value=FollowRow)
    release = traitlets.Unicode("").tag(sync=True)
    releases: traitlets.List[Any] = traitlets.List(list(RELEASES)).tag(sync=True, value=list[str])
    findings: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[FindingRow])
    counts = traitlets.Dict().tag(sync=True, value=CountsRow)
    example = traitlets.Bool(False).tag(sync=True)
    modes: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[ModeRow])
    ask = traitlets.Dict().tag(sync=True, value=AskRow)
    busy = traitlets.Unicode("").tag(sync=True)
    refused = traitlets.Unicode("").tag(sync=True)
    offer = traitlets.Dict().tag(sync=True, value=OfferRow)
    uploaded = traitlets.Int(0).tag(sync=True)

    def _follow(self, session: Session) -> None:
        self._contexts: tuple[Context, ...] = ()
        self._upload: Upload | None = None
        self._offered: tuple[Drawable, ...] = ()
        self._opened: Drawable | None = None
        self._assign(modes=[ModeRow(name=name, label=label) for name, label in MODES.items()])
        self.loading = Loading(session.events.post, self._show_busy, self._take, self._refuse)
        self._when(session, self._show_cluster, "cluster")
        self._when(session, self._show_following, "cluster", "following")
        self._when(session, self._show_findings, "cluster", "plan", "findings")
        self._when(session, self._show_example, "cluster", "sketch", "history", "solving")
        self._when(session, self._show_ask, "ask")
        self._when(session, self._show_problem, "problem")

    def close(self) -> None:
        """Give up what is being read, and take the view away."""
        if self._session is not None:
            self.loading.cancel()
        super().close()

    def stored_parts(self) -> list[Part]:
        """Return what is in the cluster, in one line."""
        return source_parts(self._session) if self._session is not None else []

    def _show_cluster(self) -> None:
        if (session := self._session) is None:
            return
        cluster, read = session.cluster, session.snapshot
        self._assign(sources=source_rows(read, self._contexts), source=read.name, read_at=read_words(read))
        known = session.is_prepared
        words = summary(cluster, session.release) if known else f"{first_words(cluster)} · counting devices ..."
        if changes := ", ".join(layer.words for layer in session.fleet.layers):
            words = f"what if: {changes} · {words}"
        if known:
            few = len(cluster.node_names) <= MOST_NODES
            self._assign(meters=meter_rows(cluster, session.release))
            self._assign(node_use=node_use_rows(cluster, session.release) if few else ())
        self._assign(summary=words, release=session.release.version, details=self._details(session, words))

    def _show_following(self) -> None:
        if (session := self._session) is not None:
            following = session.following
            can = session.snapshot.name.startswith(PREFIX)
            row = FollowRow(following.state.value, following.reason) if can else FollowRow()
            self._assign(follow=row, details=self._details(session, self.summary))

    @staticmethod
    def _details(session: Session, words: str) -> tuple[DetailRow, ...]:
        """Return what is open, line by line, and why no changes come of a cluster that is followed."""
        following = session.following
        why = DetailRow(label="Followed", value=f"{following.state.value}: {following.reason}")
        return (*detail_rows(session.cluster, words), *((why,) if following.reason else ()))

    def _show_findings(self) -> None:
        if self._session is not None:
            findings: tuple[Finding, ...] = self._session.findings
            checking = not is_checked(self._session.cluster)
            self._assign(findings=finding_rows(findings), counts=counts(findings, checking=checking))

    def _show_example(self) -> None:
        if self._session is not None:
            self.example = self._session.example

    def _show_ask(self) -> None:
        if self._session is not None:
            self.ask = dict(self._session.ask)

    def _show_problem(self) -> None:
        if self._session is not None:
            self.report("session", self._session.problem)

    # ------------------------------------------------------------ what the person did

    def _load(self, message: messages.Load) -> None:
        from dra_lab.session.drawables import texts_at

        source = message.source.strip()
        if not source or self._session is None:
            return
        self._withdraw()
        self.refused = why_refused(source)
        if self.refused:
            return
        if source.startswith(SAMPLE) and "/" in source:
            self._open_example(source, self._session)
        elif not self._offers(texts_at(source), source):
            self._read(f"Reading {source} ...", reading_of(source))

    def _open_example(self, source: str, session: Session) -> None:
        """Open a sample's example with its cluster, as one undo step."""
        from dra_lab.session.drawables import Drawable
        from dra_lab.session.drawings import read_plan_file

        cluster = source.partition("/")[0]
        try:
            drawing = read_plan_file(source)
        except DraLabError as error:
            self.refused = str(error)
            return
        if drawing is not None and session.cluster.name == cluster:
            session.open(drawing)
        else:
            found = Drawable(source, drawing) if drawing is not None else None
            self._read(f"Reading {cluster} ...", reading_of(cluster), found)

    def _offers(self, texts: Mapping[str, str], source: str) -> bool:
        """Offer what texts hold to be drawn; say whether they do."""
        from dra_lab.session.drawables import drawables

        try:
            if (found := drawables(texts) if texts else None) is not None:
                self._show_found(found, source)
        except DraLabError as error:
            self.refused = str(error)
            return True
        return found is not None

    def _show_found(self, found: Drawables, source: str, *, dropped: bool = False) -> None:
        """Offer drawings; a single one that was dropped is opened."""
        if self._session is not None and dropped and len(found.found) == 1:
            self._open(self._session, found.found[0], " ".join(found.notes))
            return
        if not found.found:
            self.refused = " ".join((*found.notes, "Give the files of the pod and of its claims together."))
            return
        self._offered = found.found
        rows = tuple(DrawableRow(label=one.label, detail=one.detail) for one in found.found)
        what = "1 drawing" if len(rows) == 1 else f"{len(rows)} drawings; the canvas shows one at a time"
        words = f"{source} contains no cluster. It contains {what}."
        self._assign(offer=OfferRow(text=" ".join((words, *found.notes)), options=rows))

    def _open_offered(self, message: messages.OpenDrawing) -> None:
        offered = self._offered
        self._withdraw()
        if self._session is not None and 0 <= message.number < len(offered):
            self._open(self._session, offered[message.number])

    def _open(self, session: Session, found: Drawable, notes: str = "") -> None:
        """Show a drawing; a plan file with its cluster, if that can be read. Raises SketchError, InputError."""
        from dra_lab.session.claim_text import cluster_to_read, open_drawable

        if found.is_plan and (cluster := confined_source(cluster_to_read(session, found.drawing))):
            self._read(f"Reading {cluster} ...", reading_of(cluster), found)
        else:
            self.refused = " ".join(filter(None, (open_drawable(session, found), notes)))

    def _withdraw(self) -> None:
        """Remove the offer and the messages about the latest reading."""
        self._offered, self.refused = (), ""
        self._assign(offer=OfferRow())

    def _announce(self, message: messages.AnnounceFiles) -> None:
        self._withdraw()
        self._upload, self.uploaded = None, 0
        try:
            self._upload = Upload(message.number, message.files)
        except SourceError as error:
            self.refused = str(error)

    def _receive(self, message: messages.FilePiece) -> None:
        upload = self._upload
        if upload is None or upload.number != message.number:
            return
        for piece in self._buffers:
            upload.add(piece)
        self.uploaded = upload.received
        if upload.is_whole:
            self._upload = None
            files = upload.files()
            self._read(f"Reading {', '.join(files)} ...", lambda _stop, _progress: self._dropped(files))

    def _dropped(self, files: Mapping[str, str | bytes]) -> Cluster | Show:
        """Return the cluster in dropped files, or what shows the page or the drawings that they contain."""
        from dra_lab.session.drawables import drawables

        texts = plain_texts(files)
        if (page := self._page_in(texts)) is not None:
            return page
        found = drawables(texts) if texts else None
        if found is None:
            return load_texts(files)
        return self._shows(lambda: self._show_found(found, ", ".join(files), dropped=True))

    def _shows(self, call: Show) -> Show:
        """Return a call that reports what it refuses."""

        def show() -> None:
            try:
                call()
            except DraLabError as error:
                self.refused = str(error)

        return show

    def _page_in(self, texts: Mapping[str, str]) -> Show | None:
        """Return what opens a plan's page on the canvas, None if texts are none."""
        from dra_lab.session.claim_text import open_page, read_page

        session = self._session
        if session is None or len(texts) != 1:
            return None
        ((name, text),) = texts.items()
        page = read_page(text, session.snapshot.name, name)
        return self._shows(lambda: self._refuse(open_page(session, *page, name))) if page is not None else None

    def _list_sources(self, _message: messages.Sources) -> None:
        # The kubeconfig is read when the choice opens: a login in a terminal must be seen without a new notebook.
        self._contexts = contexts()
        if self._session is not None:
            self._assign(sources=source_rows(self._session.snapshot, self._contexts))

    def _cancel(self, _message: messages.Cancel) -> None:
        self._upload = None
        if self._session is not None:
            self.loading.cancel()

    def _turn_following(self, message: messages.Follow) -> None:
        if (session := self._session) is None:
            return
        if message.on:
            session.follow()
        else:
            # Ending waits for the connections to close, which must not hold up the kernel.
            threading.Thread(target=session.unfollow, name="dra-lab unfollow", daemon=True).start()

    def _read(self, words: str, read: Read, opened: Drawable | None = None) -> None:
        """Read a cluster in a thread, and then show it, with a drawing if that is opened."""
        if self._session is not None:
            self.refused, self._opened = "", opened
            self.loading.begin(words, read)

    def _show_busy(self, words: str) -> None:
        self.busy = words

    def _take(self, cluster: Cluster) -> None:
        if self._session is not None:
            if self._opened is None:
                self._session.load(cluster)
            else:
                self._session.open(self._opened.drawing, cluster, whole=self._opened.is_plan)

    def _refuse(self, problem: str) -> None:
        self.refused = problem

    def _dismiss_problems(self, message: messages.DismissProblem) -> None:
        self._withdraw()
        self._dismiss_problem(message)

    def _show_other_mode(self, message: messages.ShowMode) -> None:
        if self._session is not None:
            self._session.show_mode(message.name)

    def _open_export(self, _message: messages.ShowExport) -> None:
        if self._session is not None:
            self._session.exporting.open()

    def _start_empty(self, _message: messages.StartEmpty) -> None:
        if self._session is not None:
            self._session.clear()
            self._dismiss_example()

    def _dismiss_example(self, _message: messages.DismissExample | None = None) -> None:
        self.example = False
        if self._session is not None:
            self._session.example = False

    def _set_release(self, message: messages.Release) -> None:
        if self._session is not None:
            self._session.set_release(message.value)
        else:
            self.release = message.value

    def _answer(self, message: messages.GiveAnswer) -> None:
        session = self._session
        if session is not None and message.id == READ and session.ask:
            session.ask = {}
            self._show_ask()
            self._read(f"Reading {session.drawing.cluster} ...", reading_of(session.drawing.cluster))
        elif session is not None:
            session.choose(message.id)

    def _show_use(self, _message: messages.ShowUse) -> None:
        if (session := self._session) is not None and session.is_prepared:
            self._assign(node_use=node_use_rows(session.cluster, session.release))

    actions: ClassVar[Actions] = {
        messages.DismissProblem: _dismiss_problems,
        messages.Load: _load,
        messages.OpenDrawing: _open_offered,
        messages.AnnounceFiles: _announce,
        messages.FilePiece: _receive,
        messages.Sources: _list_sources,
        messages.Cancel: _cancel,
        messages.Follow: _turn_following,
        messages.ShowMode: _show_other_mode,
        messages.ShowExport: _open_export,
        messages.ShowUse: _show_use,
        messages.StartEmpty: _start_empty,
        messages.DismissExample: _dismiss_example,
        messages.Release: _set_release,
        messages.GiveAnswer: _answer,
    }

"""ClusterBar: which cluster, what is in it, for which release, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import traitlets

from dra_lab.findings import Finding
from dra_lab.model.release import RELEASES
from dra_lab.session import Session
from dra_lab.widgets.bar_values import AskRow, CountsRow, FindingRow, SourceRow
from dra_lab.widgets.cluster_rows import counts, finding_rows, read_at, source_rows, summary
from dra_lab.widgets.following import STATIC, FollowingWidget


class ClusterBar(FollowingWidget):
    """The line over a plan: cluster, its contents in a few words, target release, findings, a tab of its own.

    All traits are written by Python; the browser sends `{type: "load", source}`, `{type: "files", files: [{name,
    text}]}`, `{type: "start-empty"}`, `{type: "dismiss-example"}`, `{type: "release", value}`, `{type: "answer", id}`
    and `{type: "dismiss-problem"}`.
    `example` shows the line about the example, `ask` a question with a button for each answer, `busy` what is going on.
    """

    _esm = STATIC / "cluster_bar.js"
    _css = STATIC / "cluster_bar.css"

    sources: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[SourceRow])
    source = traitlets.Unicode("").tag(sync=True)
    summary = traitlets.Unicode("").tag(sync=True)
    read_at = traitlets.Unicode("").tag(sync=True)
    release = traitlets.Unicode("").tag(sync=True)
    releases: traitlets.List[Any] = traitlets.List(list(RELEASES)).tag(sync=True, value=list[str])
    findings: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[FindingRow])
    counts = traitlets.Dict().tag(sync=True, value=CountsRow)
    example = traitlets.Bool(False).tag(sync=True)
    ask = traitlets.Dict().tag(sync=True, value=AskRow)
    busy = traitlets.Unicode("").tag(sync=True)

    def _follow(self, session: Session) -> None:
        self._when(session, self._show_cluster, "cluster")
        self._when(session, self._show_findings, "cluster", "plan", "findings")
        self._when(session, self._show_example, "cluster", "sketch", "history", "solving")
        self._when(session, self._show_ask, "ask")
        self._when(session, self._show_problem, "problem")

    def _show_cluster(self) -> None:
        if (session := self._session) is None:
            return
        cluster = session.cluster
        self._tell(sources=source_rows(cluster), source=cluster.name, read_at=read_at(cluster))
        self._tell(summary=summary(cluster, session.release), release=session.release.version)

    def _show_findings(self) -> None:
        if self._session is not None:
            findings: tuple[Finding, ...] = self._session.findings
            self._tell(findings=finding_rows(findings), counts=counts(findings))

    def _show_example(self) -> None:
        if self._session is not None:
            self.example = self._session.example

    def _show_ask(self) -> None:
        if self._session is not None:
            self.ask = dict(self._session.ask)

    def _show_problem(self) -> None:
        if self._session is not None:
            self._blame("session", self._session.problem)

    # ------------------------------------------------------------ what the person did

    def _asked_load(self, message: Mapping[str, Any]) -> None:
        source = str(message.get("source", "")).strip()
        if self._session is not None and source:
            self._read(f"Reading {source} ...", lambda session: session.load(source))

    def _asked_files(self, message: Mapping[str, Any]) -> None:
        texts = {str(file["name"]): str(file["text"]) for file in message.get("files", ())}
        if self._session is not None and texts:
            self._read(f"Reading {', '.join(texts)} ...", lambda session: session.load_texts(texts))

    def _read(self, words: str, load: Any) -> None:
        # Two messages reach the browser around a long read, since each trait is sent when it is set.
        self.busy = words
        try:
            load(self._session)
        finally:
            self.busy = ""

    def _asked_start_empty(self, _message: Mapping[str, Any]) -> None:
        if self._session is not None:
            self._session.clear()
            self._asked_dismiss_example({})

    def _asked_dismiss_example(self, _message: Mapping[str, Any]) -> None:
        self.example = False
        if self._session is not None:
            self._session.example = False

    def _asked_release(self, message: Mapping[str, Any]) -> None:
        if self._session is not None:
            self._session.set_release(str(message.get("value", "")))
        else:
            self.release = str(message.get("value", ""))

    def _asked_answer(self, message: Mapping[str, Any]) -> None:
        if self._session is not None:
            self._session.choose(str(message.get("id", "")))

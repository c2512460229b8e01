"""The values of `PlanView` about the chosen node or device, about all nodes, and about the export."""

from __future__ import annotations

from typing import Any, ClassVar

import traitlets
from msgspec.structs import replace

from dra_lab.session import Session
from dra_lab.session.preparing import is_small
from dra_lab.widgets import messages
from dra_lab.widgets.plan_values import NodeRow, OutgoingRow, PinOffer, WhyNotRow
from dra_lab.widgets.session_view import Actions, FollowingWidget, latest_plan
from dra_lab.widgets.why_not_rows import explained_node, node_rows, outgoing_rows, pin_offer, why_not_row

_REST = 1.0
"""Seconds without an edit after which the export is simulated."""


class LookedAt(FollowingWidget):
    """A view that answers "why not?" for the session's node and device."""

    why_not = traitlets.Dict().tag(sync=True, value=WhyNotRow)
    nodes: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[NodeRow])
    outgoing: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[OutgoingRow])

    pin_offer = traitlets.Dict().tag(sync=True, value=PinOffer)

    def _follow_look(self, session: Session) -> None:
        """Answer for the session's node and device from now on."""
        self._why_of: tuple[Any, ...] = ()
        self._when(session, self._soon(self._show_why_not), "look", "plan", "cluster")
        self._when(session, self._show_nodes, "plan", "cluster")
        self._when(session, self._soon(self._simulate, _REST), "plan", "mode")

    def _show_why_not(self) -> None:
        if (session := self._session) is None or not session.is_prepared:
            return
        plan, cluster = latest_plan(session), session.cluster
        looked_at, device = session.looked_at
        node = explained_node(plan, cluster, looked_at, plan.shortfalls[0].node if plan and plan.shortfalls else "")
        if session.stale or not node:
            return
        # by identity: to compare two large clusters takes longer than to answer
        about = (node, device, looked_at, session.number, id(cluster), id(plan))
        if about == self._why_of:
            return
        self._why_of = about
        row = why_not_row(cluster, session.sketch, session.release, plan, node, device)
        self._assign(why_not=replace(row, asked=node == looked_at))

    def _show_nodes(self) -> None:
        if (session := self._session) is not None:
            self._assign(nodes=node_rows(session.cluster, latest_plan(session), session.drawing.node))

    def _simulate(self) -> None:
        """Find out what kube-scheduler does with the manifests; a large cluster waits until Export is opened."""
        session = self._session
        if session is None or session.mode != "plan" or not session.prepares_export or not session.is_answered:
            return
        if is_small(session.cluster) and not (session.exporting.is_open or session.exporting.is_present):
            session.exporting.simulate()

    def _set_outgoing(self, text: str) -> None:
        """Show the words about the manifests."""
        if (session := self._session) is not None:
            known = session.exporting if "exporting" in vars(session) and session.exporting.is_present else None
            self._assign(pin_offer=pin_offer(known) if known is not None else {})
            self._assign(
                outgoing=outgoing_rows(
                    session.answer if session.is_answered else None,
                    text,
                    session.release,
                    session.manifest_findings,
                    searching=session.searching,
                    simulation=known.plain.simulation if known is not None and known.plain is not None else None,
                )
            )

    # ------------------------------------------------------------ what the person did

    def _look_at(self, message: messages.LookAt) -> None:
        if self._session is not None:
            self._session.look_at(message.node, message.device)

    def _show_difference(self, _message: messages.ShowDifference) -> None:
        if self._session is not None:
            self._session.show_allocation("both")

    looking: ClassVar[Actions] = {
        messages.LookAt: _look_at,
        messages.ShowDifference: _show_difference,
    }

"""Gangs in the Fleet mode: the domains that hold them, the one that is chosen, and the actions of a person."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import traitlets

from dra_lab.model.workload import Workload
from dra_lab.session import Session
from dra_lab.session.fleet_answer import FleetAnswer, pods_of
from dra_lab.session.gang_domains import GangDomains, gang_domains
from dra_lab.widgets import messages
from dra_lab.widgets.domain_rows import (
    chosen_gang,
    domain_card,
    domain_heat,
    domain_id,
    domain_rows,
    first_gang,
    gang_of_message,
)
from dra_lab.widgets.domain_values import DomainCard, DomainTable
from dra_lab.widgets.fleet_values import HeatMap
from dra_lab.widgets.session_view import FollowingWidget
from dra_lab.words.gang_verdict import level_word


class FleetDomains(FollowingWidget):
    """The part of the Fleet mode about gangs; without gangs its table has no names of gangs.

    Both sides write `fleet_gang` (the gang whose domains are shown), `fleet_domain` (the id of the chosen domain) and
    `fleet_side` (what the right side shows: domains or devices).
    """

    fleet_domains = traitlets.Dict().tag(sync=True, value=DomainTable)
    fleet_domain_card = traitlets.Dict().tag(sync=True, value=DomainCard)
    fleet_gang = traitlets.Unicode("").tag(sync=True)
    fleet_domain = traitlets.Unicode("").tag(sync=True)
    fleet_side = traitlets.Unicode("domains").tag(sync=True)

    def _follow_domains(self, session: Session) -> None:
        self._domains: GangDomains | None = None
        self._domains_of: tuple[FleetAnswer, Workload] | None = None
        self._when(session, self._show_domains, "fleet", "mode")
        self.observe(lambda _change: self._try("_show_domains", self._show_domains), ["fleet_gang"])
        self.observe(lambda _change: self._try("_show_domain", self._show_domain), ["fleet_domain"])

    def _show_domains(self) -> None:
        if (session := self._session) is None or session.mode != "fleet":
            return
        names = tuple(pod.pod for pod in session.fleet.workloads if pod.gang is not None)
        answer = session.fleet.answer
        if not names or session.fleet.refusal is not None or answer is None or answer.gangs is None:
            note = "No answer." if session.fleet.refusal is not None else "Planning …"
            self._domains = None
            self._assign(fleet_domains=DomainTable(gangs=names, note=note), fleet_domain_card=DomainCard())
            return
        gang = chosen_gang(answer.plan.gangs, self.fleet_gang)
        if gang is None:
            return
        known = self._domains_of
        if self._domains is None or known is None or known[0] is not answer or known[1] is not gang:
            self._domains_of, self._domains = (answer, gang), gang_domains(answer, gang)
        found = self._domains
        word = level_word(found.level)
        table = DomainTable(
            gang=gang.name,
            gangs=names,
            level=word,
            title=f"Pods of {gang.name} that each {word} holds" if word else f"Pods of {gang.name} that the nodes hold",
            rows=domain_rows(found, len(answer.question.cluster.node_names)),
            heat=domain_heat(found) if gang.level else HeatMap(),
        )
        self._assign(fleet_domains=table)
        self._show_domain()

    def _show_domain(self) -> None:
        found = self._domains
        domains = found.domains if found is not None else ()
        domain = next((one for one in domains if domain_id(one.path) == self.fleet_domain), None)
        self._assign(fleet_domain_card=DomainCard() if domain is None or found is None else domain_card(found, domain))

    def _make_gang(self, message: messages.MakeGang) -> None:
        if (session := self._session) is not None:
            pods = pods_of(session.fleet.workload(message.name))
            session.fleet.set_gang(message.name, first_gang(session.cluster, pods))
            self.fleet_gang, self.fleet_side = message.name, "domains"

    def _set_gang(self, message: messages.SetGang) -> None:
        if self._session is not None:
            self._session.fleet.set_gang(message.name, gang_of_message(message))

    gang_actions: ClassVar[Mapping[type[messages.Message], Callable[[Any, Any], None]]] = {
        messages.MakeGang: _make_gang,
        messages.SetGang: _set_gang,
    }

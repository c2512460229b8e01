"""Gangs in the Fleet mode: the domains that hold them, the one that is chosen, and the actions of a person."""

from __future__ import annotations

import traitlets

from dra_lab.model.workload import Workload
from dra_lab.session.fleet_answer import FleetAnswer, pods_of
from dra_lab.session.gang_domains import GangDomains, gang_domains
from dra_lab.widgets.device_rows import HeatMap
from dra_lab.widgets.domain_rows import (
    asked_gang,
    chosen_gang,
    domain_card,
    domain_heat,
    domain_id,
    domain_rows,
    first_gang,
)
from dra_lab.widgets.domain_values import DomainCard, DomainTable
from dra_lab.widgets.messages import on
from dra_lab.widgets.session_view import Pane
from dra_lab.words.workload_words import level_word


class FleetDomains(Pane):
    """The part of the Fleet mode about gangs; without gangs its table has no names of gangs.

    Both sides write `fleet_gang` (the gang whose domains are shown), `fleet_domain` (the id of the chosen domain) and
    `fleet_side` (what the right side shows: domains or devices).
    """

    fleet_domains = traitlets.Dict().tag(sync=True, value=DomainTable)
    fleet_domain_card = traitlets.Dict().tag(sync=True, value=DomainCard)
    fleet_gang = traitlets.Unicode("").tag(sync=True)
    fleet_domain = traitlets.Unicode("").tag(sync=True)
    fleet_side = traitlets.Unicode("domains").tag(sync=True)

    def _begin(self) -> None:
        self._domains: GangDomains | None = None
        self._domains_of: tuple[FleetAnswer, Workload] | None = None
        self.when(self._show_domains, "fleet", "mode")
        self.watch(self._show_domains, "fleet_gang")
        self.watch(self._show_domain, "fleet_domain")

    def _show_domains(self) -> None:
        fleet, answer = self.session.fleet, self.session.fleet.answer
        if self.session.mode != "fleet":
            return
        names = tuple(pod.pod for pod in fleet.workloads if pod.gang is not None)
        if not names or fleet.refusal is not None or answer is None or answer.gangs is None:
            note = "No answer." if fleet.refusal is not None else "Planning …"
            self._domains = None
            self.assign(fleet_domains=DomainTable(gangs=names, note=note), fleet_domain_card=DomainCard())
            return
        gang = chosen_gang(answer.plan.gangs, self.view.fleet_gang)
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
        self.assign(fleet_domains=table)
        self._show_domain()

    def _show_domain(self) -> None:
        found, chosen = self._domains, self.view.fleet_domain
        domains = found.domains if found is not None else ()
        domain = next((one for one in domains if domain_id(one.path) == chosen), None)
        self.assign(fleet_domain_card=DomainCard() if domain is None or found is None else domain_card(found, domain))

    @on
    def make_gang(self, name: str) -> None:
        """Make a workload one gang of all its pods in one domain of the innermost level."""
        fleet = self.session.fleet
        fleet.set_gang(name, first_gang(self.session.cluster, pods_of(fleet.workload(name))))
        self.view.fleet_gang, self.view.fleet_side = name, "domains"

    @on
    def set_gang(
        self,
        name: str,
        size: int,
        min: int = 0,  # noqa: A002  the field of the message
        level: str = "",
        hierarchy: str = "",
        prefer: str = "",
        queue: str = "",
    ) -> None:
        """Change the gang of a workload: `min` 0 stands for all pods, `size` 0 for no gang."""
        self.session.fleet.set_gang(name, asked_gang(size, min, level, hierarchy, prefer, queue))

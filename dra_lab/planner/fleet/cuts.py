"""Rows on demand: sets of shared devices are counted once a plan takes more of them than there are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dra_lab.model.names import DeviceID
from dra_lab.planner.fleet.giving import devices_for, short_of
from dra_lab.planner.fleet.placing import Stand
from dra_lab.planner.fleet.sites import Cap, Site
from dra_lab.planner.fleet.tables import AnyTable, Table


def too_much(tables: Iterable[AnyTable], stands: Sequence[Stand]) -> list[frozenset[DeviceID]]:
    """Return sets of devices of which a plan takes more than there are; none where that is ruled out beforehand."""
    if not any(table.site.partly for table in tables):
        return []
    return short_of([(stand.site, stand.takes) for stand in stands])


def count_too(tables: Iterable[AnyTable], unions: Sequence[frozenset[DeviceID]]) -> None:
    """Count from now on what is taken of some sets of devices, by whoever may take no others.

    What was known of the tables stays true: no plan is ruled out that there are devices for.
    """
    for table in tables:
        if isinstance(table, Table) and table.site.partly:
            caps = [_cap(table.site, union) for union in unions]
            table.site = table.site.counting([cap for cap in caps if any(cap.weights)])


def _cap(site: Site, union: frozenset[DeviceID]) -> Cap:
    weights = [0] * len(site.parts)
    for part in site.parts:
        for ask in range(*part.asks):
            mine = devices_for(site, ask)
            if mine and mine <= union:
                weights[part.pod] += site.problem.need(ask)
    return Cap(tuple(weights), tuple(sorted(union)))

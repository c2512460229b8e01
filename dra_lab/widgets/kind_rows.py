"""The kinds of a node's drivers that dra_lab has no data file for, each with the profile file that sets it."""

from __future__ import annotations

from msgspec.structs import replace

from dra_lab.drivers import known_drivers, profile
from dra_lab.index.driver_kinds import guessed_kinds
from dra_lab.index.pools import gather_pools
from dra_lab.model.cluster import Cluster
from dra_lab.model.driver_profile import KindRule
from dra_lab.widgets.wire import Row


class DriverKindRow(Row, frozen=True):
    """A driver of the node: the kind of its devices, whether it is guessed, and the text of its profile file.

    `kind` is "" if the attributes of each device decide.
    """

    driver: str
    kind: str
    guessed: bool = False
    profile: str = ""


def driver_kind_rows(cluster: Cluster, node: str) -> tuple[DriverKindRow, ...]:
    """Return a row for each driver on a node that dra_lab has no data file for, by name."""
    drivers = {pool.driver for pool in gather_pools(cluster, node)} - set(known_drivers())
    return tuple(_row(cluster, driver) for driver in sorted(drivers))


def _row(cluster: Cluster, driver: str) -> DriverKindRow:
    from dra_lab.sources.driver_profiles import profile_text

    known, guess = profile(driver, cluster.profiles), dict(guessed_kinds(cluster)).get(driver, "")
    if not known.kinds:
        known = replace(known, kinds=(KindRule(guess or "other"),))
    kind = "" if not known.kinds or known.kinds[0].when else known.kinds[0].kind
    return DriverKindRow(driver=driver, kind=kind, guessed=bool(guess), profile=profile_text(known))

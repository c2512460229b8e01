"""GangAnswer: what is known of the gangs of a fleet so far."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from dra_lab.model.gang_verdicts import GangVerdicts
    from dra_lab.model.headroom import Headroom
    from dra_lab.pinning.gang_choices import GangChoice


class NodeHeadroom(Struct, frozen=True):
    """How many pods of a gang each node holds alone: `idle` if nothing were in use, `now`, and `left` after the plan.

    `exact` says that all three are proven and that nodes do not share devices, so that they may be added.
    """

    idle: Mapping[str, int] = {}
    now: Mapping[str, int] = {}
    left: Mapping[str, int] = {}
    exact: bool = False


class GangAnswer(Struct, frozen=True):
    """What is known of gangs so far, by the name of the gang where it is about one.

    `more` counts the gangs that fit after the plan, `total` those that fit on the cluster without it, with every level.
    `choices` are what schedulers do, and `verdicts` what Kueue's quota says, in place of it why that is not known.
    """

    nodes: Mapping[str, NodeHeadroom] = {}
    more: Mapping[str, Headroom] = {}
    total: Mapping[str, Headroom] = {}
    choices: Mapping[str, tuple[GangChoice, ...]] = {}
    verdicts: Mapping[str, GangVerdicts | str] = {}

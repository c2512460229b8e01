"""Gangs over a cluster: pods that start together in one rack, block or NVLink domain."""

from dra_lab.planner.gangs.gang_verdicts import gang_verdicts
from dra_lab.planner.gangs.plan_gangs import plan_gangs

__all__ = ["gang_verdicts", "plan_gangs"]

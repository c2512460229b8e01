"""Workloads × replicas over a cluster: the best plan for a fleet, what more fits, and what is stranded."""

from dra_lab.planner.fleet.largest import multiple
from dra_lab.planner.fleet.plan_fleet import plan_fleet

__all__ = ["multiple", "plan_fleet"]

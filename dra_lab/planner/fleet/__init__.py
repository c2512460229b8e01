"""Workloads × replicas over a cluster: the best plan for a fleet, what more fits, and what is stranded."""

from dra_lab.planner.fleet.largest import largest_job, multiple
from dra_lab.planner.fleet.plan_fleet import plan_fleet
from dra_lab.planner.fleet.stranded import stranded

__all__ = ["largest_job", "multiple", "plan_fleet", "stranded"]

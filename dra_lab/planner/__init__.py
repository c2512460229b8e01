"""The best allocation with its proof, or the reasons why there is none."""

from dra_lab.planner.plan_claim import make_plan
from dra_lab.planner.progress import Progress

__all__ = ["Progress", "make_plan"]

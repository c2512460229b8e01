"""The best allocation with its proof, or the reasons why there is none."""

from dra_lab.planner.budget import Progress
from dra_lab.planner.questions import how_many_more, largest_job, make_plan, nodes_to_add, stranded

__all__ = ["Progress", "how_many_more", "largest_job", "make_plan", "nodes_to_add", "stranded"]

"""Question: what a plan answers, as one value."""

from __future__ import annotations

from msgspec import Struct

from dra_lab.model.placement import PlacedPod
from dra_lab.model.workload import Workload


class Question(Struct, frozen=True):
    """The question of a plan: where the pods of `workloads` go on a cluster, given by its name.

    One pod may be asked for `node` only, "" for all nodes. `goals` come before the others. `after` are pods of an
    earlier plan that are there already. With the objective "nodes", all pods are wanted on the fewest nodes.

    Example:
        >>> from dra_lab import load_cluster, make_plan, read_sketch
        >>> plan = make_plan(load_cluster("sample:two-sockets"), read_sketch("sample:two-sockets/lesson"))
        >>> plan.question.cluster, [workload.name for workload in plan.question.workloads]
        ('sample:two-sockets', ['lesson'])
    """

    workloads: tuple[Workload, ...] = ()
    cluster: str = ""
    release: str = ""
    node: str = ""
    goals: tuple[str, ...] = ()
    objective: str = "replicas"
    after: tuple[PlacedPod, ...] = ()

    def __repr__(self) -> str:
        """Return a line; the fields hold all of it."""
        return f"<Question: where {', '.join(one.name for one in self.workloads)} go on {self.cluster!r}>"

"""Workload: replicas of pods that start together, for one pod, a Deployment or a gang; and the question of a plan."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from msgspec import Struct

from dra_lab.errors import InputError, a_kind
from dra_lab.model.placement import PlacedPod
from dra_lab.model.sketch import ClaimSketch, PodDrawing, claims_of

T = TypeVar("T")

HOST = "host"
HOSTS = (HOST, "hostname", "node", "kubernetes.io/hostname")
"""Names of the level below all others: the node itself."""

RAIL = "rail"
"""The name in `Workload.same` that stands for the rails of NICs, published or inferred."""


@dataclass(frozen=True, slots=True, init=False)
class PodGroup:
    """Identical pods of a workload.

    Args:
        name: The name of the group, of its own in the workload.
        claims: The claims of each pod in the pod's order, or the drawing of one pod.
        count: The most pods of the group in one replica of the workload; default 1.
        minimum: The pods without which a replica does not start; default None: all.
        level: The level of which one domain must have all pods of the group; default "": that of the workload.
        prefer_level: The level of which as few domains as possible have pods of the group; default "": none.
        slices: (size, level) from coarse to fine: every `size` pods are in one domain of `level`.
        leader: The group is one pod that leads the others.
        shared_claims: Claims that exist once for the group in each replica and that all pods of the group use
            (`PodGroup.spec.resourceClaims`, KEP-5729). `minimum` is then 1 or more.

    Example:
        >>> from dra_lab import PodGroup, read_sketch
        >>> PodGroup("worker", read_sketch("sample:two-sockets/lesson"), count=4).least
        4
    """

    name: str
    claims: tuple[ClaimSketch, ...]
    count: int = 1
    minimum: int | None = None
    level: str = ""
    prefer_level: str = ""
    slices: tuple[tuple[int, str], ...] = ()
    leader: bool = False
    shared_claims: tuple[ClaimSketch, ...] = ()

    def __init__(
        self,
        name: str,
        claims: ClaimSketch | Iterable[ClaimSketch],
        count: int = 1,
        *,
        minimum: int | None = None,
        level: str = "",
        prefer_level: str = "",
        slices: tuple[tuple[int, str], ...] = (),
        leader: bool = False,
        shared_claims: Iterable[ClaimSketch] = (),
    ) -> None:
        """Take the claims of one pod, or its drawing."""
        given = (
            name,
            _listed("claims", claims, ClaimSketch),
            count,
            minimum,
            level,
            prefer_level,
            slices,
            leader,
            _listed("shared_claims", shared_claims, ClaimSketch),
        )
        for field, value in zip(self.__slots__, given, strict=True):
            object.__setattr__(self, field, value)

    def __repr__(self) -> str:
        """Return a line; the fields hold all of it."""
        claims = ", ".join(claim.name for claim in self.claims) or "no claims"
        return f"<PodGroup {self.name!r}: count {self.count:,}, {claims}>"

    @property
    def least(self) -> int:
        """Return the pods without which a replica does not start."""
        return self.count if self.minimum is None else self.minimum


@dataclass(frozen=True, slots=True, init=False)
class Workload:
    """Replicas of one or several pods. The pods of a replica start together or not at all.

    Args:
        name: The name of the workload.
        what: What one pod asks for: its drawing, or its claims in the pod's order. Groups of pods that differ are a
            list of PodGroups.
        replicas: How many are wanted, each placed by itself; default 1.
        count: The pods of one replica, if `what` is one pod; default 1.
        minimum: The pods without which a replica does not start, if `what` is one pod; default None: all.
        level: The level of which one domain must have all pods of a replica, for example `rack`; default "": no such
            level. `host` is a level of every hierarchy.
        prefer_level: The level of which as few domains as possible have pods of a replica; default "": none.
        hierarchy: The name of the hierarchy of all levels; default "": the only one that has them.
        priority: Workloads of a higher priority are placed first; default 0.
        shared_claims: Claims that exist once for each replica and that all its pods use. They hold the pods to the
            nodes that see their devices: one node, or several for devices of a network.
        same: Attributes by their full names, such as `nvidia.com/rail`. The devices of every pod of a replica have the
            same set of values of each. A request is bound if any of its devices publishes the attribute. `rail` is the
            rail of NICs, inferred from their addresses or names if no device publishes it.
        pods: The groups themselves, in place of `what`.

    Example:
        >>> from dra_lab import Workload, read_sketch
        >>> lesson = read_sketch("sample:two-sockets/lesson")
        >>> Workload("lesson", lesson, replicas=3).size
        1

        Three jobs of four pods, each job in one rack.

        >>> Workload("train", lesson, replicas=3, count=4, level="rack").size
        4
    """

    name: str
    pods: tuple[PodGroup, ...]
    replicas: int = 1
    level: str = ""
    prefer_level: str = ""
    hierarchy: str = ""
    priority: int = 0
    shared_claims: tuple[ClaimSketch, ...] = ()
    same: tuple[str, ...] = ()

    def __init__(
        self,
        name: str,
        what: ClaimSketch | Iterable[ClaimSketch] | Iterable[PodGroup] = (),
        *,
        replicas: int = 1,
        count: int = 1,
        minimum: int | None = None,
        level: str = "",
        prefer_level: str = "",
        hierarchy: str = "",
        priority: int = 0,
        shared_claims: Iterable[ClaimSketch] = (),
        same: Iterable[str] = (),
        pods: Sequence[PodGroup] = (),
    ) -> None:
        """Take a pod, or groups of pods. Raises InputError for anything else."""
        given: Any = pods or what
        if not isinstance(given, str | ClaimSketch) and isinstance(given, Iterable):
            given = tuple(given)
        if isinstance(given, tuple) and any(isinstance(one, PodGroup) for one in given):
            if count != 1 or minimum is not None:
                raise InputError("count and minimum are for one pod; give them to each PodGroup")
            groups = _listed("what", given, PodGroup)
        else:
            groups = (PodGroup(name, _listed("what", given, ClaimSketch), count, minimum=minimum),)
        shared = _listed("shared_claims", shared_claims, ClaimSketch)
        if isinstance(same, str):
            raise InputError(f"same is a list of attributes, not one text; write same=({same!r},)")
        attributes = _listed("same", same, str)
        values = (name, groups, replicas, level, prefer_level, hierarchy, priority, shared, attributes)
        for field, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, field, value)

    def __repr__(self) -> str:
        """Return a line; the fields hold all of it."""
        pods = f", {self.size:,} pods each" if self.is_gang else ""
        return f"<Workload {self.name!r}: replicas {self.replicas:,}{pods}>"

    @property
    def claims(self) -> tuple[ClaimSketch, ...]:
        """Return the claims of a pod of each group."""
        return tuple(claim for group in self.pods for claim in group.claims)

    @property
    def size(self) -> int:
        """Return the most pods of one replica."""
        return sum(group.count for group in self.pods)

    @property
    def least(self) -> int:
        """Return the pods of one replica without which it does not start."""
        return sum(group.least for group in self.pods)

    @property
    def every_shared_claim(self) -> tuple[ClaimSketch, ...]:
        """Return the claims that pods share: those of all pods of a replica, then those of its groups."""
        return (*self.shared_claims, *(claim for group in self.pods for claim in group.shared_claims))

    @property
    def is_gang(self) -> bool:
        """Say whether more than the claims of one pod decide where a replica goes."""
        beside = (self.level, self.prefer_level, self.priority, self.shared_claims)
        alone = [PodGroup(group.name, group.claims) for group in self.pods]
        return beside != ("", "", 0, ()) or list(self.pods) != alone or len(alone) > 1


def workload_of(drawn: PodDrawing) -> Workload:
    """Return a workload of a plan file."""
    gang = drawn.gang
    if gang is None:
        return Workload(drawn.pod, drawn.claims, replicas=drawn.replicas)
    return Workload(
        drawn.pod,
        drawn.claims,
        replicas=drawn.replicas,
        count=gang.size,
        minimum=gang.min,
        level=gang.level,
        prefer_level=gang.prefer_level,
        hierarchy=gang.hierarchy,
        same=gang.same,
    )


def asked_name(planned: str, asked: Collection[str]) -> str:
    """Return the workload of a question that a workload of its plan belongs to: `train` for `train-2`.

    Replicas that use other values of `same` are a workload of their own, with a number that no other name has.
    """
    base, _, number = planned.rpartition("-")
    return base if planned not in asked and base in asked and number.isdigit() else planned


def _listed(name: str, values: Any, kind: type[T]) -> tuple[T, ...]:
    """Return values of a kind as a tuple; the claims of a drawing. Raises InputError that names the argument."""
    if isinstance(values, str) or not isinstance(values, ClaimSketch | Iterable):
        raise InputError(f"{name} is a drawing or a list of {kind.__name__}, not {a_kind(values)}")
    found: tuple[Any, ...] = claims_of(values) if isinstance(values, ClaimSketch) else tuple(values)
    for number, value in enumerate(found):
        if not isinstance(value, kind):
            raise InputError(f"{name}[{number}] is a {kind.__name__}, not {a_kind(value)}")
    return found


# --------------------------------------------------------------------- the question of a plan


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

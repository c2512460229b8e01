"""Where pods are: the devices of requests, pods and the claims that they share, what kube-scheduler takes and costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.model.goals import GoalValue
from dra_lab.model.names import MARK, DeviceID
from dra_lab.printing import Shown


class Placement(Struct, frozen=True, gc=False):
    """A device chosen for a request.

    `request` is the reference in its claim (`gpu`, or `gpu/aligned` for an alternative). `manifest_request` is the name
    in the compiled claim (`gpu-0`) if it is known. `consumed` is the capacity it takes of a shareable device. `claim`
    is the claim it is for, "" if the pod has one.
    """

    request: str
    device: DeviceID
    manifest_request: str = ""
    consumed: Mapping[str, str] = {}
    claim: str = ""

    def __hash__(self) -> int:
        """Return the hash of the device and what it is for."""
        return hash((self.request, self.device, self.claim))

    @property
    def reference(self) -> str:
        """Return the reference in the plan's drawing: `claim:request` where the pod has several claims."""
        return f"{self.claim}{MARK}{self.request}" if self.claim else self.request


class PlacedPod(Struct, frozen=True, gc=False):
    """One pod with a place.

    `replica` counts the replicas of its workload from 0, and `number` the pods of its group in the replica. `group` is
    the name of the group, "" in a workload of single pods. `devices` name the claim they are for where the pod has
    several; `goals` are the values of this pod alone. `domain` is the path of the domain of the required level that has
    its replica, () if no level is required; for `host` it is the name of the node.
    """

    workload: str
    replica: int
    node: str
    devices: tuple[Placement, ...]
    goals: tuple[GoalValue, ...] = ()
    group: str = ""
    number: int = 0
    domain: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return a line; the fields hold all of it."""
        return f"<PlacedPod {self.name} on {self.node}: devices {len(self.devices):,}>"

    @property
    def name(self) -> str:
        """Return `WORKLOAD/REPLICA`, or `WORKLOAD/REPLICA/GROUP/NUMBER` in a gang."""
        return "/".join([self.workload, str(self.replica), *([self.group, str(self.number)] if self.group else [])])


class SameValues(Struct, frozen=True):
    """The values of an attribute that the devices of every pod of a replica have, sorted (`Workload.same`).

    `inferred`: no device publishes rails, and this attribute of NICs stands for them.
    """

    workload: str
    replica: int
    attribute: str
    values: tuple[str | int | bool, ...]
    inferred: bool = False


class SharedClaim(Struct, frozen=True, gc=False):
    """The devices of the claims that all pods of a replica use together, or with `group` those of one group."""

    workload: str
    replica: int
    group: str
    node: str
    devices: tuple[Placement, ...]
    goals: tuple[GoalValue, ...] = ()

    @property
    def name(self) -> str:
        """Return `WORKLOAD/REPLICA/shared`, or `WORKLOAD/REPLICA/GROUP/shared`."""
        return "/".join(filter(None, (self.workload, str(self.replica), self.group, "shared")))


class PlacedReplica(Struct, frozen=True):
    """A replica with a place: its pods in the order of their groups, and what its shared claims have."""

    workload: str
    replica: int
    domain: tuple[str, ...]
    pods: tuple[PlacedPod, ...]
    shared: tuple[SharedClaim, ...] = ()

    @property
    def nodes(self) -> tuple[str, ...]:
        """Return the nodes of its pods, sorted."""
        return tuple(sorted({pod.node for pod in self.pods}))


class FirstFitStatus(StrEnum):
    """What kube-scheduler's search ends with on one node."""

    ALLOCATED = "allocated"
    NONE = "none"
    ERROR = "error"
    STOPPED = "stopped"


class Start(StrEnum):
    """Whether a pod starts with a manifest: what kube-scheduler's search on every node that the pod may use gives.

    `NEVER`: no node has its devices, or the search on one node ends every attempt. `OPEN`: a search did not end here.
    """

    NOT_SEARCHED = "not-searched"
    STARTS = "starts"
    NEVER = "never"
    OPEN = "open"


class FirstFit(Struct, frozen=True):
    """The devices that kube-scheduler's first fit takes where the pods of a plan are.

    `status` is `error` when the whole attempt of the pod would be given up (`message` says why). It is `stopped` when
    the search of one pod was cut off after `steps` candidates, or that of many pods after the nodes that `compared`
    names. `goals` values the same goals as the plan's.
    """

    status: FirstFitStatus
    pods: tuple[PlacedPod, ...] = ()
    goals: tuple[GoalValue, ...] = ()
    message: str = ""
    steps: int = 0
    recorded: bool = True
    compared: tuple[str, ...] = ()

    @property
    def placements(self) -> tuple[Placement, ...]:
        """Return the devices of the first pod."""
        return self.pods[0].devices if self.pods else ()

    @property
    def placed(self) -> Mapping[str, int]:
        """Return how many pods of each workload have devices."""
        return Counter(pod.workload for pod in self.pods)

    def value(self, goal: str) -> int | None:
        """Return the value of a goal, or None."""
        return next((one.value for one in self.goals if one.goal == goal), None)


class GoalRegret(Struct, frozen=True):
    """One goal that differs: the plan's value, kube-scheduler's, and how much worse that is (negative: better)."""

    goal: str
    best: int
    theirs: int

    @property
    def difference(self) -> int:
        """Return how much worse kube-scheduler is."""
        return self.theirs - self.best


class PathShare(Struct, frozen=True):
    """GPUs of an allocation that have their NIC on the same kind of path, and what that leaves of the bandwidth.

    `path` is a key of `topology.places.PATHS`, and `words` says it. `low` and `high` are ratios to the bandwidth
    that a GPU and its NIC reach on one PCIe root, None if nothing is known. `kind` is `reference` (that path itself,
    without `sources`), `measured` (published measurements), `yours` (by a person), `derived` or `unknown`. `sources`
    say where. `against` names published measurements outside the range, and what they measured.
    """

    path: str
    words: str
    gpus: int
    low: float | None
    high: float | None
    kind: str
    sources: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    note: str = ""


class Regret(Shown, Struct, frozen=True):
    """What the first fit costs on the plan's own node.

    `against` is `manifest` (kube-scheduler with the compiled manifest) or `plain` (counts and selectors only). `goals`
    are those that differ, in their order. `best` and `theirs` describe the paths from the GPUs to their NICs, () if the
    claim takes no GPUs or no NICs.
    """

    against: str
    goals: tuple[GoalRegret, ...] = ()
    best: tuple[PathShare, ...] = ()
    theirs: tuple[PathShare, ...] = ()

    @property
    def paths_differ(self) -> bool:
        """Say whether the GPUs reach their NICs in other ways than in the plan."""
        return self.best != self.theirs


REFERENCE, YOURS = "reference", "yours"
"""Kinds of a `PathShare`: the path that others are compared with, and a ratio that a person measured."""


def measured_path(regrets: Sequence[Regret]) -> str:
    """Return the worst known path that kube-scheduler without links allocates, which a person can measure; "" if none.

    Paths are in their order, the nearest first; the reference, and GPUs without a NIC, are not measured.
    """
    plain = next((regret.theirs for regret in regrets if regret.against == "plain"), ())
    known = [share.path for share in plain if share.kind != REFERENCE and share.path not in ("none", "unknown")]
    return known[-1] if known else ""


def with_measured(regrets: Sequence[Regret], measured: Mapping[str, tuple[float, float]]) -> tuple[Regret, ...]:
    """Return regrets with a person's own ratios for the paths of which they gave both numbers (with, without link)."""

    def own(shares: tuple[PathShare, ...]) -> tuple[PathShare, ...]:
        return tuple(_own(share, *measured[share.path]) if share.path in measured else share for share in shares)

    return tuple(replace(regret, best=own(regret.best), theirs=own(regret.theirs)) for regret in regrets)


def _own(share: PathShare, near: float, far: float) -> PathShare:
    ratio = round(far / near, 2)
    source = f"{far:g} without the link, {near:g} with it"
    note = "it is faster without the link; are the two numbers swapped?" if far > near else ""
    return replace(share, low=ratio, high=ratio, kind=YOURS, sources=(source,), against=(), note=note)

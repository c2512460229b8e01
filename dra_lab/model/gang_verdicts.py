"""What stops a gang in Kueue: quota, counts or devices; and whether a scheduler finds a place for a gang."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from msgspec import Struct

from dra_lab.printing import Shown


class GangVerdict(StrEnum):
    """Whether a scheduler finds a place: it does, it may (the order or a score decides), it does not."""

    YES = "yes"
    MAYBE = "maybe"
    NO = "no"


class DomainReplay(Struct, frozen=True):
    """One domain: pods with a place in any order, pods in the best order as far as is known, and pods needed.

    `domain` is the value of the node label, or the path that Kueue writes.
    """

    domain: str
    least: int
    most: int
    wanted: int


class GangReplay(Shown, Struct, frozen=True):
    """Whether a scheduler, with its version, finds a place for a gang, why, and what each domain that it tries has."""

    scheduler: str
    verdict: GangVerdict
    sentence: str
    domains: tuple[DomainReplay, ...] = ()
    gang: str = ""


class GangChoice(Struct, frozen=True):
    """The choice of one scheduler for the gangs that are wanted, with its verdict about the first one.

    `started` is how many gangs start if they arrive one after the other, None if that is not known. `trapped` are
    the paths of domains that it chooses although the claims cannot be met there.
    """

    replay: GangReplay
    started: tuple[int, int] | None = None
    trapped: tuple[str, ...] = ()


QUOTA = "quota"
COUNTS = "topology counts"
DEVICES = "devices"


class Says(StrEnum):
    """The answer to one question.

    `waits`: not now, but once other workloads end. `never`: more than there is. `inadmissible`: Kueue refuses the gang
    or the queue as it is written. `not counted`: Kueue does not ask this question.
    """

    YES = "yes"
    WAITS = "waits"
    NO = "no"
    NEVER = "never"
    INADMISSIBLE = "inadmissible"
    NOT_COUNTED = "not counted"
    UNKNOWN = "unknown"


STOPS = (Says.WAITS, Says.NO, Says.NEVER, Says.INADMISSIBLE)


class QuotaAmount(Struct, frozen=True):
    """The quota of one resource in one flavor, in whole units (thousandths of CPUs).

    `wanted` is what one gang needs. `available` may be used now, with what may be borrowed, and `most` if nothing
    else is in use. `nominal` is the queue's own quota, and `used` what its workloads hold. `flavor` is "" if no
    flavor of the queue has the resource. `classes` are the DeviceClasses whose devices it counts.
    """

    resource: str
    flavor: str
    wanted: int
    available: int
    most: int
    nominal: int = 0
    used: int = 0
    classes: tuple[str, ...] = ()

    @property
    def borrowable(self) -> int:
        """Return how much of `available` comes from other queues of its Cohorts."""
        return max(0, self.available - max(0, self.nominal - self.used))


class VerdictRow(Struct, frozen=True):
    """The answer to one question (`quota`, `topology counts`, `devices`) with its reason; `notes` are assumptions."""

    question: str
    says: Says
    sentence: str
    notes: tuple[str, ...] = ()


class DomainVerdict(Struct, frozen=True):
    """One domain of the level that the gang requires, with the pods of one gang that are wanted.

    `counted` are the pods for which Kueue counts enough, and `devices` those for which it has devices, at most
    `bound`; None where that was not worked out.
    """

    domain: tuple[str, ...]
    wanted: int
    counted: int | None = None
    devices: int | None = None
    bound: int | None = None
    lacking: tuple[str, ...] = ()


@dataclass(frozen=True)
class QuotaAnswers:
    """What the quota of a queue says of a gang.

    `queue` is the LocalQueue, `NAMESPACE/NAME`, or the ClusterQueue that was named, "" if none was found. `gangs`
    is how many of the wanted gangs it admits now, one after the other. `flavors` is the flavor of each group, by
    the name of its workload, if it admits the gang.
    """

    row: VerdictRow
    queue: str = ""
    cluster_queue: str = ""
    amounts: tuple[QuotaAmount, ...] = ()
    gangs: int = 0
    flavors: Mapping[str, tuple[str, ...]] | None = None


@dataclass(frozen=True, repr=False)
class GangVerdicts(Shown):
    """Quota, topology counts and devices of a gang, side by side.

    `counts` is what Kueue counts in each domain without devices. `chosen` is the domain that Kueue would choose by
    its counts, () if that is not known.
    """

    gang: str
    quota: QuotaAnswers
    counts: VerdictRow
    devices: VerdictRow
    domains: tuple[DomainVerdict, ...] = ()
    chosen: tuple[str, ...] = ()
    advice: str = ""
    cluster: str = ""

    @property
    def rows(self) -> tuple[VerdictRow, VerdictRow, VerdictRow]:
        """Return the three answers: quota, topology counts, devices."""
        return self.quota.row, self.counts, self.devices

    @property
    def stopped_by(self) -> tuple[str, ...]:
        """Return the questions whose answer stops the gang."""
        return tuple(row.question for row in self.rows if row.says in STOPS)

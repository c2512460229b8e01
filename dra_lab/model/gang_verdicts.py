"""What stops a gang in Kueue: quota, counts or devices; and whether a scheduler finds a place for a gang."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from msgspec import Struct

from dra_lab.model.printing import printed


class GangVerdict(StrEnum):
    """Whether a scheduler finds a place: it does, it may (the order or a score decides), it does not."""

    YES = "yes"
    MAYBE = "maybe"
    NO = "no"


class DomainReplay(Struct, frozen=True):
    """What happens in one domain.

    Args:
        domain: The value of the node label, or the path that Kueue writes.
        least: The pods that get a place in any order.
        most: The pods that get a place in the best order, as far as it is known.
        wanted: The pods without which the gang does not start there.
    """

    domain: str
    least: int
    most: int
    wanted: int


class GangReplay(Struct, frozen=True):
    """Whether a scheduler finds a place for a gang.

    Args:
        scheduler: Its name and version.
        verdict: Whether it finds a place for the gang.
        sentence: Why, in a sentence.
        domains: What happens in each domain that it tries or chooses.
        gang: The name of the gang.

    Example:
        >>> from dra_lab import KubernetesRelease, PodGroup, Workload, load_cluster, make_plan, read_sketch
        >>> from dra_lab.pinning.gang_choices import gang_choices

        Both workers must be on one node.

        >>> worker = PodGroup("worker", read_sketch("sample:two-sockets/lesson"), count=2)
        >>> gang = Workload("train", [worker], level="host")
        >>> cluster = load_cluster("sample:two-sockets")
        >>> found = gang_choices(cluster, gang, None, KubernetesRelease("1.36"), make_plan(cluster, gang))[0]
        >>> [(row.domain, row.most, row.wanted) for row in found.replay.domains]
        [('lab-1', 2, 2), ('lab-2', 1, 2)]
    """

    scheduler: str
    verdict: GangVerdict
    sentence: str
    domains: tuple[DomainReplay, ...] = ()
    gang: str = ""

    def __str__(self) -> str:
        """Return the answer as a terminal shows it."""
        return printed(self)


class GangChoice(Struct, frozen=True):
    """The choice of one scheduler for the gangs that are wanted.

    Args:
        replay: Its verdict about the first gang.
        started: How many gangs start if they arrive one after the other; None if that is not known.
        trapped: The domains that it chooses although the claims cannot be met there, as paths.
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

    Args:
        resource: The resource that the ClusterQueue counts.
        flavor: The ResourceFlavor; "" if no flavor of the queue has the resource.
        wanted: What one gang needs.
        available: What the queue may still use now, with what it may borrow.
        most: What the queue may use if nothing else is in use.
        nominal: The queue's own quota.
        used: What workloads of the queue hold.
        classes: The DeviceClasses whose devices it counts.
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
    """The answer to one question with its reason.

    Args:
        question: `quota`, `topology counts` or `devices`.
        says: The answer.
        sentence: The reason in a sentence.
        notes: What was assumed, and what is not known.
    """

    question: str
    says: Says
    sentence: str
    notes: tuple[str, ...] = ()


class DomainVerdict(Struct, frozen=True):
    """One domain of the level that the gang requires.

    Args:
        domain: The path of the domain.
        wanted: The pods of one gang.
        counted: The pods for which Kueue counts enough; None if it was not counted.
        devices: The pods for which the domain has devices; None if it was not planned.
        bound: The most pods for which it could have devices.
        lacking: What keeps pods away.
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

    Args:
        row: The answer.
        queue: The LocalQueue, `NAMESPACE/NAME`, or the ClusterQueue that was named; "" if none was found.
        cluster_queue: The ClusterQueue; "" if none was found.
        amounts: Each resource that the gang needs, with its flavor.
        gangs: How many of the wanted gangs the quota admits now, one after the other.
        flavors: The flavor of each group of the gang, by the name of its workload, if the quota admits it.
    """

    row: VerdictRow
    queue: str = ""
    cluster_queue: str = ""
    amounts: tuple[QuotaAmount, ...] = ()
    gangs: int = 0
    flavors: Mapping[str, tuple[str, ...]] | None = None


@dataclass(frozen=True)
class GangVerdicts:
    """Quota, topology counts and devices of a gang, side by side.

    Args:
        gang: The name of the gang.
        quota: What the quota says.
        counts: What Kueue counts in each domain without devices.
        devices: Whether the domains have devices for the gang.
        domains: The numbers of each domain of the level that the gang requires.
        chosen: The domain that Kueue would choose by its counts; () if it is not known.
        advice: What to do next; "" for nothing.
        cluster: The name of the cluster.

    Example:
        >>> from dra_lab import PodGroup, Workload, load_cluster, read_sketch
        >>> from dra_lab.planner.gangs import gang_verdicts

        Both workers start together or not at all.

        >>> worker = PodGroup("worker", read_sketch("sample:two-sockets/lesson"), count=2)

        The sample has no queue of Kueue.

        >>> found = gang_verdicts(load_cluster("sample:two-sockets"), Workload("train", [worker]))
        >>> [(row.question, row.says.value) for row in found.rows]
        [('quota', 'unknown'), ('topology counts', 'unknown'), ('devices', 'yes')]
    """

    gang: str
    quota: QuotaAnswers
    counts: VerdictRow
    devices: VerdictRow
    domains: tuple[DomainVerdict, ...] = ()
    chosen: tuple[str, ...] = ()
    advice: str = ""
    cluster: str = ""

    def __str__(self) -> str:
        """Return the answer as a terminal shows it."""
        return printed(self)

    @property
    def rows(self) -> tuple[VerdictRow, VerdictRow, VerdictRow]:
        """Return the three answers: quota, topology counts, devices."""
        return self.quota.row, self.counts, self.devices

    @property
    def stopped_by(self) -> tuple[str, ...]:
        """Return the questions whose answer stops the gang."""
        return tuple(row.question for row in self.rows if row.says in STOPS)

"""Whether a scheduler finds a place for a gang, with its reason and the domains that it may choose."""

from __future__ import annotations

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

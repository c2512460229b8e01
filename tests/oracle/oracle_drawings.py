"""A claim as plain numbers: what it asks for and how that is linked; the drawing that says the same to dra-lab."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from oracle_clusters import CORES
from random_devices import GPU, KINDS, selector

from dra_lab.model.claims import CapacityRequirements, DeviceRequest, ExactDeviceRequest
from dra_lab.model.sketch import MAX_DEVICES, ClaimSketch, How, Link

ROOTS, NUMAS, NODE = "pcieRoot", "numaNode", ""
"""Levels of a link from near to far; NODE is no link."""


@dataclass(frozen=True)
class Ask:
    """A request for devices of a driver; `profile` is that of partitions, `cores` are those of each shared device."""

    name: str
    driver: str
    count: int = 1
    profile: str = ""
    cores: int = 0

    @property
    def kind(self) -> str:
        """Return what is asked for: gpu, nic or cpu."""
        return KINDS[self.driver]

    def request(self) -> DeviceRequest:
        """Return the request of the API."""
        asked = ExactDeviceRequest(
            device_class_name=self.driver,
            count=self.count,
            selectors=(selector(f'device.attributes["{GPU}"].profile == "{self.profile}"'),) if self.profile else (),
            capacity=CapacityRequirements(requests={CORES: self.cores}) if self.cores else None,
        )
        return DeviceRequest(name=self.name, exactly=asked)


@dataclass(frozen=True)
class Drawn:
    """Requests and links."""

    asks: tuple[Ask, ...]
    links: tuple[Link, ...] = ()

    @property
    def devices(self) -> int:
        """Return the devices of a replica."""
        return sum(ask.count for ask in self.asks)

    @property
    def uses(self) -> Counter[str]:
        """Return what a replica uses of each kind: devices, or cores of CPUs."""
        found: Counter[str] = Counter()
        for ask in self.asks:
            found[ask.kind] += ask.count * (ask.cores or 1)
        return found

    def drawn(self) -> Drawn:
        """Return the requests and links, as the claims that can be counted do."""
        return self

    def sketch(self) -> ClaimSketch:
        """Return the drawing."""
        return ClaimSketch(requests=tuple(ask.request() for ask in self.asks), links=self.links)


def parts_of(cores: int, largest: int) -> int:
    """Return the fewest equal whole parts of cores that fit a CPU device; 1 if there are none."""
    able = (parts for parts in range(1, MAX_DEVICES + 1) if not cores % parts and cores // parts <= largest)
    return next(able, 1)


def link(where: str, *names: str, how: How = How.TOGETHER, must: bool = True) -> Link:
    """Return a link between requests."""
    return Link(name=f"{how}-{where.lower()}-{'-'.join(names)}", requests=names, where=where, how=how, must=must)

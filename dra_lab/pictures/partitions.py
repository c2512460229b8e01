"""Partitioned devices (KEP-4815): the card that each partition is a part of, its slices, and what blocks it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from dra_lab.drivers.kinds import parent_of
from dra_lab.index.catalogue import lookup_of
from dra_lab.index.in_use import Amount, counters_in_use
from dra_lab.index.pools import devices_on, gather_pools
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.names import DeviceID
from dra_lab.model.quantity import format_quantity, parse_quantity
from dra_lab.sketch.cluster_candidates import counts_cpus
from dra_lab.topology.places import Locality
from dra_lab.words.document import clean

_SLICE = re.compile(r"memory-?slice-?([0-9]{1,2})", re.IGNORECASE)
_COMPUTE = "multiprocessors"
_NUMBER = re.compile(r"([0-9.]+)([A-Za-z]*)")
_ENDING = re.compile(r"[-_]?(counter[-_]?set|counters?|mutex)$")


@dataclass(frozen=True, slots=True)
class Card:
    """A physical device that is published as partitions.

    `slices` is how many memory slices it has and `compute` how many compute slices; both are 0 if the driver does not
    count them one by one, as NVIDIA's does with `memory-slice-0` and `multiprocessors`. A device of static partitions
    (`is_static`) has no counter set: only those that were made are published, and `slices` ends with the last of them.
    """

    driver: str
    pool: str
    counter_set: str
    slices: int = 0
    compute: int = 0
    is_static: bool = False

    @property
    def name(self) -> str:
        """Return the name of the counter set without its ending: `gpu-0` for `gpu-0-counter-set`."""
        return _ENDING.sub("", self.counter_set) or self.counter_set


@dataclass(frozen=True, slots=True)
class Part:
    """A partition: the memory slices from `first` on, `count` of them, and `compute` slices of its card."""

    card: Card
    first: int = 0
    count: int = 0
    compute: int = 0


def partitions(cluster: Cluster, node_name: str) -> Mapping[DeviceID, Part]:
    """Return the part of every partition that a node sees; what draws on several counter sets is not one of them."""
    of_set: dict[tuple[str, str, str], dict[DeviceID, Device]] = defaultdict(dict)
    of_parent: dict[tuple[str, str, str], dict[DeviceID, Device]] = defaultdict(dict)
    for found in devices_on(gather_pools(cluster, node_name)):
        if len(found.device.consumes_counters) == 1:
            name = found.device.consumes_counters[0].counter_set
            of_set[found.id.driver, found.id.pool, name][found.id] = found.device
        elif parent := parent_of(found.id.driver, lookup_of(found.id.driver, found.device)):
            of_parent[found.id.driver, found.id.pool, parent][found.id] = found.device
    return {**_counted(cluster, of_set), **_static(of_parent)}


def _counted(
    cluster: Cluster, of_set: Mapping[tuple[str, str, str], Mapping[DeviceID, Device]]
) -> Mapping[DeviceID, Part]:
    if not of_set:
        return {}
    totals: dict[tuple[str, str, str], dict[str, Fraction]] = defaultdict(dict)
    for use in counters_in_use(cluster):
        totals[use.driver, use.pool, use.counter_set][use.counter] = use.amount.total
    return {
        device: part
        for key, devices in of_set.items()
        for device, part in _parts(key, devices, totals.get(key, {})).items()
    }


def _parts(
    key: tuple[str, str, str], devices: Mapping[DeviceID, Device], totals: Mapping[str, Fraction]
) -> Mapping[DeviceID, Part]:
    draws = {
        device: {name: parse_quantity(c.value) for use in found.consumes_counters for name, c in use.counters.items()}
        for device, found in devices.items()
    }
    numbers = [int(found[1]) for name, total in totals.items() if (found := _SLICE.fullmatch(name)) and total == 1]
    slots = {device: _slot(found) for device, found in draws.items()}
    if sorted(numbers) != list(range(len(numbers))) or not numbers or None in slots.values():
        return dict.fromkeys(devices, Part(Card(*key)))
    unit = min((found[_COMPUTE] for found in draws.values() if found.get(_COMPUTE)), default=Fraction())
    card = Card(*key, len(numbers), int(totals.get(_COMPUTE, Fraction()) / unit) if unit else 0)
    return {
        device: Part(card, *slot, round(draws[device].get(_COMPUTE, Fraction()) / unit) if unit else 0)
        for device, slot in slots.items()
        if slot is not None
    }


def _static(of_parent: Mapping[tuple[str, str, str], Mapping[DeviceID, Device]]) -> Mapping[DeviceID, Part]:
    """Return the parts of partitions that were made before; their memory slices are capacities: memorySlice0."""
    found: dict[DeviceID, Part] = {}
    for (driver, pool, parent), devices in of_parent.items():
        # `gpu-0` for `gpu-0-mig-1g5gb-19-0` and its like, else the identity that the partitions name
        heads = {device.device.partition("-mig-")[0] for device in devices if "-mig-" in device.device}
        name = heads.pop() if len(heads) == 1 else parent
        slots = {
            device: _slot({key.rpartition("/")[2]: parse_quantity(c.value) for key, c in of.capacity.items()})
            for device, of in devices.items()
        }
        known = {device: slot for device, slot in slots.items() if slot is not None}
        slices = max((first + count for first, count in known.values()), default=0) if len(known) == len(slots) else 0
        card = Card(driver, pool, name, slices, is_static=True)
        found |= {device: Part(card, *(known[device] if slices else ())) for device in devices}
    return found


def profile_name(locality: Locality) -> str:
    """Return the profile of a partition, which several of a card can have: `3g.20gb`; else the device's name."""
    return clean(locality.label.partition(" MIG ")[2] or locality.name)


def _slot(draws: Mapping[str, Fraction]) -> tuple[int, int] | None:
    """Return first and number of the memory slices that a partition takes; None unless they lie side by side."""
    taken = sorted(int(found[1]) for name, value in draws.items() if value and (found := _SLICE.fullmatch(name)))
    if not taken or taken != list(range(taken[0], taken[0] + len(taken))):
        return None
    return taken[0], len(taken)


def blockers(
    cluster: Cluster, devices: Mapping[DeviceID, Device], chosen: Collection[DeviceID] = ()
) -> Mapping[DeviceID, tuple[DeviceID, ...]]:
    """Return the partitions that cannot be allocated now, each with the partitions in use or `chosen` that block it.

    Those in use are named first and alone if they suffice; a partition in use or chosen is blocked by none.
    """
    held = {device for device in devices if cluster.allocated.holders(device)}
    if not cluster.partitioned or not (held or chosen):
        return {}
    totals = {(u.driver, u.pool, u.counter_set, u.counter): u.amount.total for u in counters_in_use(cluster)}
    found: dict[DeviceID, tuple[DeviceID, ...]] = {}
    for users in (held, held | {device for device in chosen if device in devices}):
        drawn: dict[tuple[str, str, str, str], list[tuple[DeviceID, Fraction]]] = defaultdict(list)
        for user in sorted(users):
            for counter, amount in _all_draws(user, devices[user]):
                drawn[counter].append((user, amount))
        for device, published in devices.items():
            if device in users or device in found:
                continue
            names = _blocking(device, published, totals, drawn)
            if names:
                found[device] = names
    return found


def _all_draws(device_id: DeviceID, device: Device) -> Iterator[tuple[tuple[str, str, str, str], Fraction]]:
    for use in device.consumes_counters:
        for name, counter in use.counters.items():
            if amount := parse_quantity(counter.value):
                yield (device_id.driver, device_id.pool, use.counter_set, name), amount


def _blocking(
    device_id: DeviceID,
    device: Device,
    totals: Mapping[tuple[str, str, str, str], Fraction],
    drawn: Mapping[tuple[str, str, str, str], Iterable[tuple[DeviceID, Fraction]]],
) -> tuple[DeviceID, ...]:
    """Return who draws on the counters of which too little is left; slices, of which there is one each, tell best."""
    pieces: dict[DeviceID, None] = {}
    others: dict[DeviceID, None] = {}
    for counter, amount in _all_draws(device_id, device):
        users = tuple(drawn.get(counter, ()))
        if users and counter in totals and totals[counter] - sum(used for _, used in users) < amount:
            (pieces if totals[counter] == 1 else others).update(dict.fromkeys(user for user, _ in users))
    return tuple(pieces or others)


def left_words(cluster: Cluster, card: Card) -> str:
    """Return what is left of a card's counters: `memory 40 of 80 Gi, compute 30 of 100`; "" if none are published."""
    found = [
        f"{use.counter} {amount_words(use.amount)}"
        for use in counters_in_use(cluster)
        if (use.driver, use.pool, use.counter_set) == (card.driver, card.pool, card.counter_set) and use.amount.total
    ]
    return ", ".join(found[:4])


def amount_words(amount: Amount, key: str = "") -> str:
    """Return `24 of 40 Gi`: what is left of an amount, rounded down to hundredths, in the unit of the whole.

    Amounts of a capacity `key` that counts CPUs have them as their unit: `80 of 112 CPUs`.
    """
    number, unit = _NUMBER.findall(format_quantity(amount.total))[0]
    factor = amount.total / Fraction(number) if amount.total else Fraction(1)
    left = max(amount.left, Fraction()) / factor
    unit = unit or ("CPUs" if counts_cpus(key) else "")
    return f"{float(left * 100 // 1) / 100:,.10g} of {float(number):,.10g} {unit}".rstrip()


def named_amounts(amounts: Mapping[str, Amount]) -> dict[str, str]:
    """Return what is left of each capacity in words; of several, with their names: `20 of 100 cores`."""
    several = len(amounts) > 1
    return {
        key: f"{amount_words(amount)} {key.rpartition('/')[2]}" if several else amount_words(amount, key)
        for key, amount in amounts.items()
    }

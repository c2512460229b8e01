"""The best allocation of a pod on one node by trying everything, every rule of DRA as it is written: no solver.

Rules: docs/semantics.md 3.2, 3.5 to 3.12.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from itertools import combinations, product
from math import comb, prod

from brute_force_pools import Books, Gathered
from random_devices import CLASSES, CPU, GPU, NIC, ROOT, TAG, selects

from dra_lab.model.cluster import Cluster
from dra_lab.model.device import DeviceTaint
from dra_lab.model.names import DeviceID
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, How, Link, asks, covers
from dra_lab.topology.locality import localities

COUNTED = ("alternatives", "preferences", "numa", "unpaired", "roots")
"""The goals of the devices that are taken; what remains for others (`damage`) is tried elsewhere."""

LIMIT, EXTENDED, MOST = 32, "extended-resources", 3000


Claims = dict[str, ClaimSketch] | ClaimSketch
"""The claims of a pod by name, or its only one."""


class TooLarge(Exception):
    """There is too much to try."""


def by_name(claims: Claims) -> dict[str, ClaimSketch]:
    """Return the claims of a pod by name."""
    return {claims.name: claims} if isinstance(claims, ClaimSketch) else claims


class BruteForce:
    """Every allocation of the claims of one pod on one node; with more choices than `most` it raises TooLarge."""

    def __init__(
        self,
        cluster: Cluster,
        claims: Claims,
        node: str,
        release: KubernetesRelease,
        *,
        paired: bool | None = None,
        most: int = MOST,
    ) -> None:
        claims = by_name(claims)
        self.most = most
        self.cluster, self.node, self.release, self.version = cluster, node, release, release.version
        self.order = list(claims)
        self.requests = [(name, request) for name, sketch in claims.items() for request in sketch.requests]
        self.links = [(name, link) for name, sketch in claims.items() for link in sketch.links]
        self.gathered = Gathered(cluster, node, release.version)
        self.devices = self.gathered.devices
        self.places = localities(cluster, node)
        self.held = cluster.allocated
        self.paired = may_pair(cluster, claims, release) if paired is None else paired

    # ------------------------------------------------------------ what one device is for one request

    def match(self, ask, device: DeviceID) -> bool | None:
        """Say whether class and selectors select a device, None where one fails."""
        driver, texts = CLASSES[ask.device_class_name]
        if driver != device.driver:
            return False
        for expression in (*texts, *ask.selectors):
            selected = selects(expression, self.devices[device])
            if not selected:
                return selected
        return True

    def tolerates(self, ask, taint: DeviceTaint) -> bool:
        if taint.effect not in ("NoSchedule", "NoExecute"):
            return True
        return any(
            t.key in ("", taint.key)
            and t.effect in ("", taint.effect)
            and (t.operator == "Exists" or t.value == taint.value)
            for t in ask.tolerations
        )

    def tainted(self, ask, device: DeviceID) -> bool:
        taints = list(self.devices[device].taints)
        if self.release.enabled("DRADeviceTaintRules"):
            for rule in self.cluster.taint_rules:
                wanted = rule.spec.device_selector
                named = (wanted.driver, wanted.pool, wanted.device) if wanted else (None, None, None)
                if all(w in (None, h) for w, h in zip(named, device, strict=True)):
                    taints.append(rule.spec.taint)
        return not all(self.tolerates(ask, taint) for taint in taints)

    def shareable(self, device: DeviceID) -> bool:
        return bool(self.devices[device].allow_multiple_allocations)

    def uses(self, ask, device: DeviceID) -> dict[str, int] | None:
        """Return what an ask takes of each capacity, None where it cannot be served (docs/semantics.md 3.11)."""
        published = self.devices[device].capacity
        if set(ask.capacity) - set(published):
            return None
        found = {key: self.use(ask.capacity.get(key), capacity) for key, capacity in published.items()}
        return None if None in found.values() else found

    def use(self, asked, capacity) -> int | None:
        policy = capacity.request_policy
        asked = None if asked is None else int(parse_quantity(asked))
        if asked is None:
            return int(capacity.value if policy is None else policy.default)
        if policy is None:
            return asked
        if policy.valid_values:
            return next((value for value in policy.valid_values if value >= asked), None)
        if policy.valid_range is None:
            return asked
        low, high, step = policy.valid_range.min, policy.valid_range.max, policy.valid_range.step
        value = max(asked, low)
        while step is not None and (value - low) % step:
            value += 1
        return value if high is None or value <= high else None

    def amounts_left(self, device: DeviceID, *, now: bool = True) -> dict[str, int]:
        taken = self.held.consumed.get(device, {}) if now else {}
        return {key: int(c.value) - int(taken.get(key, 0)) for key, c in self.devices[device].capacity.items()}

    def fits(self, ask, device: DeviceID, *, now: bool = True) -> bool:
        uses = self.uses(ask, device)
        return uses is not None and all(uses[key] <= left for key, left in self.amounts_left(device, now=now).items())

    def free(self, ask, device: DeviceID) -> bool:
        held = device in self.held.exclusive and not ask.admin_access
        return not held and not self.tainted(ask, device) and self.fits(ask, device)

    # ------------------------------------------------------------ what a request may take

    def choices(self, request) -> Iterator[tuple[object, tuple[DeviceID, ...]]]:
        for ask in asks(request):
            matches = {device: self.match(ask, device) for device in self.devices}
            matching = [device for device, found in matches.items() if found]
            if not ask.all_devices:
                able = [device for device in matching if self.free(ask, device)]
                if comb(len(able), ask.count) > self.most:
                    raise TooLarge
                yield from ((ask, taken) for taken in combinations(able, ask.count))
                continue
            listed = tuple(
                device for device in matching if self.fits(ask, device, now=not self.version.startswith("1.37"))
            )
            stuck = self.gathered.broken or None in matches.values()
            if listed and not stuck and all(self.free(ask, device) for device in listed):
                yield ask, listed

    def allocations(self) -> Iterator[list[tuple[int, object, tuple[DeviceID, ...]]]]:
        """Yield (position of the claim, ask, devices) of every request, for every allocation."""
        every = [ask for _, request in self.requests for ask in asks(request) if ask.all_devices]
        if any(self.gathered.broken or None in (self.match(ask, d) for d in self.devices) for ask in every):
            # given up before any search, also for an alternative that is never reached (docs/semantics.md 3.4.7, 3.4.8)
            return
        found = [(self.order.index(name), list(self.choices(request))) for name, request in self.requests]
        if prod(max(1, len(choices)) for _, choices in found) > self.most:
            raise TooLarge
        yield from self._extend([], found) if self.requests else ()

    def _extend(self, picked, found):
        if len(picked) == len(found):
            if self.kept(picked):
                yield list(picked)
            return
        claim, choices = found[len(picked)]
        for ask, taken in choices:
            if all(self.side_by_side(entry, (claim, ask, taken)) for entry in picked):
                picked.append((claim, ask, taken))
                yield from self._extend(picked, found)
                picked.pop()

    def side_by_side(self, early, late) -> bool:
        """Say whether two requests may take these: nothing twice, but shares, and what a later claim's admin takes."""
        if all(self.shareable(device) for device in set(early[2]) & set(late[2])):
            return True
        return early[0] != late[0] and late[1].admin_access

    # ------------------------------------------------------------ what all of them take together

    def kept(self, picked) -> bool:
        return (
            self.limited(picked)
            and self.tied_rightly(picked)
            and self.amounts_suffice(picked)
            and self.must_hold(picked)
        )

    def limited(self, picked) -> bool:
        sizes = Counter()
        for claim, _, taken in picked:
            sizes[claim] += len(taken)
        return max(sizes.values()) <= LIMIT

    def tied_rightly(self, picked) -> bool:
        """Say whether no claim comes to a node selector of several terms before a device that ties it to the node."""
        position = {device: at for at, device in enumerate(self.devices)}
        for claim in {claim for claim, _, _ in picked}:
            for device in (d for c, _, taken in picked if c == claim for d in sorted(taken, key=position.get)):
                spec = self.gathered.slice_of[device]
                own = self.devices[device] if spec.per_device_node_selection else spec
                if own.node_name is not None or self.devices[device].binds_to_node:
                    break
                if own.node_selector is not None and len(own.node_selector.node_selector_terms) > 1:
                    return False
        return True

    def amounts_suffice(self, picked) -> bool:
        """Say whether capacity and counters last; shareable devices pay counters once, those with shares have."""
        payers = []
        for device in {device for _, _, taken in picked for device in taken}:
            asked = [self.uses(ask, device) for _, ask, taken in picked if device in taken]
            for key, left in self.amounts_left(device).items():
                amounts = [use[key] for use in asked]
                if (sum(amounts) if self.shareable(device) else max(amounts)) > left:
                    return False
            if self.shareable(device):
                payers += [device] * (device not in self.held.shares)
            else:
                payers += [device] * len(asked)
        return self.books.last_for(payers)

    @cached_property
    def books(self) -> Books:
        return Books(self.cluster, self.held)

    def must_hold(self, picked) -> bool:
        return all(self.keeps(name, link, picked) for name, link in self.links if link.must)

    def keeps(self, name: str, link: Link, picked) -> bool:
        known = all(self.values(d, link.where) for _, _, taken in self.ends(name, link, picked) for d in taken)
        return known and not self.broken_by(name, link, picked)

    def ends(self, name: str, link: Link, picked):
        claim = self.order.index(name)
        return [e for e in picked if e[0] == claim and any(covers(reference, e[1]) for reference in link.requests)]

    def values(self, device: DeviceID, where: str) -> set:
        """Return the values at a link's place: all of a list where lists count, with their type."""
        published = self.devices[device].attributes.get({"pcieRoot": ROOT}.get(where, where))
        if published is not None and published.is_list:
            return {("string", value) for value in published.strings}
        if where == TAG:
            return set() if published is None else {(published.kind, published.value)}
        value = self.value(device, where)
        return set() if value is None else {("string" if isinstance(value, str) else "int", value)}

    def value(self, device: DeviceID, where: str):
        if where != TAG:
            place = self.places[device].place(where)
            return place.value if place else None
        attribute = self.devices[device].attributes.get(where)
        return None if attribute is None or attribute.is_list else attribute.value

    def broken_by(self, name: str, link: Link, picked) -> int:
        parts = [taken for _, _, taken in self.ends(name, link, picked)]
        if link.how is How.PAIRWISE:
            return self.groups_lost(link, parts)
        values = [self.values(device, link.where) for taken in parts for device in taken]
        if not all(values):
            return 1
        if link.how is How.APART:
            return int(any(a & b for a, b in combinations(values, 2)))
        return int(bool(values) and not set.intersection(*values))

    def groups_lost(self, link: Link, parts: list[tuple[DeviceID, ...]]) -> int:
        if len(parts) < 2:
            return 0
        groups = min(map(len, parts))
        if any(len(part) % groups for part in parts):
            return groups
        return groups - self.most_groups(link.where, parts, [len(part) // groups for part in parts])

    def most_groups(self, where: str, parts, shares: list[int]) -> int:
        """Try every way to form one group after the other."""
        best = 0
        for group in product(*(combinations(part, share) for part, share in zip(parts, shares, strict=True))):
            values = {self.value(device, where) for members in group for device in members}
            if len(values) == 1 and None not in values:
                rest = [tuple(d for d in part if d not in members) for part, members in zip(parts, group, strict=True)]
                best = max(best, 1 + self.most_groups(where, rest, shares))
                if best == len(parts[0]) // shares[0]:
                    break
        return best

    # ------------------------------------------------------------ what it is worth

    def goals(self, picked) -> dict[str, int]:
        chosen = {device for _, _, taken in picked for device in taken}
        numa = [self.value(d, "numaNode") for d in chosen if d.driver in (GPU, NIC, CPU)]
        gpus = [self.value(d, "pcieRoot") for d in chosen if d.driver == GPU]
        nics = [self.value(d, "pcieRoot") for d in chosen if d.driver == NIC]
        known = {root for root in gpus if root is not None}
        alone = sum(max(0, gpus.count(root) - nics.count(root)) for root in known) + gpus.count(None)
        return {
            "alternatives": sum(ask.rank for _, ask, _ in picked),
            "preferences": sum(self.broken_by(name, link, picked) for name, link in self.links if not link.must),
            "numa": len({n for n in numa if n is not None}) + numa.count(None),
            "unpaired": alone if self.paired else 0,
            "roots": len({r for r in gpus + nics if r is not None}) + (gpus + nics).count(None),
        }

    @cached_property
    def found(self) -> list[tuple[dict[str, int], list]]:
        """Return every allocation with its values."""
        return [(self.goals(picked), picked) for picked in self.allocations()]

    def values_in(self, order) -> tuple[int, ...] | None:
        """Return the least values of the goals in an order, None where the pod does not fit."""
        order = tuple(goal for goal in order if goal in COUNTED)
        return min((tuple(values[goal] for goal in order) for values, _ in self.found), default=None)


def may_pair(cluster: Cluster, claims: Claims, release: KubernetesRelease) -> bool:
    """Return whether some request may take a GPU and some a NIC, on any node."""
    kinds = set()
    for node in cluster.node_names:
        model = BruteForce(cluster, claims, node, release, paired=False)
        for _, request in model.requests:
            kinds |= {d.driver for ask in asks(request) for d in model.devices if model.match(ask, d)}
    return {GPU, NIC} <= kinds

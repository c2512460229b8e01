"""The rules of DRA for the devices of one pod on a node, from the API's fields; no code of the planner is used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

from dra_lab.checks.taint_validation import excludes
from dra_lab.findings import Finding
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.device import Device
from dra_lab.model.names import DeviceID, part_of, split_request
from dra_lab.model.nodes import node_matches
from dra_lab.model.placement import Placement
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.sketch import MAX_DEVICES, Ask, ClaimSketch, Link, asks, covers
from tests.oracle.referee_devices import InUse, NodeDevices, broken, draws_of
from tests.oracle.taken_capacity import capacity_taken


@dataclass(frozen=True)
class PodRules:
    """The devices of one pod on a node; `in_use` is what others hold. Each rule yields what the devices break."""

    node: NodeDevices
    in_use: InUse
    sketch: ClaimSketch
    placements: tuple[Placement, ...]

    @cached_property
    def asks(self) -> Mapping[str, Ask]:
        """Return every way to serve every request, by reference."""
        return {ask.reference: ask for request in self.sketch.requests for ask in asks(request)}

    @cached_property
    def taken(self) -> Mapping[str, list[Placement]]:
        """Return the placements by reference."""
        found: dict[str, list[Placement]] = {}
        for placement in self.placements:
            found.setdefault(placement.reference, []).append(placement)
        return found

    @cached_property
    def claims(self) -> Sequence[str]:
        """Return the claims of the pod in its order; one claim is ""."""
        return tuple(dict.fromkeys(part_of(request.name)[0] for request in self.sketch.requests))

    def findings(self, allocated: Iterable[ResourceClaim] = (), *, links: bool = True) -> Iterator[Finding]:
        """Yield every rule that the devices break; `allocated` are claims of the pod that hold devices already."""
        unknown = list(self._known())
        yield from unknown
        if unknown:
            return
        rules = (self._eligible, self._exclusive, self._capacity, self._counters, self._served, self._listed)
        for rule in (*rules, self._linked) if links else rules:
            yield from rule()
        yield from self._on_node(allocated)

    def hold(self, times: int = 1) -> None:
        """Add what the pod keeps to what is in use, or remove it with -1; requests with admin access keep nothing."""
        for placement in self.placements:
            ask, device = self.asks.get(placement.reference), placement.device
            if ask is None or ask.admin_access or device not in self.node.devices:
                continue
            if not self.node.is_shareable(device):
                self.in_use.alone[device] += times
                continue
            self.in_use.shares[device] += times
            for key, amount in (self.amounts(placement) or {}).items():
                self.in_use.amounts[device, key] += times * amount

    def _known(self) -> Iterator[Finding]:
        """Placements name a request of the drawing and a device that the node sees."""
        for placement in self.placements:
            if placement.reference not in self.asks:
                yield broken("request", placement.reference, "the drawing has no such request")
            if placement.device not in self.node.devices:
                yield broken("device", placement.device, f"node {self.node.name} does not see this device")

    def _eligible(self) -> Iterator[Finding]:
        """Class, selectors, gates, taints and devices in use (docs/semantics.md 3.5.1 to 3.5.4, 3.5.8, 3.5.10)."""
        node, has_taints = self.node, self.node.release.enabled("DRADeviceTaints")
        for placement in self.placements:
            ask, device = self.asks[placement.reference], placement.device
            if node.stage(ask, device) != "match":
                yield broken("selector", device, f"it does not match request {ask.reference}")
            if not node.is_visible(device):
                yield broken("gate", device, "a feature gate that is off hides it")
            if self.in_use.alone[device] and not ask.admin_access:
                yield broken("in-use", device, "a claim or another pod holds it")
            rules = node.release.counted_rules
            for taint in node.cluster.taints_of(device, node.devices[device], rules=rules) if has_taints else ():
                if excludes(taint, ask.tolerations):
                    yield broken("taint", device, f"request {ask.reference} does not tolerate {taint}")

    def _exclusive(self) -> Iterator[Finding]:
        """A device is taken once; a shareable one once by each request; a later claim's admin access may take it too.

        Rules: docs/semantics.md 3.11.5, 3.5.1.
        """
        for first, second in combinations(self.placements, 2):
            device = first.device
            if device != second.device:
                continue
            if first.reference == second.reference:
                # The parts of a split request are requests of their own, and so are those that a manifest numbers.
                numbered = first.manifest_request != second.manifest_request and self.node.is_shareable(device)
                if not numbered and not self.is_split(first.reference):
                    yield broken("taken-twice", device, f"request {first.reference} takes it twice")
            elif not self.node.is_shareable(device):
                late = max(first, second, key=lambda placement: self.claims.index(placement.claim))
                if first.claim == second.claim or not self.asks[late.reference].admin_access:
                    yield broken("taken-twice", device, f"{first.reference} and {second.reference} both take it")

    def _capacity(self) -> Iterator[Finding]:
        """`capacity` by request and `requestPolicy`, within what is left (docs/semantics.md 3.11.1 to 3.11.4)."""
        if not self.node.release.enabled("DRAConsumableCapacity"):
            return
        for device in dict.fromkeys(placement.device for placement in self.placements):
            takers = [placement for placement in self.placements if placement.device == device]
            taken = [self.amounts(taker) for taker in takers]
            for taker, amounts in zip(takers, taken, strict=True):
                if amounts is None:
                    yield broken("capacity", device, f"it cannot give what request {taker.reference} asks for")
                elif any(parse_quantity(v) != amounts.get(k) for k, v in taker.consumed.items()):
                    yield broken("capacity", device, f"request {taker.reference} does not consume what the plan says")
            for key, capacity in self.node.devices[device].capacity.items():
                each = [amounts[key] for amounts in taken if amounts is not None]
                # A dedicated device keeps no account: a request that also takes it, for admin access, sees it whole
                # (docs/semantics.md 3.11.4).
                shared = self.node.is_shareable(device)
                wanted = sum(each, Fraction()) if shared else max(each, default=Fraction())
                left = parse_quantity(capacity.value) - self.in_use.amounts.get((device, key), 0)
                if wanted > left:
                    yield broken("capacity", device, f"{float(wanted):g} of {key} are taken, {float(left):g} are left")

    def amounts(self, placement: Placement) -> Mapping[str, Fraction] | None:
        """Return what a placement takes of every capacity of its device, None if it cannot be served."""
        ask = self.asks[placement.reference]
        parts = len(self.taken[placement.reference]) if self.is_split(placement.reference) else 1
        amounts = {key: parse_quantity(amount) / parts for key, amount in ask.capacity.items()}
        return capacity_taken(self.node.devices[placement.device], amounts, self.node.release, placement.device.driver)

    def is_split(self, reference: str) -> bool:
        """Say whether a request for one large share was split over several devices that together give it."""
        ask, placements = self.asks[reference], self.taken.get(reference, ())
        if ask.all_devices or ask.count != 1 or len(placements) < 2 or len(ask.capacity) != 1:
            return False
        ((key, amount),) = ask.capacity.items()
        part = {key: parse_quantity(amount) / len(placements)}
        for placement in placements:
            amounts = capacity_taken(
                self.node.devices[placement.device], part, self.node.release, placement.device.driver
            )
            consistent = amounts is not None and amounts[key] == parse_quantity(placement.consumed.get(key, 0))
            if amounts is None or (self.node.is_shareable(placement.device) and not consistent):
                return False
        return any(placement.consumed for placement in placements)

    def _counters(self) -> Iterator[Finding]:
        """`consumesCounters`: what the devices draw is left, in pools of which no counter is overdrawn.

        A share draws only if no share of its device is held already. Rules: docs/semantics.md 3.10.
        """
        devices = self.node.devices
        taken = Counter(p.device for p in self.placements if devices[p.device].consumes_counters)
        for pool in self.node.pools:
            pays: list[Device] = []
            for device, count in taken.items():
                if device[:2] == (pool.driver, pool.name):
                    once = int(not self.in_use.shares[device])
                    pays += [devices[device]] * (once if self.node.is_shareable(device) else count)
            drawn = draws_of(pays)
            for counter, left in self.in_use.counters_left(self.node.cluster, pool).items() if pays else ():
                if drawn.get(counter, 0) > left or left < 0:
                    text = f"{float(drawn.get(counter, 0)):g} of {'/'.join(counter)} are drawn"
                    yield broken("counters", f"{pool.driver}/{pool.name}", f"{text}, {float(left):g} are left")

    def _served(self) -> Iterator[Finding]:
        """`count`, `allocationMode`, `firstAvailable` and the limit of 32 devices."""
        for claim, count in Counter(placement.claim for placement in self.placements).items():
            if count > MAX_DEVICES:
                yield broken("limit", claim or "claim", f"{count} devices are more than {MAX_DEVICES}")
        for request in self.sketch.requests:
            used = [reference for reference in self.taken if split_request(reference)[0] == request.name]
            if len(used) != 1:
                yield broken("alternative", request.name, f"it is served in {len(used)} ways")
                continue
            ask, have = self.asks[used[0]], len(self.taken[used[0]])
            wanted = sum(self._is_in_all(ask, device) for device in self.node.devices) if ask.all_devices else ask.count
            if have != wanted and not self.is_split(used[0]):
                yield broken("count", ask.reference, f"{have} devices are taken, {wanted} are asked for")

    def _is_in_all(self, ask: Ask, device: DeviceID) -> bool:
        """Say whether All means a device: what matches and, up to 1.36, has the capacity now.

        Devices with counters stay listed while their gate is off, and make the request fail. Rules: docs/semantics.md
        3.6.2, 3.6.5.
        """
        release, published = self.node.release, self.node.devices[device]
        if self.node.stage(ask, device) != "match":
            return False
        if not self.node.is_visible(device) and release.enabled("DRAPartitionableDevices"):
            return False
        if not release.enabled("DRAConsumableCapacity"):
            return True
        amounts = capacity_taken(published, ask.capacity, release, device.driver)
        now = not release.is_at_least("1.37")
        return amounts is not None and all(
            amounts[key] + (self.in_use.amounts.get((device, key), 0) if now else 0) <= parse_quantity(capacity.value)
            for key, capacity in published.capacity.items()
        )

    def _listed(self) -> Iterator[Finding]:
        """Every request for all is listed before any search, also as an alternative that is never reached.

        It needs every pool of the node whole, and every device answered by the selectors. Rules: docs/semantics.md
        3.4.7, 3.4.8, 3.6.
        """
        for ask in self.asks.values():
            if not ask.all_devices:
                continue
            for pool in self.node.pools:
                if pool.invalid or not pool.complete:
                    yield broken("all", ask.reference, f"pool {pool.driver}/{pool.name} is not complete")
            for device in self.node.devices:
                if self.node.stage(ask, device) == "error":
                    yield broken("all", ask.reference, f"a selector fails on {device}")

    def _on_node(self, allocated: Iterable[ResourceClaim]) -> Iterator[Finding]:
        """`allocation.nodeSelector`: what the claims of the pod demand of its node, those allocated before too.

        Rule: docs/semantics.md 3.12.
        """
        node = self.node.cluster.node_named(self.node.name)
        for claim in allocated:
            selector = claim.status.allocation.node_selector if claim.status.allocation else None
            if selector is not None and not node_matches(selector, node):
                yield broken("node", claim.metadata.name, f"the claim is allocated where node {node.name} is not")
        # kube-scheduler writes the devices of a claim by request, then in the order of the pools.
        order = {name: at for at, name in enumerate([*self.asks, *self.node.devices])}
        ordered = sorted(self.placements, key=lambda p: (order[p.reference], order[p.device]))
        for name in self.claims:
            for device in (placement.device for placement in ordered if placement.claim == name):
                item = self.node.published[device]
                own = item.device if item.slice.spec.per_device_node_selection else item.slice.spec
                if own.node_name is not None or item.device.binds_to_node:
                    break
                if own.node_selector is not None and len(own.node_selector.node_selector_terms) != 1:
                    yield broken("node", device, "its node selector has several terms: the pod is given up")
                    break

    def _linked(self) -> Iterator[Finding]:
        """`constraints[]`, and what links demand beyond them: pairs, and levels that no attribute publishes."""
        for link in self.sketch.links:
            if not link.must:
                continue
            parts = self.parts(link)
            if not all(self.node.values(device, link) for part in parts for device in part):
                yield broken("link", link.name, f"a device has no value on {link.where}")
            elif self.node.losses(link, parts):
                yield broken("link", link.name, f"the devices do not keep {link.how} on {link.where}")

    def parts(self, link: Link) -> list[tuple[DeviceID, ...]]:
        """Return the devices that a link connects, one part per request; parts of a split request stand alone."""
        parts: list[tuple[DeviceID, ...]] = []
        for name, placements in self.taken.items():
            if any(covers(reference, self.asks[name]) for reference in link.requests):
                members = tuple(p.device for p in placements)
                parts.extend([(member,) for member in members] if self.is_split(name) else [members])
        return parts

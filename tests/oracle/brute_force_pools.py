"""Pools as a node sees them, and their shared counters: docs/semantics.md 3.2, 3.10 written down literally."""

from __future__ import annotations

from collections import Counter, defaultdict

from dra_lab.model.claims import AllocatedDevices
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID


class Gathered:
    """The devices that a node sees, by pool as kube-scheduler gathers them, and whether some pool is broken.

    Rule: docs/semantics.md 3.2.
    """

    def __init__(self, cluster: Cluster, name: str, version: str) -> None:
        self.node, self.version = cluster.node_by_name[name], version
        self.devices, self.slice_of, self.broken = {}, {}, False
        everywhere, relevant = defaultdict(list), defaultdict(list)
        for s in cluster.slices:
            key = (s.spec.driver, s.spec.pool.name)
            everywhere[key].append(s)
            if self.sees_slice(s.spec):
                relevant[key].append(s)
        for key, seen in sorted(relevant.items()):
            newest = max(s.spec.pool.generation for s in seen)
            latest = sorted((s for s in seen if s.spec.pool.generation == newest), key=lambda s: s.name)
            self._gather(key, latest, everywhere[key], newest)
        # Pools with a device here that has binding conditions come after all others (docs/semantics.md 3.3).
        binding = {(d.driver, d.pool) for d, published in self.devices.items() if published.binding_conditions}
        ordered = sorted(self.devices, key=lambda d: (d.driver, d.pool) in binding)
        self.devices = {device: self.devices[device] for device in ordered}

    def selected(self, selector) -> bool:
        """Say whether a node selector of `zone In [...]` terms selects the node."""
        zone = self.node.metadata.labels.get("zone")
        return any(all(zone in r.values for r in term.match_expressions) for term in selector.node_selector_terms)

    def sees_slice(self, spec) -> bool:
        if spec.node_name is not None:
            return spec.node_name == self.node.name or (
                not self.version.startswith("1.37") and spec.shared_counters is not None
            )
        if spec.shared_counters is not None and not self.version.startswith("1.37"):
            return True
        if spec.per_device_node_selection:
            return any(map(self.sees_device, spec.devices or ()))
        return bool(spec.all_nodes) or self.selected(spec.node_selector)

    def sees_device(self, device) -> bool:
        if device.node_name is not None:
            return device.node_name == self.node.name
        return bool(device.all_nodes) or self.selected(device.node_selector)

    def _gather(self, key, seen, everywhere, newest) -> None:
        wanted = seen[0].spec.pool.resource_slice_count
        published = seen
        if len(seen) != wanted:
            if any(s.spec.pool.generation > newest for s in everywhere):
                return
            published = [s for s in everywhere if s.spec.pool.generation == newest]
            if len(published) != wanted:
                self.broken = True
                return
        names = [d.name for s in seen for d in s.spec.devices or ()]
        sets = {c.name: set(c.counters) for s in published for c in s.spec.shared_counters or ()}
        uses = [u for s in published for d in s.spec.devices or () for u in d.consumes_counters]
        if len(set(names)) < len(names) or any(set(u.counters) - sets.get(u.counter_set, set()) for u in uses):
            self.broken = True
            return
        for s in seen:
            for device in s.spec.devices or ():
                if not s.spec.per_device_node_selection or self.sees_device(device):
                    self.devices[DeviceID(*key, device.name)] = device
                    self.slice_of[DeviceID(*key, device.name)] = s.spec


class Books:
    """What is left of the shared counters of every pool of a cluster (docs/semantics.md 3.10.1 to 3.10.4)."""

    def __init__(self, cluster: Cluster, held: AllocatedDevices) -> None:
        self.draws, self.left = defaultdict(Counter), Counter()
        newest: dict = {}
        for s in cluster.slices:
            key = (s.spec.driver, s.spec.pool.name)
            newest[key] = max(newest.get(key, 0), s.spec.pool.generation)
        for s in cluster.slices:
            key = (s.spec.driver, s.spec.pool.name)
            if s.spec.pool.generation < newest[key]:
                continue
            for found in s.spec.shared_counters or ():
                for name, counter in found.counters.items():
                    self.left[key, found.name, name] += int(counter.value)
            for device in s.spec.devices or ():
                for use in device.consumes_counters:
                    for name, counter in use.counters.items():
                        self.draws[DeviceID(*key, device.name)][key, use.counter_set, name] += int(counter.value)
        for device, drawn in self.draws.items():
            if device in held.exclusive or device in held.shares:
                self.left.subtract(drawn)

    def last_for(self, payers) -> bool:
        """Say whether the counters last for devices that pay; one that is overdrawn keeps all of its pool away."""
        left, pools = Counter(self.left), set()
        for device in payers:
            if device in self.draws:
                left.subtract(self.draws[device])
                pools.add((device.driver, device.pool))
        return all(amount >= 0 for (pool, _, _), amount in left.items() if pool in pools)

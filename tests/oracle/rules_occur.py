"""Cases in which a rule of DRA occurs at all: only there can leaving it out decide anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

from brute_force import EXTENDED
from random_devices import FABRIC, WIDE

from dra_lab.model.cluster import Cluster
from dra_lab.model.sketch import Ask, ClaimSketch, How, asks

Claims = dict[str, ClaimSketch]


def _asks(claims: Claims) -> Iterator[Ask]:
    return (ask for sketch in claims.values() for request in sketch.requests for ask in asks(request))


def _devices(cluster: Cluster) -> Iterator:
    return (device for s in cluster.slices for device in s.spec.devices or ())


def _demands(claims: Claims, how: How) -> bool:
    return any(link.must and link.how is how for sketch in claims.values() for link in sketch.links)


def _selectors(cluster: Cluster) -> Iterator:
    """Yield the node selectors of pools that several nodes may see, and of their devices."""
    found = chain((s.spec for s in cluster.slices), _devices(cluster))
    return (one.node_selector for one in found if one.node_selector is not None)


def _policies(cluster: Cluster) -> Iterator:
    return (c.request_policy for d in _devices(cluster) for c in d.capacity.values() if c.request_policy is not None)


_OCCURS: dict[str, Callable[[Cluster, Claims], bool]] = {
    "selectors": lambda _, claims: any(ask.selectors for ask in _asks(claims)),
    "counts": lambda _, claims: any(ask.count > 1 for ask in _asks(claims)),
    "All": lambda _, claims: any(ask.all_devices for ask in _asks(claims)),
    "alternatives": lambda _, claims: any(ask.rank for ask in _asks(claims)),
    "match": lambda _, claims: _demands(claims, How.TOGETHER),
    "distinct": lambda _, claims: _demands(claims, How.APART),
    "pairwise": lambda _, claims: _demands(claims, How.PAIRWISE),
    "lists": lambda _, claims: any(sketch.links for sketch in claims.values()),
    "counters": lambda cluster, _: any(device.consumes_counters for device in _devices(cluster)),
    "capacity": lambda cluster, _: any(device.capacity for device in _devices(cluster)),
    "request policies": lambda cluster, _: any(_policies(cluster)),
    "device taints": lambda cluster, _: any(device.taints for device in _devices(cluster)),
    "taint rules": lambda cluster, _: bool(cluster.taint_rules),
    "tolerations": lambda _, claims: any(ask.tolerations for ask in _asks(claims)),
    "admin access": lambda _, claims: any(ask.admin_access for ask in _asks(claims)),
    "several claims": lambda _, claims: len(claims) > 1,
    "in use": lambda cluster, _: bool(cluster.claims),
    "limit of 32": lambda _, claims: any(ask.device_class_name == WIDE for ask in _asks(claims)),
    "network pools": lambda cluster, _: any(s.spec.pool.name == FABRIC for s in cluster.slices),
    "node selectors": lambda cluster, _: any(_selectors(cluster)),
    "several terms": lambda cluster, _: any(len(s.node_selector_terms) > 1 for s in _selectors(cluster)),
    "broken pools": lambda cluster, _: any(s.spec.pool.name.endswith("-more") for s in cluster.slices),
    "extended resources": lambda _, claims: EXTENDED in claims,
}


def occurs(rule: str, cluster: Cluster, claims: Claims) -> bool:
    """Say whether a cluster or a pod has anything that a rule is about."""
    return rule not in _OCCURS or _OCCURS[rule](cluster, claims)

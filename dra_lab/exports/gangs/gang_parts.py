"""The common parts of the files of a gang: names, claims, levels and pod templates."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from msgspec.structs import replace

from dra_lab.errors import InputError
from dra_lab.exports.gangs.level_keys import (
    draws_channel,
    is_host,
    label_of,
    needs_nvlink,
    same_level,
    topology_of,
)
from dra_lab.exports.manifests import manifest_files
from dra_lab.findings import Finding, Severity
from dra_lab.manifests.pod_templates import PodField
from dra_lab.model.claims import DeviceRequest, ResourceClaim, ResourceClaimTemplate
from dra_lab.model.cluster import Cluster
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.workload import PodGroup, Workload
from dra_lab.sketch.claim_objects import Affinity, Target, labels, pod_claim, pod_spec
from dra_lab.sketch.object_names import ObjectNames, object_name
from dra_lab.topology.presets import CLIQUE

Object = dict[str, Any]

CHANNEL = "compute-domain-channel"
"""The name of the channel of a ComputeDomain in the pods."""

MOST_NAME = 20
"""Longest name of a gang or group: names of its pods contain both, two numbers and five letters, 63 characters."""

HIGHEST_PRIORITY = 1_000_000_000
"""The highest value of a PriorityClass that people may use (`HighestUserDefinablePriority`)."""


Claim = ResourceClaimTemplate | ResourceClaim
NamedClaims = tuple[tuple[Claim, str], ...]
"""Claims with their names in the pods."""

SharedClaims = tuple[NamedClaims, ...]
"""For each copy of a gang, claims that several pods use: templates if the scheduler makes them from templates."""


class Cannot(NamedTuple):
    """What a scheduler cannot express of a gang: a sentence, and the required levels that its files do not keep."""

    sentence: str
    lost: tuple[str, ...] = ()


@dataclass(frozen=True)
class GangParts:
    """A gang, ready to be written.

    `copies` are the names of the gangs that are alike, each with its own objects; `pins` are the requirements on the
    nodes of each. `groups` have the names that the objects have, the level that a group requires besides that of the
    gang, "" if it adds nothing, as for a single pod, and slices of more than one pod. `channels` are those whose pods
    get a channel of a ComputeDomain. `claims` are those of a pod by its group. `shared` are the claims that exist once
    for each gang: those of all pods under "", and those of one group.
    """

    gang: Workload
    hierarchy: Hierarchy | None
    cluster: Cluster
    target: Target
    queue: str
    name: str
    copies: tuple[str, ...]
    groups: tuple[PodGroup, ...]
    channels: frozenset[str]
    claims: Mapping[str, NamedClaims]
    pins: tuple[Affinity, ...]
    shared: Mapping[str, SharedClaims]
    texts: Mapping[str, str]
    findings: tuple[Finding, ...]

    @property
    def pinned(self) -> bool:
        """Say whether every copy is held to a planned domain."""
        return all(self.pins)

    @property
    def required(self) -> str:
        """Return the level of which one domain must have all pods, "" for none; a single group has its own."""
        return self.required_of(self.groups[0]) if len(self.groups) == 1 else self.gang.level

    def required_of(self, group: PodGroup) -> str:
        """Return the level that a group requires, that of the gang if it has none."""
        return group.level or self.gang.level

    def preferred_of(self, group: PodGroup) -> str:
        """Return the level that a group prefers, that of the gang if it has none."""
        return group.prefer_level or self.gang.prefer_level

    def every_shared(self, copy: int) -> NamedClaims:
        """Return the claims that pods of one copy share, all of them and those of one group."""
        return tuple(pair for claims in self.shared.values() for pair in claims[copy])

    @property
    def priority_class(self) -> str:
        """Return the name of the PriorityClass of the pods, "" for priority 0."""
        value = self.gang.priority
        return f"gang-priority-{'minus-' if value < 0 else ''}{abs(value)}" if value else ""

    @property
    def requests(self) -> tuple[tuple[str, DeviceRequest], ...]:
        """Return all requests as they are written, each with the name of its claim."""
        every = [*(pair for claims in self.claims.values() for pair in claims), *self.every_shared(0)]
        found = {claim.metadata.name: claim for claim, _ in every}
        return tuple(
            (name, request)
            for name, claim in found.items()
            for request in (claim.spec if isinstance(claim, ResourceClaim) else claim.spec.spec).devices.requests
        )

    @property
    def required_levels(self) -> tuple[str, ...]:
        """Return the levels that the gang, its groups and slices require, each once."""
        slices = (level for group in self.groups for _, level in group.slices)
        found = (self.gang.level, *(group.level for group in self.groups), *slices)
        return tuple(dict.fromkeys(filter(None, found)))

    @property
    def wanted_levels(self) -> tuple[str, ...]:
        """Return the levels that the gang requires or prefers, each once."""
        preferred = (self.gang.prefer_level, *map(self.preferred_of, self.groups))
        return tuple(dict.fromkeys((*self.required_levels, *filter(None, preferred))))

    def without_label(self, scheduler: str) -> Iterator[Cannot]:
        """Yield the levels that a scheduler cannot use, because no node label names them."""
        for level in self.wanted_levels:
            if not is_host(level) and not self.label(level):
                kept = " The pinned nodes keep it." if self.pinned and level == self.required else ""
                lost = (level,) if level in self.required_levels else ()
                yield Cannot(f"No node label names the level {level}, so {scheduler} cannot use it.{kept}", lost)

    def topology_name(self, kind: str) -> str:
        """Return the name of the Topology of the gang's levels: that of a kind in the cluster, or one to write."""
        name = self.hierarchy.name if self.hierarchy else "nodes"
        return topology_of(self.hierarchy, kind) or object_name(name)

    def label(self, level: str) -> str:
        """Return the node label of a level, "" if it has none or no level is named."""
        return label_of(self.hierarchy, level) if level else ""

    def metadata(self, name: str, **more: Mapping[str, str]) -> Object:
        """Return `metadata` of an object of the gang, with further labels and annotations."""
        found: Object = {"name": name}
        if self.target.namespace:
            found["namespace"] = self.target.namespace
        found["labels"] = {**labels(self.name, "gang"), **more.get("labels", {})}
        if more.get("annotations"):
            found["annotations"] = dict(more["annotations"])
        return found

    def pod_template(
        self,
        copy: int,
        group: PodGroup,
        *,
        labels_: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        spec: Mapping[str, Any] | None = None,
    ) -> Object:
        """Return the pod template of a group; `spec` are the fields that a scheduler needs."""
        named = (*self.claims[group.name], *self.shared[""][copy], *self.shared[group.name][copy])
        used = [pod_claim(claim, entry) for claim, entry in named]
        affinity = self.pins[copy]
        if group.name in self.channels:
            used.append({"name": CHANNEL, "resourceClaimTemplateName": f"{self.copies[copy]}-channel"})
            if CLIQUE in (level.key for level in (self.hierarchy.levels if self.hierarchy else ())):
                affinity = (*affinity, {"key": CLIQUE, "operator": "Exists"})
        body = {**(spec or {}), **pod_spec(used, affinity, "Never", priority_class=self.priority_class)}
        metadata: Object = {"labels": {**labels(self.name, "workload"), **(labels_ or {})}}
        if annotations:
            metadata["annotations"] = dict(annotations)
        return {"metadata": metadata, "spec": body}


Places = Sequence[tuple[PodField, PodGroup]]
"""The pod templates of a person's own workload, and the group that each belongs to."""


def gang_parts(
    gang: Workload,
    hierarchy: Hierarchy | None,
    target: Target,
    *,
    cluster: Cluster | None,
    pins: Sequence[Affinity],
    queue: str = "",
    shared_templates: bool = False,
) -> GangParts:
    """Return the parts of a gang that all exports use. Raises InputError for a gang that makes no sense."""
    _check(gang)
    findings: list[Finding] = []
    texts: dict[str, str] = {}
    on = cluster or Cluster()
    writer = _ClaimWriter(on, target, texts, findings)
    name = _short(gang.name, findings)
    copies = tuple(f"{name}-{number}" for number in range(gang.replicas)) if gang.replicas > 1 else (name,)
    names, groups, channels = ObjectNames(), list[PodGroup](), set[str]()
    claims, of_groups = dict[str, NamedClaims](), dict[str, SharedClaims]()
    entries = _entries(gang.every_shared_claim, (CHANNEL,))
    once = iter(entries[len(gang.shared_claims) :])
    for group in gang.pods:
        own = names.one(_short(group.name, findings))
        written = [writer.claim(claim, f"{name}-{own}") for claim in group.claims]
        claims[own] = tuple(zip(written, _entries(group.claims, (CHANNEL, *entries)), strict=True))
        of_pods = [*zip(group.shared_claims, once, strict=False)]
        of_groups[own] = writer.shared(of_pods, name, copies, f"-{own}", templates=shared_templates)
        adds = group.count > 1 and not same_level(hierarchy, group.level, gang.level)
        slices = tuple(one for one in group.slices if one[0] > 1)
        groups.append(dataclasses.replace(group, name=own, level=group.level if adds else "", slices=slices))
        if needs_nvlink(gang, group, hierarchy) and not draws_channel(gang, group):
            channels.add(own)
    of_all = [*zip(gang.shared_claims, entries, strict=False)]
    shared = {"": writer.shared(of_all, name, copies, "", templates=shared_templates), **of_groups}
    if cluster is None:
        texts = {file: text for file, text in texts.items() if not file.startswith("deviceclass-")}
        findings = [one for one in findings if not one.rule.startswith("class-")]
    found = GangParts(
        gang=gang,
        hierarchy=hierarchy,
        cluster=on,
        target=target,
        queue=queue,
        name=name,
        copies=copies,
        groups=tuple(groups),
        channels=frozenset(channels),
        claims=claims,
        pins=tuple(pins),
        shared=shared,
        texts=texts,
        findings=tuple(findings),
    )
    named = [(one.level, one.prefer_level, *(level for _, level in one.slices)) for one in gang.pods]
    for level in (level for levels in (*named, (gang.level, gang.prefer_level)) for level in levels):
        found.label(level)  # raises InputError for a level that the hierarchy lacks
    return found


def job(parts: GangParts, name: str, pods: int, template: Object, **metadata: Mapping[str, str]) -> Object:
    """Return a Job whose pods run at the same time and have an index each."""
    body = {"parallelism": pods, "completions": pods, "completionMode": "Indexed", "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": parts.metadata(name, **metadata), "spec": body}


def priority_class(parts: GangParts) -> Object:
    """Return the PriorityClass of the pods of a gang."""
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    metadata = {"name": parts.priority_class, "labels": labels(parts.priority_class, "priority")}
    return {**head, "metadata": metadata, "value": parts.gang.priority, "globalDefault": False}


@dataclass(frozen=True)
class _ClaimWriter:
    cluster: Cluster
    target: Target
    texts: dict[str, str]
    findings: list[Finding]

    def shared(
        self, claims: Sequence[tuple[ClaimSketch, str]], name: str, copies: Sequence[str], own: str, *, templates: bool
    ) -> SharedClaims:
        """Return claims that pods share: one template for all copies, or a ResourceClaim for each copy."""
        if templates:
            return (tuple((self.claim(one, f"{name}{own}-shared"), entry) for one, entry in claims),) * len(copies)
        once = replace(self.target, kind="claim")
        return tuple(tuple((self.claim(one, f"{copy}{own}", once), entry) for one, entry in claims) for copy in copies)

    def claim(self, sketch: ClaimSketch, prefix: str, target: Target | None = None) -> Claim:
        """Return a template, or with another target a claim."""
        name = object_name(f"{prefix}-{sketch.name}")
        target = target or self.target
        made = manifest_files(sketch, self.cluster, target, example_kind="none", objects=(name,), several=True)
        self.texts.update(made.texts)
        self.findings.extend(one for one in made.findings if one.rule != "shared-claim" and one not in self.findings)
        return made.claims[0]


def _entries(claims: Sequence[ClaimSketch], taken: Sequence[str]) -> tuple[str, ...]:
    names = ObjectNames(taken)
    return tuple(names.one(object_name(claim.name)) for claim in claims)


def _short(name: str, findings: list[Finding]) -> str:
    own = object_name(name)[:MOST_NAME].rstrip("-") or "gang"
    if own != name:
        message = f"the objects are called {own!r}, because the names of pods contain this name and have a limit"
        advice = f"Use lower-case letters, digits and '-', at most {MOST_NAME}."
        findings.append(Finding("name-changed", Severity.NOTE, name, message, advice))
    return own


def _check(gang: Workload) -> None:
    where = f"gang {gang.name!r}"
    if gang.replicas < 1 or not gang.pods or not gang.least:
        raise InputError(f"{where} has no pods to write; give it replicas, groups and a minimum of 1 or more")
    if abs(gang.priority) > HIGHEST_PRIORITY:
        raise InputError(f"{where} has the priority {gang.priority:,}; PriorityClasses allow {HIGHEST_PRIORITY:,}")
    for group in gang.pods:
        name, most = group.name, group.count
        if not 0 <= group.least <= most or most < 1 or (group.leader and most != 1):
            raise InputError(f"{where}: group {name!r} needs 0 <= min <= replicas, and a leader is one pod")
        size = most
        for each, _ in group.slices:
            if each < 1 or size % each or (size == most and group.least % each):
                raise InputError(f"{where}: slices of {each} must divide {size} and the minimum of {name!r} evenly")
            size = each

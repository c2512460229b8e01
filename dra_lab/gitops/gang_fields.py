"""What a workload says of pods that start together: groups, minimum, levels and slices, as its own API writes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.findings import Finding, Severity
from dra_lab.gitops.folder import Document
from dra_lab.gitops.object_pods import PodTemplate, claim_entries
from dra_lab.manifests.pod_templates import whole
from dra_lab.manifests.yaml_text import value_at
from dra_lab.model.decoding import json_value
from dra_lab.model.quantity import unsigned_number

_KUEUE, _KAI = "kueue.x-k8s.io/podset-", "kai.scheduler/topology"
_LWS, _JOBSET = "leaderworkerset.sigs.k8s.io/", "alpha.jobset.sigs.k8s.io/"
_VOLCANO = "volcano.sh/network-topology-"
_LEADERS = ("leaderTemplate", "Launcher", "Master")

Slices = tuple[tuple[int, str], ...]


class LevelConstraint(Struct, frozen=True):
    """Levels as a workload names them: label keys, names of tiers, or `tier 2`. `hierarchy` is a Topology's name."""

    required: str = ""
    preferred: str = ""
    slices: Slices = ()
    hierarchy: str = ""
    shared: str = ""


class WrittenGroup(Struct, frozen=True):
    """Identical pods of one gang: their template, how many there are and how many must start."""

    pod: PodTemplate
    name: str
    pods: int
    least: int
    constraint: LevelConstraint = LevelConstraint()
    leader: bool = False


class WrittenGang(Struct, frozen=True):
    """A gang as written: `replicas` gangs are alike, and `least` pods must start in all, 0 for what the groups say.

    `queue` is the LocalQueue of Kueue, "" for none. `claims` are the entries that its PodGroup has once for its pods:
    (name, template, claim).
    """

    name: str
    groups: tuple[WrittenGroup, ...]
    constraint: LevelConstraint = LevelConstraint()
    replicas: int = 1
    least: int = 0
    queue: str = ""
    findings: tuple[Finding, ...] = ()
    claims: frozenset[tuple[str, str, str]] = frozenset()


def written_gang(document: Document, pods: Sequence[PodTemplate], group: Document | None = None) -> WrittenGang:
    """Return the gang of a workload with its pod templates; `group` is the PodGroup that its pods name, if any.

    Sources: Kueue 0.20 `tas_validation.go`, Volcano 1.15 and KAI 0.17 CRDs, LeaderWorkerSet 0.10 and JobSet 0.12
    annotations, `scheduling.k8s.io` v1alpha2 and v1beta1, `Job.spec.scheduling` of Kubernetes 1.37 (KEP-5547).
    """
    findings: list[Finding] = []
    copies = whole(value_at(document.value, "spec.replicas"), 1) if document.kind == "LeaderWorkerSet" else 1
    groups = [_group(document, pod, copies, findings) for pod in pods]
    names = {one.constraint.shared for one in groups}
    own = {replace(one.constraint, slices=()) for one in groups}
    # pod sets of one group name, and a single pod set, have their level together
    joined = len(own) == 1 and (len(groups) == 1 or names != {""})
    constraint = _of_object(document, findings)
    if joined and not (constraint.required or constraint.preferred):
        constraint = replace(groups[0].constraint, slices=(), hierarchy=constraint.hierarchy)
        groups = [replace(one, constraint=LevelConstraint(slices=one.constraint.slices)) for one in groups]
    is_job = document.kind == "Job"
    least = whole(value_at(document.value, "spec.minAvailable"), 0) if is_job else 0
    scheduling = value_at(document.value, "spec.scheduling") if is_job else None
    scheduling = value_at(group.value, "spec") if group is not None else scheduling
    scheduling = scheduling if isinstance(scheduling, Mapping) else {}
    if group is not None or scheduling:
        least, constraint = _of_pod_group(scheduling, group or document, constraint, findings)
    labels = _texts(document, "metadata.labels")
    queue = labels.get("kueue.x-k8s.io/queue-name", "") or str(value_at(document.value, "spec.queueName") or "")
    name = (group or document).name
    shared = frozenset((one.name, one.template, one.claim) for one in claim_entries(scheduling, ""))
    return WrittenGang(name, tuple(groups), constraint, copies, least, queue, tuple(findings), shared)


def with_least(gang: WrittenGang) -> WrittenGang:
    """Return a gang whose groups have its minimum. Several groups must start whole."""
    if not 0 < gang.least < sum(group.least for group in gang.groups):
        return gang
    if len(gang.groups) == 1:
        return replace(gang, groups=(replace(gang.groups[0], least=gang.least),))
    wanted = sum(group.pods for group in gang.groups)
    message = f"{gang.least} of {wanted} pods are enough, and it does not say how many of each group; dra-lab plans all"
    finding = Finding("gang-minimum", Severity.WARNING, gang.name, message, "Write a minimum for each group.")
    return replace(gang, findings=(*gang.findings, finding))


def _group(document: Document, pod: PodTemplate, copies: int, findings: list[Finding]) -> WrittenGroup:
    found = value_at(document.value, pod.path.partition(".template")[0])
    fields = found if isinstance(found, Mapping) else {}
    count = max(1, pod.pods // copies)
    constraint = _of_annotations(pod.annotations)
    leader = count == 1 and any(word in pod.path for word in _LEADERS)
    least = count
    if document.kind == "Job" and "tasks" in pod.path:  # Volcano
        least = 0 if fields.get("minAvailable") == 0 else whole(fields.get("minAvailable"), count)
        constraint = _of_partitions(fields.get("partitionPolicy"), constraint, findings, document)
    if document.kind == "Workload":
        least = 0 if fields.get("minCount") == 0 else whole(fields.get("minCount"), count)
        constraint = _of_request(fields.get("topologyRequest"), constraint)
    if document.kind == "JobSet":
        constraint = _of_jobs(document, pod, constraint, findings)
    if document.kind == "LeaderWorkerSet" and not leader:
        constraint = _of_leader_set(document, count, constraint, findings)
    steps = [step for step in pod.path.split(".") if step not in ("spec", "template")]
    own = steps[-1].removesuffix("Template").lower() if steps else "pods"
    name = str(fields.get("name") or "") or ("leader" if leader else own)
    with_workers = leader or (count == 1 and bool(constraint.shared))  # Kueue's podset-group-name
    return WrittenGroup(pod, name, count, min(least, count), constraint, with_workers)


def _of_annotations(texts: Mapping[str, Any]) -> LevelConstraint:
    """Return what annotations of a pod template say: those of Kueue, Volcano and segments of KAI."""
    slices: Slices = ()
    size = unsigned_number(str(texts.get(f"{_KUEUE}slice-size")))
    if (key := texts.get(f"{_KUEUE}slice-required-topology")) and size:
        slices = ((size, str(key)),)
    segment = unsigned_number(str(texts.get("kai.scheduler/segment-size"))) or 0
    if (key := texts.get("kai.scheduler/segment-topology-required-placement")) and segment > 1:
        slices = ((segment, str(key)),)
    if layers := texts.get(f"{_KUEUE}slice-required-topology-constraints"):
        slices = _layers(str(layers))
    return LevelConstraint(
        str(texts.get(f"{_KUEUE}required-topology") or "") or _hard_tier(texts),
        str(texts.get(f"{_KUEUE}preferred-topology") or ""),
        slices,
        shared=str(texts.get(f"{_KUEUE}group-name") or ""),
    )


def _layers(text: str) -> Slices:
    try:
        found = [(whole(layer["size"], 0), layer["topology"]) for layer in json_value(text)]
    except (ValueError, TypeError, KeyError, RecursionError):
        return ()
    return tuple((size, key) for size, key in found if size and isinstance(key, str))


def _hard_tier(texts: Mapping[str, Any]) -> str:
    tier = texts.get(f"{_VOLCANO}highest-tier")
    return f"tier {tier}" if tier and texts.get(f"{_VOLCANO}mode", "hard") == "hard" else ""


def _of_object(document: Document, findings: list[Finding]) -> LevelConstraint:
    texts = _texts(document, "metadata.annotations")
    found = LevelConstraint(
        texts.get(f"{_KAI}-required-placement", "") or _hard_tier(texts),
        texts.get(f"{_KAI}-preferred-placement", ""),
        hierarchy=texts.get(_KAI, ""),
    )
    if document.kind == "LeaderWorkerSet" and (key := texts.get(f"{_LWS}exclusive-topology")):
        findings.append(_exclusive(document, key))
        found = replace(found, required=key)
    network = value_at(document.value, "spec.networkTopology")
    return _of_network(network, found, findings, document) if isinstance(network, Mapping) else found


def _of_jobs(document: Document, pod: PodTemplate, found: LevelConstraint, findings: list[Finding]) -> LevelConstraint:
    """Return the slices of a JobSet whose child jobs have a domain each."""
    job = pod.path.partition(".template")[0]
    own = value_at(document.value, f"{job}.template.metadata.annotations")
    texts = _texts(document, "metadata.annotations") | (dict(own) if isinstance(own, Mapping) else {})
    key = texts.get(f"{_JOBSET}exclusive-topology")
    if not isinstance(key, str) or not key or found.slices:
        return found
    findings.append(_exclusive(document, key))
    size = pod.pods // whole(value_at(document.value, f"{job}.replicas"), 1)
    return replace(found, slices=((max(1, size), key),))


def _of_leader_set(document: Document, count: int, found: LevelConstraint, findings: list[Finding]) -> LevelConstraint:
    """Return the slices of the workers of a LeaderWorkerSet whose subgroups have a domain each."""
    key = _texts(document, "metadata.annotations").get(f"{_LWS}subgroup-exclusive-topology", "")
    size = whole(value_at(document.value, "spec.leaderWorkerTemplate.subGroupPolicy.subGroupSize"), 0)
    if not key or not size or found.slices:
        return found
    if count % size:
        message = f"its leader is in a subgroup of {size} with workers, which dra-lab plans without the level {key}"
        findings.append(Finding("gang-subgroup-level", Severity.WARNING, document.name, message))
        return found
    findings.append(_exclusive(document, key))
    return replace(found, slices=((size, key),))


def _exclusive(document: Document, key: str) -> Finding:
    message = f"it wants each domain of {key} for itself; dra-lab plans one domain for it, which others may use too"
    return Finding("gang-exclusive", Severity.NOTE, document.name, message, "", document.at("metadata.annotations"))


def _of_partitions(policy: Any, found: LevelConstraint, findings: list[Finding], document: Document) -> LevelConstraint:
    """Return the slices of a task of Volcano: each partition in a HyperNode of a tier."""
    network = policy.get("networkTopology") if isinstance(policy, Mapping) else None
    if not isinstance(network, Mapping):
        return found
    level = _of_network(network, LevelConstraint(), findings, document).required
    size = whole(policy.get("partitionSize"), 0)
    return replace(found, slices=((size, level),)) if level and size else found


def _of_network(
    network: Mapping[str, Any], found: LevelConstraint, findings: list[Finding], document: Document
) -> LevelConstraint:
    """Return the level of Volcano's `networkTopology`: the highest tier, if it must hold."""
    if network.get("mode", "hard") != "hard":
        message = "its networkTopology is soft and names no level; dra-lab plans it without one"
        findings.append(
            Finding("gang-soft", Severity.NOTE, document.name, message, "", document.at("spec.networkTopology"))
        )
        return found
    tier = network.get("highestTierAllowed")
    name = str(network.get("highestTierName") or "") or (f"tier {tier}" if isinstance(tier, int) else "")
    return replace(found, required=name)


def _of_request(request: Any, found: LevelConstraint) -> LevelConstraint:
    """Return what a pod set of Kueue's Workload requests."""
    if not isinstance(request, Mapping):
        return found
    key, size = request.get("podSetSliceRequiredTopology"), whole(request.get("podSetSliceSize"), 0)
    return LevelConstraint(
        str(request.get("required") or found.required),
        str(request.get("preferred") or found.preferred),
        ((size, str(key)),) if key and size else found.slices,
        shared=str(request.get("podSetGroupName") or found.shared),
    )


def _of_pod_group(
    spec: Mapping[str, Any], group: Document, found: LevelConstraint, findings: list[Finding]
) -> tuple[int, LevelConstraint]:
    """Return the minimum and the level of a PodGroup of Kubernetes, Volcano or KAI, or of `Job.spec.scheduling`."""
    least = whole(value_at(spec, "schedulingPolicy.gang.minCount"), 0) or whole(spec.get("minMember"), 0)
    topology = value_at(spec, "schedulingConstraints.topology")
    if isinstance(topology, list) and topology and isinstance(topology[0], Mapping):
        return least, replace(found, required=str(topology[0].get("key") or ""))
    if isinstance(spec.get("networkTopology"), Mapping):
        return least, _of_network(spec["networkTopology"], found, findings, group)
    if isinstance(spec.get("topologyConstraint"), Mapping):
        return least, topology_constraint(spec["topologyConstraint"])
    return least, found


def topology_constraint(kai: Any) -> LevelConstraint:
    """Return the levels of a `topologyConstraint` of KAI."""
    if not isinstance(kai, Mapping):
        return LevelConstraint()
    names = (str(kai.get(key) or "") for key in ("requiredTopologyLevel", "preferredTopologyLevel", "topology"))
    required, preferred, hierarchy = names
    return LevelConstraint(required, preferred, hierarchy=hierarchy)


def _texts(document: Document, path: str) -> dict[str, str]:
    found = value_at(document.value, path)
    return {k: v for k, v in found.items() if isinstance(v, str)} if isinstance(found, Mapping) else {}


SUBGROUP = "kai.scheduler/subgroup-name"
"""Label of pods that names their subgroup."""

_MOST_DEPTH = 16


class _SubGroup(Struct, frozen=True):
    name: str
    parent: str
    least: int | None
    least_groups: int
    constraint: LevelConstraint


def subgroup_groups(document: Document, groups: Sequence[WrittenGroup], findings: list[Finding]) -> list[WrittenGroup]:
    """Return the groups of pods that name the subgroups of a PodGroup; the same groups if it has no subgroups."""
    known = {one.name: one for one in _subgroups(document)}
    found: list[WrittenGroup] = []
    leaves: dict[str, list[WrittenGroup]] = {}
    for group in groups:
        name = str(group.pod.labels.get(SUBGROUP, ""))
        (leaves.setdefault(name, []) if name in known else found).append(group)
    tops: dict[str, list[tuple[_Chain, list[WrittenGroup]]]] = {}
    for name, own in leaves.items():
        chain = _chain(known, name)
        tops.setdefault(chain[0].name, []).append((chain, own))
    for name, below in tops.items():
        found += _group_of_subgroups(document, below, name, findings)
    return found


def _subgroups(document: Document) -> Iterator[_SubGroup]:
    written = value_at(document.value, "spec.subGroups")
    for item in written if isinstance(written, list) else ():
        if isinstance(item, Mapping) and isinstance(item.get("name"), str):
            parent = item.get("parent")
            yield _SubGroup(
                item["name"],
                parent if isinstance(parent, str) else "",
                0 if item.get("minMember") == 0 else whole(item.get("minMember"), 0) or None,
                whole(item.get("minSubGroup"), 0),
                topology_constraint(item.get("topologyConstraint")),
            )


_Chain = tuple[_SubGroup, ...]


def _chain(known: Mapping[str, _SubGroup], name: str) -> _Chain:
    """Return a subgroup with those that contain it, the outermost first."""
    found = [known[name]]
    while found[0].parent in known and len(found) < _MOST_DEPTH:
        found.insert(0, known[found[0].parent])
    return tuple(found)


def _group_of_subgroups(
    document: Document, leaves: Sequence[tuple[_Chain, Sequence[WrittenGroup]]], name: str, findings: list[Finding]
) -> Iterator[WrittenGroup]:
    """Yield the pods below one outermost subgroup: one group with slices if its children are identical."""
    top, first = leaves[0][0][0], leaves[0][1][0]
    kinds = set()
    for chain, groups in leaves:
        claims = groups[0].pod.claims
        content = tuple((claim.name, claim.template) for claim in claims), groups[0].pods, len(groups)
        kinds.add((tuple((one.constraint, one.least) for one in chain[1:]), content))
    depths = [_sizes(leaves, depth) for depth in range(1, len(leaves[0][0]))]
    if len(kinds) == 1 and len(leaves[0][1]) == 1 and all(len(set(sizes)) == 1 for sizes in depths):
        pods = sum(groups[0].pods for _, groups in leaves)
        levels = [one.constraint.required for one in leaves[0][0][1:]]
        slices = tuple((sizes[0], level) for sizes, level in zip(depths, levels, strict=True) if level)
        least = top.least if not depths else top.least_groups * depths[0][0] or None
        yield replace(
            first,
            name=name,
            pods=pods,
            least=pods if least is None else min(least, pods),
            constraint=replace(top.constraint, slices=slices),
        )
        return
    for chain, groups in leaves:
        inner = next((one.constraint for one in reversed(chain) if one.constraint.required), chain[-1].constraint)
        for group in groups:
            least = chain[-1].least if len(groups) == 1 else None
            least = group.pods if least is None else min(least, group.pods)
            yield replace(group, name=chain[-1].name, least=least, constraint=inner)
    if top.constraint.required:
        message = f"the level {top.constraint.required} of its subgroup {name} is planned for each part of it alone"
        advice = "Give the PodGroup that level if all of its pods need one domain."
        findings.append(Finding("gang-subgroup-level", Severity.WARNING, document.name, message, advice))


def _sizes(leaves: Sequence[tuple[_Chain, Sequence[WrittenGroup]]], depth: int) -> list[int]:
    """Return the pods below each subgroup of a depth."""
    found = Counter[str]()
    for chain, groups in leaves:
        if len(chain) > depth:
            found[chain[depth].name] += sum(group.pods for group in groups)
    return list(found.values())

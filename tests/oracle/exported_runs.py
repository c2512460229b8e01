"""A judge of exported folders that shares no code with `dra_lab.exports`: it reads the YAML and places pods itself."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
import yaml

from dra_lab.manifests.documents import decode_documents
from dra_lab.model.claims import AllocationResult, ResourceClaim, ResourceClaimStatus, ResourceClaimTemplate
from dra_lab.model.cluster import Cluster
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.placement import FirstFitStatus, Placement
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import asks
from dra_lab.planner.node.goal_table import Scale, broken_links, value_placements
from dra_lab.scheduler.first_fit import Verdict, first_fit
from dra_lab.sketch.cluster_candidates import all_devices, candidates
from dra_lab.sketch.numbered_requests import expand
from dra_lab.topology.locality import localities

LONGEST = 5.0
"""Seconds of kube-scheduler for one search that an export must not exceed."""

COUNTED = ("alternatives", "preferences", "numa", "unpaired", "roots")
_PART = re.compile(r"(-\d+)+")


@dataclass(frozen=True)
class Pod:
    """A pod of an exported workload: the specs of its claims, and the node labels that it requires."""

    workload: str
    specs: tuple[object, ...]
    requires: tuple[tuple[str, tuple[str, ...]], ...]
    key: bytes

    def admits(self, cluster: Cluster, node: str) -> bool:
        """Say whether the node affinity admits a node."""
        labels = cluster.node_by_name[node].metadata.labels
        return all(labels.get(key) in values for key, values in self.requires)


@dataclass(frozen=True)
class Outcome:
    """What one order of pods and nodes gave: (workload, placements) of each placed pod, and searches that failed."""

    served: tuple[tuple[str, tuple[tuple[str, AllocationResult], ...], str], ...]
    failed: tuple[str, ...]
    longest: float


def pods_of(texts: Mapping[str, str]) -> list[Pod]:
    """Return the pods that an exported folder starts."""
    values = [value for name, text in texts.items() if name.endswith(".yaml") for value in yaml.safe_load_all(text)]
    joined = "\n---\n".join(
        yaml.safe_dump(value) for value in values if value["kind"] in ("ResourceClaimTemplate", "ResourceClaim")
    )
    templates = {item.metadata.name: item for item in decode_documents(joined).of(ResourceClaimTemplate)}
    found = []
    for value in values:
        if value["kind"] not in ("Deployment", "Pod"):
            continue
        spec = value["spec"] if value["kind"] == "Pod" else value["spec"]["template"]["spec"]
        names = [claim["resourceClaimTemplateName"] for claim in spec["resourceClaims"]]
        specs = tuple(templates[name].spec.spec for name in names)
        affinity = spec.get("affinity", {}).get("nodeAffinity", {})
        terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", [])
        assert len(terms) <= 1, terms
        requires = []
        for expression in terms[0]["matchExpressions"] if terms else []:
            assert expression["operator"] == "In", expression
            requires.append((expression["key"], tuple(expression["values"])))
        pod = Pod(
            value["metadata"]["name"].removesuffix("-example"), specs, tuple(requires), msgspec.json.encode(specs)
        )
        found += [pod] * (1 if value["kind"] == "Pod" else value["spec"]["replicas"])
    return found


class Judge:
    """Places pods on a cluster, in any order, on any admitted node where first fit finds devices."""

    def __init__(self, cluster: Cluster, release: KubernetesRelease) -> None:
        self.cluster, self.release = cluster, release
        self._known: dict[object, Verdict] = {}

    def run(self, pods: Sequence[Pod], rng: random.Random) -> Outcome:
        """Let the pods arrive in an order of `rng`, each on a node of its choice; a failed search ends an attempt."""
        order = rng.sample(pods, len(pods))
        if rng.random() < 0.3:
            first = rng.sample(sorted({pod.workload for pod in pods}), len({pod.workload for pod in pods}))
            order.sort(key=lambda pod: first.index(pod.workload))
        nodes = list(self.cluster.node_names)
        fixed = rng.random() < 0.5
        rng.shuffle(nodes)
        held: tuple[tuple[str, AllocationResult], ...] = ()
        served, failed, longest = [], [], 0.0
        for pod in order:
            if not fixed:
                rng.shuffle(nodes)
            verdicts = {node: self._verdict(pod, node, held) for node in nodes if pod.admits(self.cluster, node)}
            longest = max([longest, *(verdict.seconds for verdict in verdicts.values())])
            bad = [n for n, v in verdicts.items() if v.status in (FirstFitStatus.ERROR, FirstFitStatus.STOPPED)]
            if bad:
                failed.append(f"{pod.workload} on {bad[0]}: {verdicts[bad[0]].message}")
                continue
            node = next((n for n, v in verdicts.items() if v.status is FirstFitStatus.ALLOCATED), "")
            if node:
                own = tuple((node, one) for one in verdicts[node].allocations or ())
                held = (*held, *own)
                served.append((pod.workload, own, node))
        return Outcome(tuple(served), tuple(failed), longest)

    def _verdict(self, pod: Pod, node: str, held: Sequence[tuple[str, AllocationResult]]) -> Verdict:
        everywhere = bool(self.cluster.network_slices)
        there = [one for where, one in held if everywhere or where == node]
        key = node, pod.key, frozenset(tuple((r.id, r.share_id) for r in one.devices.results) for one in there)
        if key not in self._known:
            claims = tuple(
                ResourceClaim(
                    metadata=ObjectMeta(name=f"judge-{number}", namespace="judge", uid=f"judge-{number}"),
                    status=ResourceClaimStatus(allocation=one),
                )
                for number, one in enumerate(there)
            )
            on = replace(self.cluster, claims=(*self.cluster.claims, *claims))
            wanted = [
                ResourceClaim(metadata=ObjectMeta(name=f"w-{number}"), spec=spec)
                for number, spec in enumerate(pod.specs)
            ]
            self._known[key] = first_fit(on, node, wanted, self.release, time_limit=20.0, search_limit=10.0)
        return self._known[key]


def goal_values(judge: Judge, plan: Plan, workload: str, own: Sequence[tuple[str, AllocationResult]], node: str):
    """Return the values of the devices of a placed pod by the drawing of its planned workload; first broken links."""
    (drawn,) = next(w.claims for w in plan.workloads if w.name == workload)
    sketch = expand(drawn, judge.cluster, judge.release).sketch
    names = sorted((request.name for request in sketch.requests), key=len, reverse=True)
    subs = {r.name: [sub.name for sub in r.first_available] for r in sketch.requests}
    placements = []
    for _, allocation in own:
        taken = Counter(result.request for result in allocation.devices.results)
        for result in allocation.devices.results:
            written, _, sub = result.request.partition("/")
            name = next(n for n in names if written == n or _PART.fullmatch(written.removeprefix(n)))
            alternatives = [one for one in subs[name] if sub.startswith(one)]
            if subs[name] and not alternatives:  # one alternative alone is written as the request
                request = next(r for r in sketch.requests if r.name == name)
                alternatives = [o.name for o in request.first_available if o.count == taken[result.request]]
            reference = f"{name}/{max(alternatives, key=len)}" if alternatives else name
            amounts = {key: str(amount) for key, amount in result.consumed_capacity.items()}
            placements.append(Placement(reference, result.id, result.request, amounts))
    places = localities(judge.cluster, node)
    devices = {item.id: item.device for item in all_devices(judge.cluster) if item.id in places}
    goals = next((r.goals for r in plan.pods if r.workload == workload), ())
    order = [goal.goal for goal in goals if goal.goal in COUNTED]
    paired = _paired(judge, sketch)
    scale = Scale(sketch, places, devices, paired)
    values = tuple(goal.value for goal in value_placements(scale, placements, order))
    return (len(broken_links(scale, placements)), *values)


def _paired(judge: Judge, sketch) -> bool:
    kinds = {
        shape.kind
        for request in sketch.requests
        for ask in asks(request)
        for shape in candidates(judge.cluster, ask, judge.release).shapes
    }
    return {"gpu", "nic"} <= kinds


def kept(judge: Judge, plan: Plan, outcome: Outcome) -> tuple[int, int]:
    """Return how many planned replicas are served no worse than planned, and how many are planned."""
    served: dict[str, list[tuple[int, ...]]] = {}
    for workload, own, node in outcome.served:
        served.setdefault(workload, []).append(goal_values(judge, plan, workload, own, node))
    good = 0
    for workload in plan.workloads:
        planned = sorted(
            (0, *(goal.value for goal in r.goals if goal.goal in COUNTED))
            for r in plan.pods
            if r.workload == workload.name
        )
        good += sum(have <= want for have, want in zip(sorted(served.get(workload.name, [])), planned, strict=False))
    return good, len(plan.pods)

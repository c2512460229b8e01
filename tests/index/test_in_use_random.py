"""What is in use, on random worlds: audit, unused claims and health against a second reading of the rules.

The second reading is written from docs/semantics.md 3.14, KEP-4680 and the API's documentation, in sets and plain
loops.
"""

from __future__ import annotations

import random
from itertools import product

import pytest
from small_holders import result
from small_nodes import NUMA, ROOT, a_slice, cluster, device
from small_plans import GPU

from dra_lab.checks.in_use_audit import audit_claims
from dra_lab.checks.unused_claims import check_unused
from dra_lab.index.device_health import device_health
from dra_lab.model.allocation import (
    AllocationResult,
    DeviceAllocationResult,
    ResourceClaimConsumerReference,
    ResourceClaimStatus,
)
from dra_lab.model.claims import (
    CapacityRequirements,
    CELDeviceSelector,
    DeviceClaim,
    DeviceClass,
    DeviceClassSpec,
    DeviceConstraint,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import DeviceCapacity, DeviceTaint
from dra_lab.model.nodes import (
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeStatus,
    NodeSystemInfo,
    ObjectMeta,
)
from dra_lab.model.slices import DeviceTaintRule, DeviceTaintRuleSpec, DeviceTaintSelector
from dra_lab.model.workloads import (
    ContainerStatus,
    Pod,
    PodResourceClaim,
    PodResourceClaimStatus,
    PodSpec,
    PodStatus,
    ResourceHealth,
    ResourceStatus,
)

NODES, NAMES, NAMESPACES = ("n1", "n2"), ("gpu-0", "gpu-1", "gpu-2"), ("team", "other")
TAINTS = tuple(DeviceTaint(key=k, value="v", effect=e) for k, e in product("ab", ("NoSchedule", "NoExecute", "None")))
CLASSES = {"any": "true", "good": f"device.attributes['{GPU}'].good", "mine": f"device.driver == '{GPU}'"}


def selectors(text: str) -> tuple[DeviceSelector, ...]:
    """One CEL selector, none for ""."""
    return (DeviceSelector(cel=CELDeviceSelector(expression=text)),) if text else ()


def a_device(rng: random.Random, name: str):
    """A device with some of what the rules look at."""
    attributes = {"good": rng.random() < 0.8}
    attributes |= {ROOT: rng.choice("xy")} if rng.random() < 0.8 else {}
    attributes |= {NUMA: rng.randrange(2)} if rng.random() < 0.8 else {}
    capacity = {"memory": DeviceCapacity(value=rng.choice(("10Gi", "40Gi")))} if rng.random() < 0.8 else {}
    taints = tuple(rng.sample(TAINTS, rng.choice((0, 0, 0, 1, 2))))
    shared = rng.choice((True, False, None))
    return device(name, attributes, capacity=capacity, taints=taints, allow_multiple_allocations=shared)


def an_ask(rng: random.Random) -> dict:
    """What a request or an alternative asks for."""
    tolerations = (
        DeviceToleration(key="a", operator="Exists"),
        DeviceToleration(key="b", value=rng.choice("vw"), effect=rng.choice(("", "NoExecute"))),
        DeviceToleration(operator="Exists", effect=rng.choice(("NoSchedule", "NoExecute"))),
    )
    amounts = {"requests": {"memory": rng.choice(("5Gi", "20Gi"))}}
    return {
        "device_class_name": rng.choice((*CLASSES, "gone")),
        "selectors": selectors(rng.choice(("", "", f"device.attributes['{GPU}'].good"))),
        "tolerations": tuple(rng.sample(tolerations, rng.choice((0, 0, 1)))),
        "capacity": CapacityRequirements(**amounts) if rng.random() < 0.3 else None,
    }


def a_claim(rng: random.Random, number: int) -> ResourceClaim:
    """A claim of one or two requests, with devices that may be anything by now."""
    requests, results = [], []
    for name in ("r", "s")[: rng.choice((1, 1, 2))]:
        admin = rng.random() < 0.15
        if rng.random() < 0.3:
            parts = tuple(DeviceSubRequest(name=part, **an_ask(rng)) for part in ("one", "two"))
            requests.append(DeviceRequest(name=name, first_available=parts))
            reference, admin = f"{name}/{rng.choice(('one', 'two'))}", False
        else:
            requests.append(DeviceRequest(name=name, exactly=ExactDeviceRequest(admin_access=admin, **an_ask(rng))))
            reference = name
        for _ in range(rng.choice((1, 1, 2))):
            pool, chosen = rng.choice((*NODES, *NODES, "n9")), rng.choice((*NAMES, *NAMES, "gpu-9"))
            more = {"share_id": f"s{rng.random()}"} if not admin and rng.random() < 0.4 else {}
            more |= (
                {"consumed_capacity": {"memory": rng.choice(("5Gi", "20Gi"))}} if more and rng.random() < 0.7 else {}
            )
            results.append(result(chosen, pool=pool, request=reference, admin_access=admin or None, **more))
    kind, names = (
        rng.choice(("match_attribute", "distinct_attribute")),
        rng.choice(((), ("r",), ("r/one",), ("r", "s"))),
    )
    constraint = DeviceConstraint(requests=names, **{kind: rng.choice((ROOT, NUMA))})
    node = NodeSelectorRequirement(key="metadata.name", operator="In", values=(rng.choice((*NODES, "n9")),))
    selector = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(node,)),))
    devices = DeviceClaim(requests=tuple(requests), constraints=(constraint,) if rng.random() < 0.4 else ())
    allocation = AllocationResult(
        devices=DeviceAllocationResult(results=tuple(results)), node_selector=selector if rng.random() < 0.4 else None
    )
    consumers = tuple(
        ResourceClaimConsumerReference(resource=kind, name=f"p{rng.randrange(3)}", uid=f"u{rng.randrange(2)}")
        for kind in rng.sample(("pods", "pods", "jobs"), rng.choice((0, 1, 1, 2)))
    )
    gone = "2026-01-01T00:00:00Z" if rng.random() < 0.2 else None
    metadata = ObjectMeta(name=f"c{number}", namespace=rng.choice(NAMESPACES), deletion_timestamp=gone)
    status = ResourceClaimStatus(allocation=allocation if rng.random() < 0.9 else None, reserved_for=consumers)
    return ResourceClaim(metadata=metadata, spec=ResourceClaimSpec(devices=devices), status=status)


def a_pod(rng: random.Random, name: str, uid: str, claim: ResourceClaim) -> Pod:
    """A pod of a claim, by its name or made from a template, that may say something of the health of its devices."""
    used = claim.metadata.name
    ids = [*(str(r.id) for r in held(claim)), f"{GPU}/n1/gpu-0"]
    made = rng.random() < 0.5
    entry = PodResourceClaim(
        name="e", **({"resource_claim_template_name": "t"} if made else {"resource_claim_name": used})
    )
    statuses = (PodResourceClaimStatus(name="e", resource_claim_name=used),) if made else ()
    reported = tuple(
        ResourceStatus(
            name=f"claim:e{rng.choice(('', '/r', '/s'))}",
            resources=tuple(
                ResourceHealth(
                    resource_id=rng.choice(ids),
                    health=rng.choice(("Healthy", "Unhealthy", "Unknown")),
                )
                for _ in range(2)
            ),
        )
        for _ in range(rng.randrange(3))
    )
    containers = (ContainerStatus(name="c", allocated_resources_status=reported),)
    status = PodStatus(container_statuses=containers, resource_claim_statuses=statuses)
    metadata = ObjectMeta(name=name, namespace=claim.metadata.namespace, uid=uid)
    return Pod(metadata=metadata, spec=PodSpec(resource_claims=(entry,)), status=status)


def a_world(seed: int) -> Cluster:
    """Two nodes, a pool each that may be old or incomplete, claims, pods, a rule that taints."""
    rng = random.Random(seed)
    slices = []
    for node in NODES:
        devices = tuple(a_device(rng, name) for name in rng.sample(NAMES, rng.choice((1, 2, 3))))
        slices.append(a_slice(GPU, *devices, node=node, generation=2, count=rng.choice((1, 1, 1, 1, 2))))
        if rng.random() < 0.3:
            slices.append(a_slice(GPU, a_device(rng, "gpu-9"), node=node, generation=1))
    release = rng.choice(("1.35", "1.36", "1.37"))
    info = NodeStatus(node_info=NodeSystemInfo(kubelet_version=f"v{release}.0"))
    nodes = tuple(Node(metadata=ObjectMeta(name=node), status=info) for node in NODES[: rng.choice((1, 2, 2))])
    rule = DeviceTaintRuleSpec(taint=rng.choice(TAINTS), device_selector=DeviceTaintSelector(device=rng.choice(NAMES)))
    claims = tuple(a_claim(rng, number) for number in range(rng.choice((2, 3, 5))))
    pods = {
        (claim.metadata.namespace, one.name): a_pod(rng, one.name, rng.choice((one.uid, one.uid, "u9")), claim)
        for claim in claims
        for one in claim.status.reserved_for
        if claim.metadata.namespace == "team" and rng.random() < 0.8
    }
    return cluster(
        *slices,
        classes=tuple(
            DeviceClass(metadata=ObjectMeta(name=name), spec=DeviceClassSpec(selectors=selectors(text)))
            for name, text in CLASSES.items()
        ),
        nodes=nodes,
        claims=claims,
        taint_rules=(DeviceTaintRule(metadata=ObjectMeta(name="rule"), spec=rule),) if rng.random() < 0.4 else (),
        pods=tuple(pods.values()),
        resource_versions={"Pod": "1"} if rng.random() < 0.3 else {},
    )


# ---------------------------------------------------------------- the second reading


def gib(text: str) -> int:
    """An amount of these worlds."""
    return int(text.removesuffix("Gi"))


def full(claim: ResourceClaim) -> str:
    """`namespace/name`."""
    return f"{claim.metadata.namespace}/{claim.metadata.name}"


def held(claim: ResourceClaim):
    """The results of a claim."""
    return claim.status.allocation.devices.results if claim.status.allocation else ()


def there(world: Cluster) -> dict:
    """The devices of generation 2, the newest of each pool here."""
    return {(s.spec.pool.name, d.name): d for s in world.slices for d in s.spec.devices if s.spec.pool.generation == 2}


def request_of(claim: ResourceClaim, reference: str):
    """The request or alternative of a result."""
    for request in claim.spec.devices.requests:
        for part in request.first_available:
            if f"{request.name}/{part.name}" == reference:
                return part
        if request.exactly and request.name == reference:
            return request.exactly
    raise AssertionError


def expected_audit(world: Cluster) -> set[tuple]:
    """Rule, claim and device of everything that would not be granted again."""
    devices, found = there(world), set()
    for claim in world.claims:
        name = full(claim)
        if claim.status.allocation and (selector := claim.status.allocation.node_selector):
            [field] = selector.node_selector_terms[0].match_fields
            # a node that only a slice names is known as well
            found |= {("node-vanished", name, None)} if field.values[0] not in NODES else set()
        for one in held(claim):
            key = (one.pool, one.device)
            if key in devices:
                wrong = device_wrong(world, one, devices[key], request_of(claim, one.request))
                wrong |= shared_wrongly(world, claim, one, devices[key], request_of(claim, one.request))
            else:
                wrong = {"device-vanished" if one.pool in NODES else "pool-vanished"}
            found |= {(rule, name, key) for rule in wrong}
        if any(breaks(claim, constraint, devices) for constraint in claim.spec.devices.constraints):
            found.add(("constraint-broken", name, None))
    return found


def device_wrong(world: Cluster, one, it, ask) -> set[str]:
    """What is wrong with a device by itself."""
    minor = int(world.nodes[0].status.node_info.kubelet_version.split(".")[1])
    newest = [s for s in world.slices if s.spec.pool.generation == 2 and s.spec.pool.name == one.pool]
    found = {"pool-unusable"} if newest[0].spec.pool.resource_slice_count != len(newest) else set()
    taints = list(it.taints) if minor >= 36 else []
    for rule in world.taint_rules if minor >= 37 else ():
        taints += [rule.spec.taint] if rule.spec.device_selector.device == one.device else []
    for taint in taints:
        if taint.effect != "None" and not any(tolerated(taint, toleration) for toleration in ask.tolerations):
            found.add("taint-not-tolerated")
    good = it.attributes["good"].bool_
    if ask.device_class_name == "gone":
        found.add("class-missing")
    elif ask.device_class_name == "good" and not good:
        found.add("class-no-longer-selects")
    elif ask.selectors and not good:
        found.add("request-no-longer-selects")
    return found


def tolerated(taint: DeviceTaint, toleration: DeviceToleration) -> bool:
    """Key and effect empty mean any; Exists asks for no value."""
    key = not toleration.key or toleration.key == taint.key
    effect = not toleration.effect or toleration.effect == taint.effect
    return key and effect and (toleration.operator == "Exists" or toleration.value == taint.value)


def shared_wrongly(world: Cluster, claim: ResourceClaim, one, it, ask) -> set[str]:
    """What is wrong with who else has the device, and with how much of it there is."""
    found: set[str] = set()
    same = [(full(c), r) for c in world.claims for r in held(c) if r.id == one.id and not r.admin_access]
    if not one.admin_access:
        if any(name != full(claim) and r.share_id is None for name, r in same):
            found.add("device-held-twice")
        if one.share_id is None and any(r.share_id for _, r in same):
            found.add("device-held-twice")
        if one.share_id and not it.allow_multiple_allocations:
            found.add("device-not-shared")
    total = gib(it.capacity["memory"].value) if it.capacity else None
    wanted = gib(ask.capacity.requests["memory"]) if ask.capacity else None
    if (wanted is not None or one.consumed_capacity) and total is None:
        found.add("capacity-too-small")
    if wanted is not None and total is not None and wanted > total:
        found.add("capacity-too-small")
    taken = sum(gib(r.consumed_capacity["memory"]) for _, r in same if r.share_id and r.consumed_capacity)
    if one.share_id and total is not None and (wanted is not None or one.consumed_capacity) and taken > total:
        found.add("capacity-too-small")
    return found


def breaks(claim: ResourceClaim, constraint: DeviceConstraint, devices: dict) -> bool:
    """Whether the devices that are still there do not meet a constraint."""
    attribute, values = constraint.match_attribute or constraint.distinct_attribute, []
    for one in held(claim):
        named = not constraint.requests or one.request in constraint.requests
        named = named or one.request.split("/")[0] in constraint.requests
        it = devices.get((one.pool, one.device))
        if named and it is not None:
            if attribute not in it.attributes:
                return True
            values.append(it.attributes[attribute].value)
    if constraint.match_attribute:
        return any(value != values[0] for value in values)
    return any(a == b for i, a in enumerate(values) for b in values[:i])


def test_every_rule_of_the_audit_is_met():
    """Else the worlds would prove nothing of it."""
    met = {rule for seed in range(300) for rule, _, _ in expected_audit(a_world(seed))}
    assert met == {
        *("node-vanished", "pool-vanished", "device-vanished", "pool-unusable", "taint-not-tolerated", "class-missing"),
        *(
            "class-no-longer-selects",
            "request-no-longer-selects",
            "device-held-twice",
            "device-not-shared",
            "capacity-too-small",
        ),
        "constraint-broken",
    }


@pytest.mark.parametrize("seed", range(300))
def test_the_audit_says_what_the_rules_say(seed):
    """Each rule, claim and device, no more and no less."""
    world = a_world(seed)
    rows = {(r.rule, r.claim, (r.device.pool, r.device.device) if r.device else None) for r in audit_claims(world)}
    assert rows == expected_audit(world)


@pytest.mark.parametrize("seed", range(150))
def test_unused_claims_are_those_of_nobody(seed):
    """Allocated, not only for watching, and reserved for no pod, or for pods that are known to be gone."""
    world = a_world(seed)
    pods = {(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid) for pod in world.pods}
    expected: dict[str, set[str]] = {}
    for claim in world.claims:
        space = claim.metadata.namespace
        if not [r for r in held(claim) if not r.admin_access]:
            continue
        known = bool(world.resource_versions) or space in {pod.metadata.namespace for pod in world.pods}
        users = [
            r for r in claim.status.reserved_for if r.resource != "pods" or not known or (space, r.name, r.uid) in pods
        ]
        if not users:
            rule = "claim-of-gone-pods" if claim.status.reserved_for else "claim-unreserved"
            rule = "claim-not-let-go" if claim.metadata.deletion_timestamp else rule
            expected.setdefault(rule, set()).add(full(claim))
    found = {f.rule: set(f.message.split(": ")[1].split(", ")) for f in check_unused(world)}
    assert found == expected


@pytest.mark.parametrize("seed", range(150))
def test_health_is_the_worst_that_a_user_reports(seed):
    """The claim holds the device for the named request, and is reserved for the pod."""
    world = a_world(seed)
    rank = ("Healthy", "Unknown", "Unhealthy")
    expected: dict[tuple[str, str], int] = {}
    alone = set()
    for pod in world.pods:
        entries = (*pod.spec.resource_claims, *pod.status.resource_claim_statuses)
        used = {entry.resource_claim_name for entry in entries}
        for claim in world.claims:
            reserved = [(r.name, r.uid) for r in claim.status.reserved_for if r.resource == "pods"]
            mine = claim.metadata.namespace == pod.metadata.namespace and claim.metadata.name in used
            if not mine or (pod.metadata.name, pod.metadata.uid) not in reserved:
                continue
            for status in pod.status.container_statuses[0].allocated_resources_status:
                request = status.name.partition("/")[2]
                meant = [r for r in held(claim) if request in ("", r.request.split("/")[0])]
                ids = {str(r.id) for r in meant}
                for resource in status.resources:
                    if resource.resource_id in ids:
                        key, level = resource.resource_id, rank.index(resource.health)
                        expected[key] = max(expected.get(key, 0), level)
                    elif ids:
                        alone |= ids  # a name that is not the device's own: CDI names have tests of their own
    found = {str(device_id): health for device_id, health in device_health(world).items()}
    assert {k: v for k, v in found.items() if k not in alone} == {
        k: rank[v] for k, v in expected.items() if k not in alone
    }

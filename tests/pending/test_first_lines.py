"""The first line of an explanation names what keeps a pod pending."""

import pytest
from pending.dumps import (
    AMD,
    CHIP,
    claim,
    cluster,
    device,
    device_class,
    devices_of,
    node,
    pod,
    request,
    spec_of,
    template,
    waiting,
    write,
)

from dra_lab import DraLabError, explain, load_cluster
from dra_lab.words.shown import in_html

ONE = spec_of(request())
BIG = spec_of(request(cls="amd-big"))
TAINT = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}
ROOT = "resource.kubernetes.io/pcieRoot"
GPUS = [f"gpu-{number}" for number in range(4)]
HERE = f'device.attributes["{AMD}"]'
KUEUE = {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}], "labels": {"kueue.x-k8s.io/queue-name": "team-q"}}


def _holds(name, on, devices, spec=ONE):
    own = claim(f"{name}-c0-aaaaa", spec, on=on, devices=devices, pods=(name,), owner=name)
    return [own, pod(name, claims=("template:own",), on=on, phase="Running")]


def _affinity(**term):
    required = {"nodeSelectorTerms": [{"matchExpressions": [term]}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def _class(expression):
    return device_class("amd-big", selectors=[{"cel": {"expression": expression}}])


def _asks(expression, **fields):
    return cluster() + waiting(spec_of(request(cel=expression, **fields)))


def _alternatives(*parts):
    return {"devices": {"requests": [{"name": "gpu", "firstAvailable": list(parts)}]}}


def _pairs(*nodes):
    """Return nodes of 14 GPUs and 14 chips, a number of which share a PCIe root."""
    items = [device_class(AMD), device_class(CHIP)]
    for name, shared in nodes:
        roots = {AMD: range(14), CHIP: [*range(shared), *range(20, 34 - shared)]}
        items.append(node(name))
        for driver, own in roots.items():
            items.append(devices_of(name, driver, [device(f"d{one}", **{ROOT: f"pci{one:02x}"}) for one in own]))
    return items


def _ten_pairs():
    pairs = [(request(f"gpu-{one}"), request(f"chip-{one}", cls=CHIP)) for one in range(10)]
    constraints = [{"requests": [one["name"] for one in pair], "matchAttribute": ROOT} for pair in pairs]
    return {
        "devices": {"requests": [one for side in zip(*pairs, strict=True) for one in side], "constraints": constraints}
    }


CASES = {
    # nodes
    "a label that no node has": (cluster() + waiting(ONE, nodeSelector={"zone": "z9"}), ("zone=z9", "z0", "z1")),
    "a key of a label": (cluster() + waiting(ONE, nodeSelector={"Zone": "z0"}), ("Zone=z0", "did you mean zone=z0")),
    "two labels": (
        cluster() + waiting(ONE, nodeSelector={"zone": "z0", "kubernetes.io/hostname": "node-b"}),
        ("zone=z0 allows only node-a", "node-a does not have the label kubernetes.io/hostname=node-b"),
    ),
    "a node affinity": (
        cluster() + waiting(ONE, **_affinity(key="zone", operator="In", values=["z8"])),
        ("node affinity: zone in (z8)", "z0 on 1 node"),
    ),
    "taints of nodes": (cluster(taints=[TAINT]) + waiting(ONE), ("every node has a taint", "dedicated=ml:NoSchedule")),
    "cordoned nodes": (cluster(cordoned=True) + waiting(ONE), ("every node is cordoned",)),
    "more CPUs than a node has": (
        cluster() + waiting(ONE, resources={"requests": {"cpu": "128"}}),
        ("requests 128 CPUs", "no node can allocate more than 96 CPUs"),
    ),
    "more memory than a node has": (
        cluster() + waiting(ONE, resources={"requests": {"memory": "1Ti"}}),
        ("1Ti of memory", "512Gi of memory"),
    ),
    "CPUs that other pods request": (
        cluster()
        + [pod(f"web-{on}", on=on, phase="Running", resources={"requests": {"cpu": 90}}) for on in ("node-a", "node-b")]
        + waiting(ONE, resources={"requests": {"cpu": "16"}}),
        ("requests 16 CPUs", "more than 6 CPUs left", "90 CPUs of 96 CPUs"),
    ),
    "an extended resource that no node has": (
        [*cluster(), pod(resources={"limits": {"vendor.com/npu": "1"}})],
        ("requests 1 vendor.com/npu", "no node has any"),
    ),
    # before a node is looked for
    "a scheduling gate": (
        cluster() + waiting(ONE, schedulingGates=[{"name": "example.com/wait"}]),
        ("scheduling gate example.com/wait",),
    ),
    "a queue": (cluster() + waiting(ONE, **KUEUE), ("Kueue's queue team-q has not admitted it",)),
    "a template": (
        [*cluster(), pod(claims=("template:gpu-smal",)), template("gpu-small", ONE)],
        ("ResourceClaimTemplate gpu-smal does not exist in the namespace team-a", "did you mean gpu-small"),
    ),
    "a template of another namespace": (
        [*cluster(), pod(claims=("template:own",)), template("own", ONE, "team-b")],
        ("ResourceClaimTemplate own does not exist in the namespace team-a", "in the namespace team-b"),
    ),
    "a template in a dump without templates": (
        [*cluster(), pod(claims=("template:own",))],
        ("ResourceClaimTemplate own (namespace team-a) was not read",),
    ),
    "a claim": (
        [*cluster(), pod(claims=("shared",)), claim("shared", ONE, "team-b")],
        ("ResourceClaim shared does not exist in the namespace team-a",),
    ),
    "a class": (
        cluster() + waiting(spec_of(request(cls="gpu.amd.co"))),
        ("DeviceClass gpu.amd.co, which does not exist", "did you mean gpu.amd.com"),
    ),
    "a class of an alternative": (
        cluster()
        + waiting(_alternatives({"name": "a", "deviceClassName": "big"}, {"name": "b", "deviceClassName": AMD})),
        ("gpu/a names the DeviceClass big, which does not exist",),
    ),
    # a claim that is allocated
    "a claim on another node": (
        cluster()
        + _holds("first", "node-a", ["gpu-0"])
        + [pod(claims=("first-c0-aaaaa",), nodeSelector={"zone": "z1"})],
        ("first-c0-aaaaa", "team-a/first", "only node-a", "zone=z1"),
    ),
    "a claim on a node that is gone": (
        [*cluster(), pod(claims=("own",)), claim("own", ONE, on="node-z", devices=["gpu-0"], pods=("first",))],
        ("claim own is allocated", "node-z", "not in the cluster"),
    ),
    "a bound pod": (
        [*cluster(), pod(claims=("own",), on="node-a"), claim("own", ONE, on="node-a", devices=["gpu-0"])],
        ("pending on node-a", "kubelet"),
    ),
    # devices
    "a boolean compared with a text": (_asks(f'{HERE}.vf == "false"'), ("vf is a boolean", '"false"', "request gpu")),
    "an integer compared with a text": (_asks(f'{HERE}.partitions == "1"'), ("partitions is an integer", '"1"')),
    "an attribute": (_asks(f'{HERE}.modle == "MI300X"'), ("gpu.amd.com/modle", "did you mean gpu.amd.com/model?")),
    "a guarded attribute": (
        _asks(f'has({HERE}.modle) && {HERE}.modle == "MI300X"'),
        ("gpu.amd.com/modle", "did you mean gpu.amd.com/model?"),
    ),
    "a value": (_asks(f'{HERE}.model == "MI250"'), ('model == "MI250"', 'model is "MI300X" on all 8')),
    "the part of a selector that is false": (
        _asks(f'device.driver == "{AMD}" && {HERE}.model == "MI250" && !{HERE}.vf'),
        (f'the selector {HERE}.model == "MI250" of request gpu',),
    ),
    "a capacity in a selector": (
        _asks(f'device.capacity["{AMD}"].memory.compareTo(quantity("256Gi")) >= 0'),
        ("memory is 192Gi on all 8",),
    ),
    "a capacity": (
        cluster() + waiting(spec_of(request(capacity={"requests": {"memory": "256Gi"}}))),
        ("asks for 256Gi of memory", "192Gi on all 8"),
    ),
    "a class that selects nothing": (
        [*cluster(), _class(f'device.driver == "{AMD}" && {HERE}.model == "MI250"'), *waiting(BIG)],
        ("DeviceClass amd-big selects no device", 'model is "MI300X"'),
    ),
    "a class that fails": (
        [*cluster(), _class(f'{HERE}.model == "MI250"'), *waiting(BIG)],
        ("DeviceClass amd-big", "do not publish the attribute gpu.amd.com/model", "gives up the pod"),
    ),
    "taints of devices": (
        cluster(gpu_taints=[{"key": "amd.com/sick", "effect": "NoSchedule"}]) + waiting(ONE),
        ("request gpu does not tolerate the taint amd.com/sick:NoSchedule",),
    ),
    "devices in use": (
        cluster()
        + _holds("a", "node-a", GPUS[:3])
        + _holds("b", "node-b", GPUS[:2])
        + waiting(spec_of(request(count=4))),
        ("needs 4", "more than 2 free", "on node-b pod team-a/b holds 2"),
    ),
    "all devices in use": (
        cluster() + _holds("a", "node-a", GPUS) + _holds("b", "node-b", GPUS) + waiting(ONE),
        ("none is free", "pod team-a/a holds 4", "pod team-a/b holds 4"),
    ),
    "devices in use by a claim without a pod": (
        [
            *cluster(),
            claim("left-a", ONE, on="node-a", devices=GPUS),
            claim("left-b", ONE, on="node-b", devices=GPUS),
            *waiting(ONE),
        ],
        ("claim team-a/left-a, which no pod uses, holds 4",),
    ),
    "devices of the only node": (
        cluster() + _holds("a", "node-a", GPUS) + waiting(ONE, nodeSelector={"zone": "z0"}),
        ("zone=z0 allows only node-a", "pod team-a/a holds 4"),
    ),
    "all devices of a node": (
        cluster()
        + _holds("a", "node-a", ["gpu-0"])
        + _holds("b", "node-b", ["gpu-1"])
        + waiting(spec_of(request(allocationMode="All"))),
        ("gpu-0 is in use", "request for all devices", "pod team-a/a holds 1"),
    ),
    "more devices than a node has": (
        cluster() + waiting(spec_of(request(count=6))),
        ("request gpu needs 6", "no node has more than 4"),
    ),
    "requests on different nodes": (
        cluster()
        + _holds("a", "node-a", GPUS)
        + [claim("chips", ONE, on="node-b", devices=["chip-0", "chip-1"], driver=CHIP, pods=("b",))]
        + waiting(spec_of(request(), request("chip", cls=CHIP))),
        ("request gpu only on node-b", "request chip only on node-a", "pod team-a/a holds 4"),
    ),
    "a request of the second claim": (
        [
            *cluster(),
            pod(claims=("template:own", "template:chips")),
            template("own", ONE),
            template("chips", spec_of(request("chip", 3, CHIP))),
        ],
        ("request chip needs 3", "no node has more than 2"),
    ),
    "a constraint": (
        cluster() + waiting(spec_of(request(count=2), same="resource.kubernetes.io/pcieRoot")),
        ("constraint on resource.kubernetes.io/pcieRoot of request gpu", "most on one are 1"),
    ),
    "a constraint on an attribute that is not published": (
        cluster() + waiting(spec_of(request(), request("chip", cls=CHIP), same="resource.kubernetes.io/pcieRoot")),
        ("no device of request chip publishes the attribute resource.kubernetes.io/pcieRoot",),
    ),
    "alternatives": (
        cluster()
        + waiting(
            _alternatives(
                {"name": "eight", "deviceClassName": AMD, "count": 8},
                {"name": "six", "deviceClassName": AMD, "count": 6},
            )
        ),
        ("none of the 2 alternatives of request gpu fits", "gpu/six", "no node has more than 4"),
    ),
    "extended resources with a class": (
        [one for one in cluster() if one["metadata"]["name"] != AMD]
        + [device_class(AMD, extendedResourceName="amd.com/gpu"), pod(resources={"limits": {"amd.com/gpu": "9"}})],
        ("needs 9", "no node has more than 4"),
    ),
    "a pool that is not complete": (
        cluster(slices=2) + waiting(ONE),
        ("no node has a device of class gpu.amd.com", "pools that are not complete"),
    ),
    "constraints that compete": (
        [*_pairs(("short", 9)), *waiting(_ten_pairs())],
        ("its 10 constraints on resource.kubernetes.io/pcieRoot", "not all at once"),
    ),
    # the search
    "the limit of the search": (
        [*_pairs(("full", 14), ("short", 9)), *waiting(_ten_pairs())],
        ("limit of kube-scheduler's search", "on short", "after 10 s"),
    ),
    # no reason
    "nothing": (cluster() + waiting(ONE), ("found no reason", "free on 2 of 2 nodes")),
    "no request in the claim": (cluster() + waiting({"devices": {"requests": None}}), ("found no reason",)),
    "fields that are null": (
        cluster()
        + waiting(ONE, nodeSelector=None, tolerations=None, affinity=None, schedulingGates=None, volumes=None),
        ("found no reason",),
    ),
    "no nodes in the dump": (
        [one for one in cluster() if one["kind"] != "Node"] + waiting(ONE, nodeSelector={"zone": "z9"}),
        ("found no reason",),
    ),
}
SEARCHED = ("constraints that compete", "the limit of the search")


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
@pytest.mark.parametrize("case", [pytest.param(c, marks=[pytest.mark.long] if c in SEARCHED else []) for c in CASES])
def test_the_first_line_names_what_is_in_the_way(tmp_path, case, version):
    items, words = CASES[case]
    found = explain(load_cluster(write(tmp_path, items, version)), pod="team-a/train-7")
    assert [word for word in words if word not in found.sentence] == [], found.sentence
    assert found.sentence.startswith("team-a/train-7 is pending")


def test_every_pending_pod_has_a_line(tmp_path):
    items = (
        cluster() + waiting(ONE, "a", nodeSelector={"zone": "z9"}) + waiting(ONE, "b", schedulingGates=[{"name": "g"}])
    )
    found = explain(load_cluster(write(tmp_path, items + _holds("c", "node-a", ["gpu-0"]))))
    assert [pod.pod for pod in found.pods] == ["team-a/a", "team-a/b"]
    assert found.sentence == "2 pods are pending for devices."
    assert "team-a/b is pending: its scheduling gate g" in str(found)


def test_equal_pods_have_the_same_reason(tmp_path):
    items = cluster() + waiting(ONE, "a", nodeSelector={"zone": "z9"}) + waiting(ONE, "b", nodeSelector={"zone": "z9"})
    one, other = explain(load_cluster(write(tmp_path, items))).pods
    assert one.sentence.replace("team-a/a", "team-a/b") == other.sentence


@pytest.mark.parametrize(
    ("pod_named", "words"),
    [("train-7", "team-a/train-7"), ("team-a/train-8", "did you mean 'team-a/train-7'"), ("x", "2 pods are called x")],
)
def test_a_pod_is_found_by_its_name(tmp_path, pod_named, words):
    items = cluster() + waiting(ONE) + [pod("x", claims=("own",)), pod("x", "team-b", claims=("own",))]
    found = load_cluster(write(tmp_path, items))
    try:
        text = explain(found, pod=pod_named).sentence
    except DraLabError as error:
        text = error.message
    assert words in text


def test_what_is_not_checked_is_said(tmp_path):
    volumes = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
    items = cluster() + waiting(ONE, volumes=volumes, schedulerName="volcano")
    (found,) = explain(load_cluster(write(tmp_path, items))).pods
    assert ["data" in found.not_checked[0], "volcano" in found.not_checked[1]] == [True, True]
    assert "Not checked" in str(found)


def test_a_node_may_be_named(tmp_path):
    items = cluster() + waiting(ONE, nodeSelector={"zone": "z0"})
    read = load_cluster(write(tmp_path, items))
    assert "node-b does not have the label zone=z0" in explain(read, pod="train-7", node="node-b").sentence
    assert not explain(read, pod="train-7", node="node-a").pods[0].blocked


def test_text_from_a_cluster_is_harmless(tmp_path):
    items = cluster() + waiting(ONE, nodeSelector={"zone": "\x1b[31m"}, schedulingGates=[{"name": "<script>"}])
    found = explain(load_cluster(write(tmp_path, items)), pod="train-7")
    assert ("\x1b" in str(found), "<script" in in_html(found)) == (False, False)

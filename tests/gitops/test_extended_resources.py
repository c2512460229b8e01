"""Extended resources that a DeviceClass serves: the claim that stands for them, and the nodes where it counts."""

from __future__ import annotations

import pytest
from gitops.manifests_written import TEMPLATE, write
from small_manifests import pod as pod_text
from small_nodes import a_slice, cluster, gpu

from dra_lab import KubernetesRelease, load_cluster, migrate
from dra_lab.cli import main
from dra_lab.errors import InputError
from dra_lab.gitops.check_manifests import check_manifests
from dra_lab.gitops.claims_of_file import read_pod
from dra_lab.gitops.extended_resources import extended_claim, served_by_plugin
from dra_lab.gitops.folder import read_manifests
from dra_lab.index.documented_classes import class_of_resource
from dra_lab.model.claims import CELDeviceSelector, DeviceClass, DeviceClassSpec, DeviceSelector
from dra_lab.model.nodes import Node, NodeStatus, ObjectMeta
from dra_lab.model.pods import Container, Pod, PodSpec, ResourceRequirements

RELEASE = KubernetesRelease("1.36")
GPU, NAME = "gpu.nvidia.com", "example.com/gpu"


def a_class(name: str, resource: str | None = None, created: str | None = None) -> DeviceClass:
    selector = DeviceSelector(CELDeviceSelector(f'device.driver == "{GPU}"'))
    spec = DeviceClassSpec(selectors=(selector,), extended_resource_name=resource)
    return DeviceClass(metadata=ObjectMeta(name=name, creation_timestamp=created), spec=spec)


def two_nodes(*classes: DeviceClass, plugin: str = ""):
    """Two nodes of two GPUs; on `plugin` a device plugin serves the name."""
    nodes = tuple(
        Node(metadata=ObjectMeta(name=name), status=NodeStatus(allocatable={NAME: "2"} if name == plugin else {}))
        for name in ("n1", "n2")
    )
    slices = tuple(a_slice(GPU, gpu(0), gpu(1), node=node.name) for node in nodes)
    return cluster(*slices, classes=classes or (a_class("gpu", NAME),), nodes=nodes)


def container(restart: str = "", **amounts: int | str) -> Container:
    requests = {
        {"gpu": NAME, "implicit": "deviceclass.resource.kubernetes.io/gpu"}.get(k, k): v for k, v in amounts.items()
    }
    return Container(resources=ResourceRequirements(requests=requests), restart_policy=restart)


def pod(*containers: Container, init: tuple[Container, ...] = ()) -> Pod:
    return Pod(metadata=ObjectMeta(name="p"), spec=PodSpec(containers=containers, init_containers=init))


def requests_of(*containers: Container, init: tuple[Container, ...] = ()) -> dict[str, tuple[str, int]]:
    claim = extended_claim(pod(*containers, init=init), two_nodes(), RELEASE)
    requests = claim.spec.devices.requests if claim is not None else ()
    return {request.name: (request.exactly.device_class_name, request.exactly.count) for request in requests}


def test_each_container_and_resource_is_a_request():
    found = requests_of(container(gpu=2, cpu="500m"), container(gpu="1", implicit=1))
    assert found == {
        "container-0-request-0": ("gpu", 2),
        "container-1-request-0": ("gpu", 1),
        "container-1-request-1": ("gpu", 1),
    }


def test_init_containers_use_what_comes_later():
    """An init container asks only for what the pod does not take later; a sidecar counts in full."""
    assert requests_of(container(gpu=2), init=(container(gpu=1),)) == {"container-1-request-0": ("gpu", 2)}
    more = requests_of(container(gpu=1), init=(container(gpu=3), container(gpu=2)))
    assert more == {"container-0-request-0": ("gpu", 2), "container-2-request-0": ("gpu", 1)}
    sidecar = requests_of(container(gpu=1), init=(container("Always", gpu=1), container(gpu=1)))
    assert sidecar == {"container-0-request-0": ("gpu", 1), "container-2-request-0": ("gpu", 1)}


def test_the_newest_class_serves_a_name():
    """If two classes have one name, the newest counts; among classes of the same age, the first by name."""
    old, new = a_class("b", NAME, "2026-01-01T00:00:00Z"), a_class("c", NAME, "2026-02-01T00:00:00Z")
    assert class_of_resource(two_nodes(old, new), NAME) is new
    assert class_of_resource(two_nodes(a_class("z", NAME), a_class("a", NAME)), NAME).name == "a"


def test_parts_of_devices_are_refused():
    with pytest.raises(InputError, match="whole"):
        requests_of(container(gpu="500m"))


def test_a_node_with_a_device_plugin_for_the_name_does_not_use_the_class():
    """Its status.allocatable has the name; the devices of the class are for pods on the other nodes."""
    assert served_by_plugin(pod(container(gpu=2)), two_nodes(plugin="n1")) == {"n1"}


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {containers: [{name: c, image: i, resources: {limits: {RESOURCE: 1}}}]}
"""
NAMED = "deviceclass.resource.kubernetes.io/CLASS"
NODES = cluster(a_slice("gpu.example.com", gpu(0), gpu(1)))


def checked(folder, resource, release="1.36"):
    path = write(folder, pod=POD.replace("RESOURCE", resource))
    review = check_manifests(NODES, read_manifests([path]), release=KubernetesRelease(release))
    (item,) = review.objects
    return review, item


def test_a_documented_class_serves_the_resource_that_names_it(tmp_path):
    """The cluster lacks the class, its driver documents it: the pod is planned, and a Finding says so."""
    review, item = checked(tmp_path, NAMED.replace("CLASS", "gpu.example.com"))
    assert item.fit.value == "fits"
    assert [f.rule for f in review.findings if f.subject == "gpu.example.com"] == ["class-not-in-cluster"]


def test_an_unknown_class_is_what_is_not_checked(tmp_path):
    _, item = checked(tmp_path, NAMED.replace("CLASS", "gpu.nowhere.example"))
    assert item.fit.value == "not-checked"
    assert "the cluster has no class gpu.nowhere.example" in item.sentence
    assert "device plugin" not in item.sentence


def test_without_the_gate_no_class_serves_a_resource(tmp_path):
    """In 1.34 the gate is off: the answer names the gate and how to turn it on."""
    _, item = checked(tmp_path, NAMED.replace("CLASS", "gpu.example.com"), "1.34")
    assert item.fit.value == "not-checked"
    assert "--feature-gates DRAExtendedResource=true" in item.sentence


@pytest.mark.parametrize("amount", ["0", "'0'", "0k", "null"])
def test_an_amount_of_zero_asks_for_nothing(tmp_path, amount):
    """Zero in any form is no resource that something has to serve."""
    path = write(tmp_path, pod=POD.replace("RESOURCE: 1", f"example.com/npu: {amount}"))
    assert check_manifests(NODES, read_manifests([path])).objects == ()


def test_a_resource_that_names_its_class_needs_no_migration(tmp_path):
    """DRA serves it already, so `migrate` leaves the pod alone without a warning."""
    path = write(tmp_path, pod=POD.replace("RESOURCE", NAMED.replace("CLASS", "gpu.example.com")))
    done = migrate([path], cluster=NODES)
    assert (done.texts, done.findings) == ({}, ())


def test_a_plan_says_what_it_leaves_out(tmp_path, capsys):
    both = POD.replace("RESOURCE: 1", f"{NAMED.replace('CLASS', 'gpu.nvidia.com')}: 1, example.com/npu: 2")
    path = write(tmp_path, pod=both) / "pod.yaml"
    pod = read_pod(path, NODES, KubernetesRelease("1.36"))
    assert [f.rule for f in pod.findings] == ["resource-not-planned"]
    assert main(["plan", "sample:eks-p4d", "--claim", str(path)]) == 0
    assert "the plan leaves out example.com/npu: 2" in capsys.readouterr().err


CLUSTER = load_cluster("sample:dgx-h100")
ASKING = """\
apiVersion: v1
kind: Pod
metadata: {name: train}
spec: {containers: [{name: c, resources: {PART: {nvidia.com/gpu: AMOUNT}}}]}
"""
WITH_CLAIM = pod_text("train", "pair").replace("claims: [", "limits: {nvidia.com/gpu: AMOUNT}, claims: [")
NODE_POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpus}
spec: {limits: {nvidia.com/gpu: 16}}
"""
LINES = """\
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  containers:
  - name: c
    resources:
      limits:
        nvidia.com/gpu: 1
${MORE_LIMITS}
"""


def of_objects(folder, **texts):
    """Return the outcome and the reason of each object."""
    review = check_manifests(CLUSTER, read_manifests([write(folder, **texts)]))
    return [(item.subject, item.fit.value, item.sentence) for item in review.objects]


@pytest.mark.parametrize("part", ["limits", "requests"])
@pytest.mark.parametrize("amount", ["$GPUS", "'${GPUS}'", "'{{ .Values.gpus }}'"])
def test_a_variable_is_not_checked(tmp_path, part, amount):
    [(name, outcome, reason)] = of_objects(tmp_path, a=ASKING.replace("AMOUNT", amount).replace("PART", part))
    assert (name, outcome, "a template with variables" in reason) == ("Pod/train", "not-checked", True)


@pytest.mark.parametrize("amount", ["0.5", "1500m", "-1", "NUMBER_OF_GPUS", "true", "[2]", "{a: 1}"])
def test_an_amount_that_is_no_whole_number_does_not_fit(tmp_path, amount):
    """The API server refuses the pod."""
    [(_, outcome, reason)] = of_objects(tmp_path, a=ASKING.replace("AMOUNT", amount).replace("PART", "limits"))
    assert (outcome, "a whole number of devices only" in reason) == ("does-not-fit", True)


@pytest.mark.parametrize(("amount", "outcome"), [("$GPUS", "not-checked"), ("0.5", "does-not-fit")])
def test_a_claim_beside_the_amount_does_not_hide_it(tmp_path, amount, outcome):
    found = of_objects(
        tmp_path, a=TEMPLATE.replace("efa.networking.k8s.aws", "dranet"), b=WITH_CLAIM.replace("AMOUNT", amount)
    )
    assert {name: outcome for name, outcome, _ in found}["Pod/train"] == outcome


@pytest.mark.parametrize(("amount", "said"), [("$GPUS", "$GPUS"), ("0.5", "a whole number of devices only")])
def test_plan_names_the_amount(tmp_path, capsys, amount, said):
    """`plan` refuses the file with the amount as the reason, and not because it has no claim."""
    write(tmp_path, a=ASKING.replace("AMOUNT", amount).replace("PART", "limits"))
    assert main(["plan", "sample:dgx-h100", "--claim", str(tmp_path / "a.yaml")]) == 2
    assert said in capsys.readouterr().err


def test_what_a_node_pool_may_have_is_no_request(tmp_path):
    """`spec.limits` of Karpenter's NodePool limits its nodes; no pod asks for these devices."""
    assert of_objects(tmp_path, a=NODE_POOL) == []


@pytest.mark.parametrize("command", ["plan", "check", "export"])
def test_a_variable_that_is_a_whole_line_is_the_reason(tmp_path, capsys, command):
    path = write(tmp_path, a=LINES) / "a.yaml"
    claim = write(tmp_path / "claim", c=TEMPLATE) / "c.yaml"
    arguments = {
        "plan": ["--claim", str(path)],
        "check": [str(path)],
        "export": ["--claim", str(claim), "--workload", str(path), "--dir", str(tmp_path / "out")],
    }
    assert main([command, "sample:dgx-h100", *arguments[command]]) == 2
    printed = capsys.readouterr()
    assert "a template with variables" in printed.out + printed.err

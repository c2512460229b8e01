"""Extended resources that a DeviceClass serves: the claim that stands for them, and the nodes where it counts."""

from __future__ import annotations

import pytest
from small_nodes import a_slice, cluster, gpu

from dra_lab import KubernetesRelease
from dra_lab.errors import InputError
from dra_lab.gitops.extended_resources import extended_claim, served_by_plugin
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
    """Amounts become counts of the class, container by container; cpu and memory stay what they are."""
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


def test_without_the_gate_there_is_no_claim():
    """Kubernetes 1.35 leaves the name to device plugins."""
    assert extended_claim(pod(container(gpu=1)), two_nodes(), KubernetesRelease("1.35")) is None


def test_parts_of_devices_are_refused():
    """Half a device cannot be asked for by name."""
    with pytest.raises(InputError, match="whole"):
        requests_of(container(gpu="500m"))


def test_a_node_with_a_device_plugin_for_the_name_does_not_use_the_class():
    """Its status.allocatable has the name; the devices of the class are for pods on the other nodes."""
    assert served_by_plugin(pod(container(gpu=2)), two_nodes(plugin="n1")) == {"n1"}

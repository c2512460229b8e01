"""h100-busy: five DGX H100 of which 27 of 40 pairs are in use by running pods, so that a whole node is free nowhere."""

from __future__ import annotations

from _generator import devices as dev
from _generator.dgx_h100 import PAIRS, gpu_and_nics, root
from _generator.objects import Object, Sample, budget, claim, node, pod, resource_slice

NODES = [f"dgx-{number}" for number in range(11, 16)]

RUNNING: list[tuple[str, str, str, str, list[int]]] = [
    ("serving", "chat-7c9d6-4kxqz", "ReplicaSet/chat-7c9d6", "dgx-11", [0, 1]),
    ("serving", "chat-7c9d6-m2wvt", "ReplicaSet/chat-7c9d6", "dgx-11", [2, 3]),
    ("batch", "eval-0", "Job/eval", "dgx-11", [4, 5]),
    ("training", "pretrain-0", "StatefulSet/pretrain", "dgx-12", list(range(8))),
    ("research", "notebook-ada", "", "dgx-13", [0]),
    ("kube-system", "nic-probe-x8hf4", "DaemonSet/nic-probe", "dgx-13", [1]),
    ("batch", "eval-1", "Job/eval", "dgx-13", [4, 5]),
    ("batch", "eval-2", "Job/eval", "dgx-13", [6]),
    ("serving", "rank-5f7b8-9qhcl", "ReplicaSet/rank-5f7b8", "dgx-14", [0, 1]),
    ("batch", "tune-0", "Job/tune", "dgx-14", [2]),
    ("training", "finetune-0", "StatefulSet/finetune", "dgx-15", [0, 1, 2]),
    ("training", "finetune-1", "StatefulSet/finetune", "dgx-15", [4, 5, 6]),
]
"""Running pods: namespace, name, controller, node, and the pairs that they hold."""

GANG = "finetune"
PRIORITIES = {"training": 1000}


def _slices(name: str) -> list[Object]:
    gpus = [
        dev.nvidia_gpu(name, index, dev.H100, f"0000:{bus:02x}:00.0", root(nic_bus), numa=numa)
        for index, (bus, nic_bus, _, _, numa) in enumerate(PAIRS)
    ]
    nics = [
        dev.dranet_nic(
            dev.CX7,
            f"0000:{bus:02x}:00.0",
            root(bus),
            numa,
            rdma=True,
            rdma_device=rdma_device,
            standard_numa=True,
            interface=dev.netdev(name, interface, f"0000:{bus:02x}:00.0", 4092, link="infiniband"),
        )
        for _, bus, rdma_device, interface, numa in PAIRS
    ]
    nics.sort(key=lambda device: str(device["name"]))
    return [resource_slice(dev.NVIDIA, name, gpus), resource_slice(dev.DRANET, name, nics)]


def _pod(namespace: str, name: str, owner: str, where: str) -> Object:
    labels = {"app": owner.partition("/")[2].partition("-")[0] or name}
    if labels["app"] == GANG:
        labels["kueue.x-k8s.io/pod-group-name"] = GANG
    return pod(namespace, name, where, owner=owner, labels=labels, priority=PRIORITIES.get(namespace, 0))


def sample() -> Sample:
    """Return the sample: two pods of dgx-14 have to move so that a claim of all pairs of a node fits."""
    labels = {"node.kubernetes.io/instance-type": "DGX-H100", "topology.kubernetes.io/zone": "hall-1"}
    return Sample(
        name="h100-busy",
        nodes=[node(name, 224, "2015Gi", labels) for name in NODES],
        slices=[item for name in NODES for item in _slices(name)],
        classes=[*dev.nvidia_classes(), dev.dranet_class()],
        claims=[
            claim(name, where, gpu_and_nics(pairs, list(pairs)), namespace=namespace)
            for namespace, name, _, where, pairs in RUNNING
        ],
        pods=[_pod(namespace, name, owner, where) for namespace, name, owner, where, _ in RUNNING],
        budgets=[budget("serving", "chat", {"app": "chat"}, allowed=1)],
    )

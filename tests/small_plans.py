"""A drawing of two requests and a plan for it, written by hand, for the tests of pictures."""

from __future__ import annotations

from dataclasses import replace

from msgspec.structs import replace as changed
from small_nodes import a_slice, cluster, device, gpu, nic

from dra_lab.findings import Finding, Severity
from dra_lab.model.claims import (
    AllocationResult,
    CELDeviceSelector,
    DeviceAllocationResult,
    DeviceRequest,
    DeviceRequestAllocationResult,
    DeviceSelector,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimStatus,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import DeviceTaint
from dra_lab.model.goals import GOALS, GoalValue
from dra_lab.model.headroom import NodeFit, node_fit
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.placement import FirstFit, FirstFitStatus, PlacedPod, Placement
from dra_lab.model.plan import Plan, PlanStatus, plan_of_pod
from dra_lab.model.reasons import Shortfall, Suggestion
from dra_lab.model.sketch import ClaimSketch, How, Link

RDMA = 'has(device.attributes["dra.net"].rdma) && device.attributes["dra.net"].rdma == true'
HOSTILE = """<img src=x onerror=alert(1)>"'&]]></script></style><!-- href javascript:1 {{7*7}} \u202e"""
GPU, NIC = "gpu.nvidia.com", "dra.net"


def request(name: str, device_class: str, count: int = 1, *selectors: str) -> DeviceRequest:
    """Make an exact request."""
    cel = tuple(DeviceSelector(cel=CELDeviceSelector(expression=text)) for text in selectors)
    exactly = ExactDeviceRequest(device_class_name=device_class, count=count, selectors=cel)
    return DeviceRequest(name=name, exactly=exactly)


SKETCH = ClaimSketch(
    name="pairs",
    requests=(request("gpu", GPU, 2), request("nic", "dranet", 2, RDMA)),
    links=(Link(name="pair", requests=("gpu", "nic"), how=How.PAIRWISE),),
)


def held(*devices: DeviceID, share: str | None = None) -> ResourceClaim:
    """Make a claim that holds devices."""
    results = tuple(
        DeviceRequestAllocationResult(request="r", driver=d.driver, pool=d.pool, device=d.device, share_id=share)
        for d in devices
    )
    status = ResourceClaimStatus(allocation=AllocationResult(devices=DeviceAllocationResult(results=results)))
    return ResourceClaim(metadata=ObjectMeta(name="other", namespace="team"), status=status)


def busy_cluster() -> Cluster:
    """A node with every state: free, in use, partly in use, tainted, not eligible, unknown, skipped."""
    taint = DeviceTaint(key="sick", effect="NoExecute")
    tainted = device("gpu-4", {"type": "gpu", "productName": "NVIDIA A100"}, taints=(taint,))
    plain = device("eth", {"dra.net/rdma": False, "dra.net/numaNode": 0})
    gpus = [gpu(0, "pci0000:10"), gpu(1, "pci0000:10"), gpu(2, "pci0000:90"), gpu(3, "pci0000:90"), tainted]
    nics = [nic("a", "pci0000:10", 0), nic("b", "pci0000:90", 1), nic("c", "pci0000:90", 1), plain]
    cpus = [device(f"cpudevnuma00{n}", {"resource.kubernetes.io/numaNode": n, "numCPUs": 64}) for n in (0, 1)]
    claims = (held(DeviceID(GPU, "n1", "gpu-3")), held(DeviceID("dra.cpu", "n1", "cpudevnuma001"), share="s"))
    lost = a_slice("lost.example.org", device("x"), count=2)
    slices = (a_slice(GPU, *gpus), a_slice(NIC, *nics), a_slice("dra.cpu", *cpus), lost)
    return cluster(*slices, claims=claims)


def goals(*values: int) -> tuple[GoalValue, ...]:
    """Make proven goals in their order, of two GPUs that could be paired."""
    pairs = zip(GOALS, values, strict=False)
    return tuple(GoalValue(g, value, value, proven=True, of=2 if g == "unpaired" else 0) for g, value in pairs)


def taken(**devices: tuple[str, ...]) -> tuple[Placement, ...]:
    """Make placements on node n1 from names by request."""
    drivers = {"gpu": GPU, "nic": NIC}
    return tuple(Placement(r, DeviceID(drivers[r], "n1", name)) for r, names in devices.items() for name in names)


def first_fit(devices: tuple[Placement, ...], values: tuple[GoalValue, ...] = (), **more) -> FirstFit:
    """Make a first fit that allocates devices."""
    return FirstFit(FirstFitStatus.ALLOCATED, (PlacedPod("pod", 0, "n1", devices, values),), values, **more)


def with_pod(plan: Plan, **changes) -> Plan:
    """Return a plan whose first pod is another one."""
    first = plan.pods[0] if plan.pods else PlacedPod("pod", 0, "n1", ())
    return replace(plan, pods=(changed(first, **changes), *plan.pods[1:]))


def a_plan(**changes) -> Plan:
    """Make a plan for `busy_cluster`: best takes gpu-0 and gpu-2 with a and b, kube-scheduler takes gpu-1 for gpu-2."""
    fields = {
        "status": PlanStatus.OPTIMAL,
        "sketch": SKETCH,
        "cluster": "test",
        "release": "1.36",
        "node": "n1",
        "devices": taken(gpu=("gpu-0", "gpu-2"), nic=("a", "b")),
        "goals": goals(0, 0, 2, 0, 2),
        "where": (
            node_fit("", ["n1"], NodeFit.BEST, fits_idle=True),
            node_fit("", ["n2"], NodeFit.WORSE, fits_idle=True),
            node_fit("", ["n3"], NodeFit.NO, fits_idle=False),
        ),
        "first_fit": first_fit(taken(gpu=("gpu-0", "gpu-1"), nic=("a", "b")), goals(0, 0, 2, 1, 2), steps=9),
        "findings": (Finding("a-rule", Severity.WARNING, "nic", "One NIC has no RDMA.", "Look at it."),),
    }
    return plan_of_pod(**(fields | changes))


def hostile_cluster() -> Cluster:
    """A node all of whose names and values are hostile."""
    attributes = {"productName": HOSTILE, "type": "gpu", "resource.kubernetes.io/pcieRoot": HOSTILE}
    gpus = a_slice(GPU, device(HOSTILE, attributes), node=HOSTILE)
    nics = a_slice(NIC, device("n", {"dra.net/ifName": HOSTILE, "dra.net/pciDevice": HOSTILE}), node=HOSTILE)
    return Cluster(slices=(gpus, nics), name=HOSTILE)


def hostile_plan() -> Plan:
    """A plan on `hostile_cluster` whose texts are hostile too."""
    return a_plan(
        sketch=ClaimSketch(name="x", requests=(request("gpu", GPU),)),
        cluster=HOSTILE,
        node=HOSTILE,
        devices=(Placement("gpu", DeviceID(GPU, HOSTILE, HOSTILE)),),
        where=(node_fit("", [HOSTILE], NodeFit.BEST, label=HOSTILE),),
        first_fit=None,
        shortfalls=(Shortfall("count", HOSTILE, HOSTILE, advice=HOSTILE, node=HOSTILE),),
        suggestions=(Suggestion(HOSTILE, HOSTILE, HOSTILE, {HOSTILE: (HOSTILE,)}),),
        findings=(Finding("r", Severity.ERROR, HOSTILE, HOSTILE, HOSTILE),),
    )

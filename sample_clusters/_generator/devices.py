"""What each driver publishes for a device, as far as the samples need it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from _generator.objects import Object, Version, attributes, capacity, device_class, uid

NVIDIA = "gpu.nvidia.com"
DRANET = "dra.net"
CPU = "dra.cpu"
AMD = "gpu.amd.com"
SRIOV = "sriovnetwork.k8snetworkplumbingwg.io"
HAMI = "hami-core-gpu.project-hami.io"
COMPUTE_DOMAIN = "compute-domain.nvidia.com"
CHANNEL_CLASS = "compute-domain-default-channel.nvidia.com"

PCIE_ROOT = "resource.kubernetes.io/pcieRoot"
NUMA = "resource.kubernetes.io/numaNode"
BUS_ID = "resource.kubernetes.io/pciBusID"

RDMA = 'device.attributes["dra.net"].rdma == true'


@dataclass(frozen=True)
class GpuModel:
    """The attributes that all GPUs of one model on one node share."""

    product: str
    architecture: str
    compute: str
    memory: str
    driver: str = "580.126.20"
    cuda: str = "13.0.0"
    addressing: str = "HMM"


A100_SXM = GpuModel("NVIDIA A100-SXM4-40GB", "Ampere", "8.0.0", "40Gi", driver="580.126.9")
A100_PCIE = GpuModel("NVIDIA A100-PCIE-40GB", "Ampere", "8.0.0", "40Gi")
H100 = GpuModel("NVIDIA H100 80GB HBM3", "Hopper", "9.0.0", "81559Mi")
GB200 = GpuModel("NVIDIA GB200", "Blackwell", "10.0.0", "189471Mi", addressing="ATS")
L40S = GpuModel("NVIDIA L40S", "Ada Lovelace", "8.9.0", "46068Mi")


def nvidia_attributes(model: GpuModel, bus: str, root: str | None, numa: int | None) -> dict[str, Any]:
    """Return what the NVIDIA driver publishes for GPUs and MIG partitions alike; `numa` from version 0.5 on."""
    return {
        "addressingMode": model.addressing,
        "architecture": model.architecture,
        "brand": "Nvidia",
        "cudaComputeCapability": Version(model.compute),
        "cudaDriverVersion": Version(model.cuda),
        "driverVersion": Version(model.driver),
        "productName": model.product,
        BUS_ID: bus,
        NUMA: numa,
        PCIE_ROOT: root,
    }


def nvidia_gpu(
    node: str, index: int, model: GpuModel, bus: str, root: str | None, *, numa: int | None = None, **fields: Any
) -> Object:
    """Return a full GPU; `fields` are further fields of the device (taints, ...)."""
    own = {"type": "gpu", "uuid": f"GPU-{uid(node, 'gpu', str(index))}"}
    return {
        "attributes": attributes(nvidia_attributes(model, bus, root, numa) | own),
        "capacity": capacity({"memory": model.memory}),
        "name": f"gpu-{index}",
        **fields,
    }


def mac(node: str, address: str) -> str:
    """Return a locally administered MAC address."""
    digest = hashlib.sha256(f"{node}/{address}".encode()).digest()
    return ":".join(f"{byte:02x}" for byte in (0x02, *digest[:5]))


@dataclass(frozen=True)
class NicModel:
    """The attributes that all NICs of one model share."""

    device: str
    vendor: str = "Mellanox Technologies"
    subsystem: str = ""


EFA = NicModel("Elastic Fabric Adapter (EFA)", "Amazon.com, Inc.", "efa0")
ENA = NicModel("Elastic Network Adapter (ENA)", "Amazon.com, Inc.", "ec20")
CX6 = NicModel("MT28908 Family [ConnectX-6]")
CX7 = NicModel("MT2910 Family [ConnectX-7]")
CX8 = NicModel("CX8 Family [ConnectX-8]")
I350 = NicModel("I350 Gigabit Network Connection", "Intel Corporation")


def dranet_name(address: str) -> str:
    """Return the name that DRANET gives to a PCI device."""
    return "pci-" + address.replace(":", "-").replace(".", "-")


def dranet_nic(
    model: NicModel,
    address: str,
    root: str | None,
    numa: int | None,
    *,
    rdma: bool | None,
    rdma_device: str | None = None,
    standard_numa: bool = False,
    interface: dict[str, Any] | None = None,
    extra: dict[str, Any] | None = None,
) -> Object:
    """Return a PCI NIC; `interface` is from `netdev`, None where it has none; `standard_numa` is for newer versions."""
    values: dict[str, Any] = {
        "dra.net/numaNode": numa,
        "dra.net/pciAddress": address,
        "dra.net/pciDevice": model.device,
        "dra.net/pciSubsystem": model.subsystem or None,
        "dra.net/pciVendor": model.vendor,
        "dra.net/rdma": rdma,
        "dra.net/rdmaDevice": rdma_device,
        NUMA: numa if standard_numa else None,
        PCIE_ROOT: root,
    }
    return {"attributes": attributes(values | (interface or {}) | (extra or {})), "name": dranet_name(address)}


def netdev(
    node: str, name: str, address: str, mtu: int, *, link: str = "ether", ipv4: str | None = None
) -> dict[str, Any]:
    """Return what DRANET adds for a PCI card that has a network interface."""
    return {
        "dra.net/alias": "",
        "dra.net/ebpf": False,
        "dra.net/encapsulation": link,
        "dra.net/ifName": name,
        "dra.net/ipv4": ipv4,
        "dra.net/mac": mac(node, address),
        "dra.net/mtu": mtu,
        "dra.net/sriov": False,
        "dra.net/state": "up",
        "dra.net/type": "device",
        "dra.net/virtual": False,
    }


def cpu_group(numa: int, cpus: int, *, smt: bool = True) -> Object:
    """Return the CPUs of a NUMA node as one shareable device (the CPU driver's default; one socket a NUMA node)."""
    values = {
        "dra.cpu/numCPUs": cpus,
        "dra.cpu/numaNodeID": numa,
        "dra.cpu/smtEnabled": smt,
        "dra.cpu/socketID": numa,
        "dra.net/numaNode": numa,
        NUMA: numa,
    }
    return {
        "allowMultipleAllocations": True,
        "attributes": attributes(values),
        "capacity": capacity({"dra.cpu/cpu": str(cpus)}),
        "name": f"cpudevnuma{numa:03d}",
    }


def cpu_single(index: int, *, cores_per_numa: int) -> Object:
    """Return one logical CPU of the individual mode: SMT siblings are consecutive, one socket a NUMA node."""
    core = index // 2
    numa = core // cores_per_numa
    values = {
        "dra.cpu/cacheL3ID": numa,
        "dra.cpu/coreID": core,
        "dra.cpu/coreType": "standard",
        "dra.cpu/cpuID": core if index % 2 == 0 else core + 2 * cores_per_numa,
        "dra.cpu/numaNodeID": numa,
        "dra.cpu/smtEnabled": True,
        "dra.cpu/socketID": numa,
        "dra.net/numaNode": numa,
        NUMA: numa,
    }
    return {"attributes": attributes(values), "name": f"cpudev{index:03d}"}


def amd_gpu(index: int, address: str, root: str, numa: int) -> Object:
    """Return an MI300X in SPX mode; card and render numbers step by 8, room for the partitions of each GPU."""
    values = {
        "deviceID": "0x74a1",
        "driverVersion": Version("6.12.12"),
        "driverVersionFull": "6.12.12",
        "numaNode": numa,
        "partitionProfile": "spx_nps1",
        "productName": "AMD_Instinct_MI300X_OAM",
        "type": "amdgpu",
        BUS_ID: address,
        PCIE_ROOT: root,
    }
    amounts = {"computeUnits": "304", "memory": "196592Mi", "simdUnits": "1216"}
    return {
        "attributes": attributes(values),
        "capacity": capacity(amounts),
        "name": f"gpu-{8 * index}-{128 + 8 * index}",
    }


def sriov_vf(address: str, pf: str, pf_name: str, vf: int, *, root: str, numa: int) -> Object:
    """Return one virtual function of a ConnectX-6 Dx; the driver writes "" and -1 where sysfs says nothing."""
    own = {
        "EswitchMode": "legacy",
        "PFName": pf_name,
        "deviceID": "101e",
        "interfaceName": f"{pf_name}v{vf}",
        "linkType": "ethernet",
        "pciAddress": address,
        "pfDeviceID": "101d",
        "pfPciAddress": pf,
        "rdmaCapable": True,
        "resourceName": "inference_vfs",
        "vendor": "15b3",
        "vfID": vf,
    }
    shared = {
        "dra.net/numaNode": numa,
        "k8s.cni.cncf.io/deviceID": address,
        "k8s.cni.cncf.io/resourceName": "inference_vfs",
        BUS_ID: address,
        PCIE_ROOT: root,
    }
    values = {f"{SRIOV}/{name}": value for name, value in own.items()} | shared
    return {"attributes": attributes(values), "name": address.replace(":", "-").replace(".", "-")}


def nvidia_classes() -> list[Object]:
    """Return the DeviceClasses of the NVIDIA driver's chart."""
    gpu = "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'"
    mig = "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'mig'"
    return [
        device_class("gpu.nvidia.com", gpu, extended_resource_name="nvidia.com/gpu"),
        device_class("mig.nvidia.com", mig),
    ]


def dranet_class() -> Object:
    """Return the class that DRANET's guide lets people create."""
    return device_class("dranet", 'device.driver == "dra.net"')


def cpu_class() -> Object:
    """Return the class of the CPU driver."""
    return device_class("dra.cpu", 'device.driver == "dra.cpu"')


def sriov_class() -> Object:
    """Return the class of the SR-IOV driver."""
    return device_class(SRIOV, f"device.driver == '{SRIOV}'")


def compute_domain_devices() -> list[Object]:
    """Return what NVIDIA's compute-domain driver publishes for each node of an NVLink domain."""
    return [
        {"attributes": attributes({"id": 0, "type": "channel"}), "name": "channel-0"},
        {"attributes": attributes({"id": 0, "type": "daemon"}), "name": "daemon-0"},
    ]


def compute_domain_classes() -> list[Object]:
    """Return the two classes of NVIDIA's compute-domain driver."""
    here = "device.driver == 'compute-domain.nvidia.com' && device.attributes['compute-domain.nvidia.com']"
    channel = f"{here}.type == 'channel' && device.attributes['compute-domain.nvidia.com'].id == 0"
    return [
        device_class("compute-domain-daemon.nvidia.com", f"{here}.type == 'daemon'"),
        device_class(CHANNEL_CLASS, channel),
    ]

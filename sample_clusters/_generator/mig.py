"""mig: one server whose two A100 are cut by need (dynamic MIG): one slice of counters, one slice a GPU."""

from __future__ import annotations

from dataclasses import dataclass

from _generator import devices as dev
from _generator.objects import Held, Object, Sample, attributes, capacity, claim, node, resource_slice, uid

NODE = "mig-a100"
GPUS = [("0000:17:00.0", "pci0000:15", 0), ("0000:ca:00.0", "pci0000:c7", 1)]
TOTAL = {
    "copy-engines": "7",
    "decoders": "5",
    "encoders": "0",
    "jpeg-engines": "1",
    "memory": "40Gi",
    "multiprocessors": "98",
    "ofa-engines": "1",
}
MEMORY_SLICES = 8


@dataclass(frozen=True)
class Profile:
    """A row of the table of A100-40GB profiles in KEP-4815; `number` is NVIDIA's profile ID."""

    name: str
    number: int
    memory: str
    slices: int
    multiprocessors: int
    copy_engines: int
    decoders: int
    jpeg: int
    ofa: int
    starts: tuple[int, ...]


PROFILES = [
    Profile("7g.40gb", 0, "40192Mi", 8, 98, 7, 5, 1, 1, (0,)),
    Profile("4g.20gb", 5, "19968Mi", 4, 56, 4, 2, 0, 0, (0,)),
    Profile("3g.20gb", 9, "19968Mi", 4, 42, 3, 2, 0, 0, (0, 4)),
    Profile("2g.10gb", 14, "9856Mi", 2, 28, 2, 1, 0, 0, (0, 2, 4)),
    Profile("1g.10gb", 15, "9856Mi", 2, 14, 1, 1, 0, 0, (0, 2, 4, 6)),
    Profile("1g.5gb+me", 20, "4864Mi", 1, 14, 1, 1, 1, 1, tuple(range(7))),
    Profile("1g.5gb", 19, "4864Mi", 1, 14, 1, 0, 0, 0, tuple(range(7))),
]


def _counter_set(gpu: int) -> Object:
    slices = {f"memory-slice-{number}": "1" for number in range(MEMORY_SLICES)}
    return {"counters": capacity(TOTAL | slices), "name": f"gpu-{gpu}-counter-set"}


def _partition(gpu: int, profile: Profile, start: int) -> Object:
    bus, root, numa = GPUS[gpu]
    engines = {
        "copy": profile.copy_engines,
        "jpeg": profile.jpeg,
        "ofa": profile.ofa,
    }
    plain = {"decoders": profile.decoders, "encoders": 0, "multiprocessors": profile.multiprocessors}
    counters = {name: str(amount) for name, amount in plain.items()} | {"memory": profile.memory}
    counters |= {f"{name}-engines": str(amount) for name, amount in engines.items()}
    counters |= {f"memory-slice-{number}": "1" for number in range(start, start + profile.slices)}
    amounts = {name: str(amount) for name, amount in plain.items()} | {"memory": profile.memory}
    amounts |= {f"{name}Engines": str(amount) for name, amount in engines.items()}
    own = {"parentUUID": f"GPU-{uid(NODE, 'gpu', str(gpu))}", "profile": profile.name, "type": "mig"}
    short = profile.name.replace(".", "").replace("+", "-")
    return {
        "attributes": attributes(dev.nvidia_attributes(dev.A100_PCIE, bus, root, numa) | own),
        "capacity": capacity(amounts),
        "consumesCounters": [{"counterSet": f"gpu-{gpu}-counter-set", "counters": capacity(counters)}],
        "name": f"gpu-{gpu}-mig-{short}-{profile.number}-{start}",
    }


def sample() -> Sample:
    """Return the sample: one partition of the first GPU is in use, so that half of its other partitions are blocked."""
    parts = 1 + len(GPUS)
    slices = [resource_slice(dev.NVIDIA, NODE, parts=parts, counters=[_counter_set(gpu) for gpu in range(len(GPUS))])]
    for gpu in range(len(GPUS)):
        partitions = [_partition(gpu, profile, start) for profile in PROFILES for start in profile.starts]
        slices.append(resource_slice(dev.NVIDIA, NODE, partitions, part=gpu + 1, parts=parts))
    selector = "device.attributes['gpu.nvidia.com'].profile == '2g.10gb'"
    held = [Held("mig", "mig.nvidia.com", dev.NVIDIA, ("gpu-0-mig-2g10gb-14-0",), selector=selector)]
    labels = {
        "node.kubernetes.io/instance-type": "a100-pcie-2",
        "nvidia.com/mig.capable": "true",
        "topology.kubernetes.io/zone": "lab",
    }
    return Sample(
        name="mig",
        nodes=[node(NODE, 64, "503Gi", labels)],
        slices=slices,
        classes=dev.nvidia_classes(),
        claims=[claim("jupyter-0", NODE, held, namespace="class")],
    )

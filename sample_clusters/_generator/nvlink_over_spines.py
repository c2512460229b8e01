"""nvlink-over-spines: 24 nodes in 12 racks; each of two NVLink domains has six racks below three spines."""

from __future__ import annotations

from _generator import devices as dev
from _generator.gb200_nvl72 import gpus_held, tray
from _generator.objects import Object, Sample, cluster_object, node

SPINES = range(1, 7)
NODES = [f"srv{spine}{leaf}{number:02d}" for spine in SPINES for leaf in (1, 2) for number in (1, 2)]
"""Named as in the model that the README cites: spine, leaf switch, number."""


def _leaf(name: str) -> str:
    return f"leaf-{name[3]}-{name[4]}"


def _node(name: str) -> Object:
    spine = int(name[3])
    labels = {
        "accelerator.topograph.run/domain": f"nvl-{(spine + 2) // 3}",
        "accelerator.topograph.run/sub-domain": f"rack{2 * spine - 2 + int(name[4]):02d}",
        "fabric.topograph.run/tier-0": _leaf(name),
        "fabric.topograph.run/tier-1": f"spine-{spine}",
        "fabric.topograph.run/tier-2": "core",
        "node.kubernetes.io/instance-type": "GB200-NVL",
        "topology.kubernetes.io/region": "us-east",
        "topology.kubernetes.io/zone": f"zone{(spine + 1) // 2}",
    }
    return node(name, 144, "881Gi", labels, architecture="arm64")


def _hyper_nodes() -> list[Object]:
    """Return HyperNodes of Volcano: leaf switches select nodes by label, spines and the core by name."""
    leaves = list(dict.fromkeys(map(_leaf, NODES)))
    spines = [f"spine-{spine}" for spine in SPINES]
    return [
        *(_hyper(leaf, 1, "leaf switch", "Node", _labelled(leaf)) for leaf in leaves),
        *(_hyper(spine, 2, "spine", "HyperNode", _matching(f"^leaf-{spine[-1]}-[12]$")) for spine in spines),
        _hyper("core", 3, "core switch", "HyperNode", _matching("^spine-[1-6]$")),
    ]


def _labelled(leaf: str) -> Object:
    return {"labelMatch": {"matchLabels": {"fabric.topograph.run/tier-0": leaf}}}


def _matching(pattern: str) -> Object:
    return {"regexMatch": {"pattern": pattern}}


def _hyper(name: str, tier: int, word: str, kind: str, selector: Object) -> Object:
    spec = {"members": [{"selector": selector, "type": kind}], "tier": tier, "tierName": word}
    return cluster_object("topology.volcano.sh/v1alpha1", "HyperNode", name, spec)


def sample() -> Sample:
    """Return the sample: a job fills four nodes of the first NVLink domain below two spines."""
    job = [name for name in NODES if _leaf(name) in ("leaf-1-1", "leaf-2-2")]
    return Sample(
        name="nvlink-over-spines",
        nodes=[_node(name) for name in NODES],
        slices=[item for name in NODES for item in tray(name)],
        classes=[*dev.nvidia_classes(), *dev.compute_domain_classes()],
        claims=[
            *(gpus_held(f"pretrain-{rank}", name, range(4)) for rank, name in enumerate(job)),
            gpus_held("chat-0", "srv4101", range(2), "serving"),
        ],
        topologies=_hyper_nodes(),
    )

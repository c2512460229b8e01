"""Write the sample clusters: `python sample_clusters/generate.py` makes every YAML file in the folders beside it.

Pure Python and PyYAML; the same bytes on every run. README.md and `examples/` of each sample are written by hand.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

sys.path.insert(0, str(Path(__file__).parent))

from _generator import (
    dgx_h100,
    eks_p4d,
    gb200_nvl72,
    h100_busy,
    h100_pod,
    inference_l40s,
    mi300x,
    mig,
    nvlink_over_spines,
    oke_gb200,
    shared_gpu,
    trouble,
    two_sockets,
)

if TYPE_CHECKING:
    from _generator.objects import Object, Sample

MODULES = (
    two_sockets,
    eks_p4d,
    oke_gb200,
    dgx_h100,
    mi300x,
    inference_l40s,
    mig,
    shared_gpu,
    trouble,
    gb200_nvl72,
    h100_pod,
    nvlink_over_spines,
    h100_busy,
)


class _Dumper(yaml.SafeDumper):
    """Writes every value out: a cluster's answer has no anchors."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - PyYAML's signature
        """Return True: never write an anchor."""
        return True


def text(objects: list[Object]) -> str:
    """Return the objects as `kubectl get -A -o yaml` prints them: one List, by namespace and name, fields sorted."""
    items = sorted(objects, key=lambda item: (item["metadata"].get("namespace", ""), item["metadata"]["name"]))
    document = {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}}
    return yaml.dump(document, Dumper=_Dumper, sort_keys=True, width=1000, allow_unicode=True)


def files(sample: Sample) -> dict[str, str]:
    """Return the text of each file of a sample, by its name."""
    return {
        "deviceclasses.yaml": text(sample.classes),
        "nodes.yaml": text(sample.nodes),
        "resourceclaims.yaml": text(sample.claims),
        "resourceslices.yaml": text(sample.slices),
        **({"pods.yaml": text(sample.pods)} if sample.pods else {}),
        **({"poddisruptionbudgets.yaml": text(sample.budgets)} if sample.budgets else {}),
        **({"queues.yaml": text(sample.queues)} if sample.queues else {}),
        **({"topologies.yaml": text(sample.topologies)} if sample.topologies else {}),
    }


def write(folder: Path) -> None:
    """Write every sample below a folder; a file is complete or absent, never half written."""
    for module in MODULES:
        sample = module.sample()
        target = folder / sample.name
        target.mkdir(parents=True, exist_ok=True)
        for name, content in files(sample).items():
            beside = target / f".{name}.new"
            beside.write_text(content, encoding="utf-8", newline="\n")
            beside.replace(target / name)


if __name__ == "__main__":
    write(Path(__file__).parent)

"""The data files against slices of real machines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_lab.drivers import Lookup, derived_numa, device_label, published

SLICES = Path(__file__).parents[2].parent / "shared" / "real-data" / "slices"
pytestmark = pytest.mark.skipif(
    not SLICES.is_dir(), reason=f"no folder {SLICES.name} of real slices beside the checkout"
)


def devices(name: str) -> list[tuple[str, Lookup]]:
    """Read (device name, lookup by full attribute name) of the devices of one file."""
    document: Any = yaml.safe_load((SLICES / name).read_text(encoding="utf-8"))
    slices = document["items"] if document["kind"] == "List" else [document]
    found = []
    for spec in (item["spec"] for item in slices):
        for device in spec["devices"]:
            values = {
                key if "/" in key else f"{spec['driver']}/{key}": next(iter(value.values()))
                for key, value in device["attributes"].items()
            }
            found.append((device["name"], values.get))
    return found


def test_oke_gb200_gpus_get_a_derived_numa_node() -> None:
    """The four GPUs of the real GB200 node sit two and two, by documented facts."""
    answers = {name: derived_numa("gpu.nvidia.com", lookup) for name, lookup in devices("oke-gb200-gpu.yaml")}

    assert {name: answer and answer[0] for name, answer in answers.items()} == {
        "gpu-0": 0,
        "gpu-1": 0,
        "gpu-2": 1,
        "gpu-3": 1,
    }


def test_real_nics_publish_their_numa_node() -> None:
    """Every NIC of both machines publishes dra.net/numaNode."""
    found = devices("eks-p4d-nic.yaml") + devices("oke-gb200-nic.yaml")

    assert {(published("dra.net", "numaNode", lookup) or ("", 0))[0] for _, lookup in found} == {"dra.net/numaNode"}


def test_real_p4d_labels() -> None:
    """A p4d node has one model of GPU and two of NICs."""
    nics = {device_label("dra.net", lookup) for _, lookup in devices("eks-p4d-nic.yaml")}
    gpus = {device_label("gpu.nvidia.com", lookup) for _, lookup in devices("eks-p4d-gpu.yaml")}

    assert gpus == {"NVIDIA A100-SXM4-40GB"}
    assert nics == {"Elastic Fabric Adapter (EFA)", "Elastic Network Adapter (ENA)"}

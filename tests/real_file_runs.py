"""Real files through the command line: which cluster and claim go with a file, and what each command answers."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import yaml

from dra_lab.cli import main

ROOT = Path(__file__).parents[1]
REAL = ROOT / ".." / "shared" / "real-files"
COMMANDS = ("topology", "plan", "check", "migrate")

_COPIES = 8
_NODE = "documented"
_GPU_CLASSES: Mapping[str, str] = {"ROCm+rccl": "gpu.amd.com"}
"""The device class of a topology file's GPUs by the folder that it is in; NVIDIA's for the others."""

_WORKLOAD = """\
apiVersion: v1
kind: Pod
metadata: {name: trainer}
spec: {containers: [{name: main, image: trainer, resources: {limits: {nvidia.com/gpu: 1}}}]}
"""


@dataclass(frozen=True)
class Answer:
    """What one command answered."""

    command: str
    status: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """Return both streams."""
        return f"{self.out}\n{self.err}"

    @property
    def word(self) -> str:
        """Return the answer as the table of expected answers has it: the exit status with what it stands for."""
        if self.status == 2 and re.search(r"^error: ", self.err, re.MULTILINE):
            return "2 refused"
        return f"{self.status} {_WORDS[self.command][self.status]}"


_WORDS = {
    "topology": ("read", "not read", "not read"),
    "plan": ("fits", "does not fit", "not decided"),
    "check": ("fits", "does not fit", "not checked"),
    "migrate": ("migrated", "not migrated", "not decided"),
}


def run(command: str, *arguments: str) -> Answer:
    """Run one command in this process; a plan is printed in full."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main([command, *arguments, *(["-v"] if command == "plan" else [])])
    return Answer(command, status, out.getvalue(), err.getvalue())


def documented_cluster(folder: Path) -> Path:
    """Write a cluster of one node with eight copies of every device in `documented_slices.yaml`; return its path."""
    raw = yaml.safe_load((ROOT / "tests" / "drivers" / "documented_slices.yaml").read_text(encoding="utf-8"))
    path = folder / "documented.yaml"
    if not path.exists():
        slices = [_slice(driver, devices) for driver, devices in raw.items()]
        path.write_text(yaml.safe_dump_all(slices, sort_keys=False), encoding="utf-8")
    return path


def _slice(driver: str, devices: list[dict[str, object]]) -> dict[str, object]:
    copies = [{**device, "name": f"{device['name']}-{copy}"} for copy in range(_COPIES) for device in devices]
    pool = {"name": _NODE, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": driver, "nodeName": _NODE, "pool": pool, "devices": copies}
    named = {"name": f"{_NODE}-{driver}"}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": named, "spec": spec}


def claim_text(*classes: str, link: str = "") -> str:
    """Return a claim of one device of each class, on one PCIe root where `link` names the attribute."""
    requests = [{"name": f"device-{n}", "exactly": {"deviceClassName": name}} for n, name in enumerate(classes)]
    devices: dict[str, object] = {"requests": requests}
    if link:
        devices["constraints"] = [{"requests": [item["name"] for item in requests], "matchAttribute": link}]
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "asked"},
        "spec": {"devices": devices},
    }
    return yaml.safe_dump(claim, sort_keys=False)


def cluster_of(name: str, cluster: str, folder: Path) -> str:
    """Return the CLUSTER of a row: the table's own, or the file itself, or the documented slices."""
    if cluster.startswith("claim:"):
        return str(REAL / name)
    if cluster == "topology":
        return f"topo:{REAL / name}*2"
    return str(documented_cluster(folder)) if cluster == "documented" else cluster


def _claim_of(name: str, cluster: str, folder: Path) -> Path:
    """Return the manifest that is asked about: the file itself, or a claim of our own where the file is a cluster."""
    file = folder / "asked.yaml"
    if cluster.startswith("claim:"):
        file.write_text(claim_text(*cluster.removeprefix("claim:").split(",")), encoding="utf-8")
    elif cluster == "topology":
        gpu = next((found for part in Path(name).parts if (found := _GPU_CLASSES.get(part))), "gpu.nvidia.com")
        file.write_text(claim_text(gpu, "dranet"), encoding="utf-8")
    else:
        return REAL / name
    return file


def answers(
    name: str, cluster: str, folder: Path, commands: Sequence[str] = COMMANDS, more: Sequence[str] = ()
) -> dict[str, Answer]:
    """Run commands on a real file.

    Args:
        name: The file, below the folder of real files.
        cluster: A CLUSTER; "documented" for the documented slices; "topology" or "claim:CLASS,..." if the file itself
            is the cluster, with a GPU and a NIC or one device of each class asked for.
        folder: A folder for what is written.
        commands: The commands to run.
        more: Options for all of them.

    Returns:
        The answers by command.
    """
    claim, against = _claim_of(name, cluster, folder), cluster_of(name, cluster, folder)
    workload = folder / "workload.yaml"
    workload.write_text(_WORKLOAD, encoding="utf-8")
    on = ("--topology", str(REAL / name), "--nodes", "2") if cluster == "topology" else (against,)
    moved = claim if claim == REAL / name else workload
    arguments = {
        "topology": (str(REAL / name),),
        "plan": (*on, "--claim", str(claim), "--time-limit", "20"),
        "check": (*on, str(claim), "--time-limit", "20"),
        "migrate": (*on, str(moved), "--dir", str(folder / "migrated")),
    }
    return {command: run(command, *arguments[command], *more) for command in commands}

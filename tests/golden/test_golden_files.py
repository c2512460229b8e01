"""What the command line and notebooks answer, one file per case; `make golden` writes all files again."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from golden_file import GoldenFile, in_a_file

import dra_lab
from dra_lab.cli import main
from dra_lab.words.shown import in_html

INPUTS = Path(__file__).parent / "inputs"
POD, LEAF = "sample:h100-pod --claim sample:h100-pod/eight-pairs", "--level 'leaf switch'"
EKS, PAIRS = "sample:eks-p4d", "sample:eks-p4d --claim sample:eks-p4d/gpu-nic-pairs"
NODE, FULL = "ip-192-168-140-52.ec2.internal", "ip-192-168-158-9.ec2.internal"
EXAMPLES = {
    f"{sample.name}-{example}": f"sample:{sample.name} --claim sample:{sample.name}/{example}"
    for sample in dra_lab.samples()
    for example in sample.examples
}
CLAIMS = {
    **EXAMPLES,
    "dgx-h100-one-gpu": "sample:dgx-h100 --claim one-gpu.yaml",
    "eks-p4d-all-gpus": f"{EKS} --claim all-gpus.yaml",
    "eks-p4d-deployment": f"{EKS} --claim deployment.yaml",
    "eks-p4d-drained": f"{PAIRS} --idle --drain {NODE} --without gpu.nvidia.com/{FULL}/gpu-0",
    "eks-p4d-first-available": f"{EKS} --claim first-available.yaml",
    "eks-p4d-full-node": f"{PAIRS} --node {FULL}",
    "eks-p4d-more-nodes": f"{PAIRS} --add 2={NODE}",
    "eks-p4d-no-such-class": f"{EKS} --claim no-such-class.yaml",
    "eks-p4d-one-node": f"{PAIRS} --node {NODE} --goals roots,damage",
    "eks-p4d-published-numa": f"{PAIRS} --publish-numa --release 1.34",
    "eks-p4d-shared-claim": f"{EKS} --claim shared-claim.yaml",
    "eks-p4d-too-large": f"{EKS} --claim too-large.yaml",
    "eks-p4d-wrong-selector": f"{EKS} --claim wrong-selector.yaml",
    "mig-1g": "sample:mig --claim mig-1g.yaml",
    "shared-gpu-share": "sample:shared-gpu --claim share.yaml",
    "trouble-all-gpus": "sample:trouble --claim all-gpus.yaml",
    "trouble-fast-nic": "sample:trouble --claim fast-nic.yaml",
    "trouble-one-gpu": "sample:trouble --claim one-gpu.yaml",
    "broken-cluster": "broken-cluster.yaml --claim example-gpu.yaml",
    "given-up": "given-up-cluster.yaml --claim big-gpu.yaml",
    "nvidia-smi": "--topology nvidia-smi-topo.txt --nodes 2 --claim one-gpu.yaml",
}
FLEETS = {
    **{f"{name}-fleet": f"{words} --replicas 6" for name, words in EXAMPLES.items()},
    "eks-p4d-deployment-fleet": f"{EKS} --claim deployment.yaml --replicas 3",
    "eks-p4d-two-claims": f"{PAIRS} --replicas 3 --claim sample:eks-p4d/any-nic-pairs --replicas 2",
    "eks-p4d-fewest-nodes": f"{PAIRS} --replicas 4 --objective nodes",
    "eks-p4d-idle-fleet": f"{PAIRS} --replicas 20 --idle --uncordon {NODE}",
    "broken-cluster-fleet": "broken-cluster.yaml --claim example-gpu.yaml --replicas 2",
    "given-up-fleet": "given-up-cluster.yaml --claim big-gpu.yaml --replicas 1",
    "mig-1g-fleet": "sample:mig --claim mig-1g.yaml --replicas 9",
    "shared-gpu-share-fleet": "sample:shared-gpu --claim share.yaml --replicas 5",
}
GANGS = {
    "gb200-nvl72-gang": f"{EXAMPLES['gb200-nvl72-whole-tray']} --gang 16 --level 'NVLink domain'",
    "h100-pod-gang": f"{POD} --gang 3 {LEAF}",
    "h100-pod-gang-and-replicas": f"{POD} --gang 3 {LEAF} --claim sample:h100-pod/eight-pairs --replicas 3",
    "h100-pod-gang-misfit": f"{POD} --gang 4 {LEAF}",
    "h100-pod-gang-next-to": f"{POD} --gang 4 {LEAF} --add 1=h100-01@h100-05",
    "h100-pod-gang-part": "sample:h100-pod --claim part-of-gang.dralab.yaml",
    "h100-pod-gang-preferred": f"{POD} --gang 3 --level spine --prefer-level 'leaf switch'",
    "h100-pod-gangs": f"{POD} --gang 2 {LEAF} --replicas 4",
    "h100-pod-kueue-job": "sample:h100-pod --claim kueue-job.yaml --queue training/train",
    "h100-pod-leader-workers": f"sample:h100-pod --claim leader-workers.yaml {LEAF}",
    "h100-pod-volcano-job": "sample:h100-pod --claim volcano-job.yaml",
    "nvlink-over-spines-gang": f"{EXAMPLES['nvlink-over-spines-four-gpus']} --gang 4 --level 'NVLink partition'",
    "oke-gb200-gang": f"{EXAMPLES['oke-gb200-one-pair']} --gang 2 --level rack",
}
BUSY = "sample:h100-busy --claim sample:h100-busy/eight-pairs"
MOVES = {
    "h100-busy-drain": "sample:h100-busy --drain dgx-13",
    "h100-busy-drain-and-claim": f"{BUSY} --drain dgx-11",
    "h100-busy-room": f"{BUSY} --make-room",
}
RAILS = {"h100-pod-rails": f"sample:h100-pod --claim two-pairs.dralab.yaml --gang 3 {LEAF} --same rail"}
RULE = "check sample:h100-busy --rule taint-rule.yaml"
UPGRADE = "check sample:trouble one-gpu.yaml all-gpus.yaml --upgrade"
DIFFERENT = (
    ("claims", PAIRS, EXAMPLES["eks-p4d-five-pairs"]),
    ("gangs", GANGS["h100-pod-gang"], GANGS["h100-pod-gangs"]),
    ("nothing", PAIRS, PAIRS),
)
SCHEDULERS = ("kai", "kube-scheduler", "kueue", "volcano")
TIMED = ("check/eks-p4d-five-pairs", "check/eks-p4d-two-claims", "export/eks-p4d-two-claims")
"""Beginnings of files that would differ from run to run: a search for pins or for a smaller change ends by time."""

LONG = ("check/dgx-h100-gpu-nic-cpu",)
"""Beginnings of files whose commands need more than a second."""


def answers() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each golden file with the commands that write it, `dra-lab` left out."""
    for name, words in (CLAIMS | FLEETS | GANGS | MOVES | RAILS).items():
        yield f"plan/{name}.txt", (f"plan {words}", f"plan {words} -v")
        yield f"plan/{name}.json", (f"plan {words} -o json",)
    for name, words in (CLAIMS | GANGS).items():
        if name not in ("h100-pod-gang-next-to", "h100-pod-gang-and-replicas"):
            yield f"explain/{name}.txt", (f"explain {words}", f"explain {words} {'-v' if name in GANGS else '--step'}")
            yield f"explain/{name}.json", (f"explain {words} -o json",)
    for name, words in (CLAIMS | FLEETS).items():
        export, cluster = f"export {words} --pin --dir out", words.partition(" --claim")[0]
        yield f"export/{name}.txt", (f"{export} --report",)
        yield f"export/{name}.json", (f"{export} -o json",)
        check = f"check {cluster} out"
        if name in EXAMPLES or name in FLEETS:
            yield f"check/{name}.txt", (f"{export} -q --allow-worse", check, f"{check} -v")
        if name in EXAMPLES:
            yield f"check/{name}.json", (f"{export} -q --allow-worse", f"{check} -o json")
            yield f"check/{name}.markdown", (f"{export} -q --allow-worse", f"{check} -o markdown")
    for scheduler in SCHEDULERS:
        words = f"{GANGS['h100-pod-gang']} --queue training/train --scheduler {scheduler} --pin --dir out"
        yield f"export/h100-pod-gang-{scheduler}.txt", (f"export {words}",)
        yield f"export/h100-pod-gang-{scheduler}.json", (f"export {words} -o json",)
    for scheduler in SCHEDULERS:
        words = f"explain {GANGS['h100-pod-gang']} --scheduler {scheduler} -v"
        yield f"explain/h100-pod-gang-{scheduler}.txt", (words,)
    yield "export/h100-pod-autoscaler.txt", (f"plan {POD} --replicas 20 --export-autoscaler out",)
    words = f"{GANGS['h100-pod-gang-preferred']} --scheduler kube-scheduler --dir out"
    yield "export/h100-pod-gang-preferred.txt", (f"export {words}",)
    devices = [f"explain {PAIRS} --device {name}" for name in ("gpu-0", "gpu-3", "gpu-4", "gpu-7")]
    devices += [
        f"explain {PAIRS} --node {FULL} --device gpu-3",
        f"explain {EXAMPLES['oke-gb200-one-pair']} --device gpu-0",
    ]
    yield "explain/devices.txt", tuple(devices)
    for name, before, after in DIFFERENT:
        words = (f"plan {before} -o json > a.json", f"plan {after} -o json > b.json", "diff a.json b.json")
        yield f"diff/{name}.txt", words
        yield f"diff/{name}.json", (*words[:2], f"{words[2]} -o json")
    for suffix, option in (("txt", "-v"), ("json", "-o json"), ("markdown", "-o markdown"), ("sarif", "-o sarif")):
        yield f"check/eks-p4d-faults.{suffix}", (f"check {EKS} faults {option}",)
        yield f"check/h100-pod-kueue-job.{suffix}", (f"check sample:h100-pod kueue-job.yaml {option}",)
    yield "check/trouble-upgrade.txt", (f"{UPGRADE} 1.38 -v", f"{UPGRADE} 1.36 --release 1.34 -v")
    yield "check/trouble-upgrade.json", (f"{UPGRADE} 1.36 --release 1.34 -o json",)
    yield "check/h100-busy-rule.txt", (RULE, f"{RULE} --release 1.37")
    yield "check/h100-busy-rule.json", (f"{RULE} --release 1.37 -o json",)
    yield from of_workloads()
    for sample in dra_lab.samples():
        words = f"topology sample:{sample.name}"
        yield f"topology/{sample.name}.txt", (words, f"{words} -v")
        yield f"topology/{sample.name}.json", (f"{words} -o json",)


def of_workloads() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the golden files of workloads that a person wrote."""
    for name, option in (("claims", ""), ("kept-names", " --keep-resource-name")):
        words = f"migrate {EKS} plugins.yaml{option}"
        yield f"migrate/{name}.txt", (f"{words} --dir out",)
        yield f"migrate/{name}.json", (f"{words} --dir out -o json",)
    yield "export/eks-p4d-own-job.txt", (f"export {PAIRS} --workload training.yaml --pin --dir out",)


FILES = {name: commands for name, commands in answers() if not name.startswith(TIMED)}


@pytest.fixture(autouse=True)
def _same_everywhere(tmp_path, monkeypatch, processor_clock):
    """Run in a folder with the inputs, written at a fixed time, in UTC, 100 columns wide and without colours."""
    shutil.copytree(INPUTS, tmp_path, dirs_exist_ok=True)
    for path in (*tmp_path.rglob("*"), tmp_path):
        os.utime(path, (1_800_000_000, 1_800_000_000))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def exported(folder: Path) -> str:
    """Return the name and text of each file of a folder; `plan.json` is without plan, digests and version."""
    parts = []
    for path in sorted(path for path in folder.iterdir() if path.name != "dra-lab.files"):
        text = path.read_text(encoding="utf-8")
        if path.name == "plan.json":
            record = json.loads(text)
            text = json.dumps(
                {key: record[key] for key in record if key not in ("plan", "files", "writtenBy")}, indent=2
            )
        parts.append(f"--- {path.name}\n{text.rstrip()}\n")
    return "\n".join(parts)


@in_a_file
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name.startswith(LONG) else ()) for name in FILES]
)
def test_commands_answer_as_recorded(name, tmp_path, capsys, snapshot):
    """Text has each command with its output, notes and exit status; other formats have the last command's output."""
    text = last = ""
    for command in FILES[name]:
        words, _, file = command.partition(" > ")
        status = main(shlex.split(words))
        shown = capsys.readouterr()
        if file:
            (tmp_path / file).write_text(shown.out)
            continue
        last, text = shown.out, f"{text}$ dra-lab {command}\n{shown.out}{shown.err}exit status {status}\n\n"
    if name.startswith(("export/", "migrate/")) and (tmp_path / "out").is_dir() and name.endswith(".txt"):
        text += exported(tmp_path / "out")
    found = (
        text if name.endswith(".txt") else last.replace(f'"version": "{dra_lab.__version__}"', '"version": "VERSION"')
    )
    assert found == snapshot(extension_class=GoldenFile)


@in_a_file
@pytest.mark.parametrize("_name", ["export/h100-pod-nodes-to-add.txt"])
def test_files_for_an_autoscaler_are_as_recorded(_name, snapshot):
    """Nodes to add for gangs of pairs behind a new leaf switch: for Cluster API and for Karpenter."""
    claim = dra_lab.read_sketch("sample:h100-pod/eight-pairs")
    train = dra_lab.Workload("train", claim, replicas=2, count=4, level="leaf switch")
    like = dra_lab.NodeType.like("h100-09", places=0, new_domains=8)
    dra_lab.export(dra_lab.nodes_to_add(dra_lab.load_cluster("sample:h100-pod"), train, [like]), "out")
    assert exported(Path("out")) == snapshot(extension_class=GoldenFile)


def shown() -> Iterator[tuple[str, object]]:
    """Yield each page of a notebook with the result that it shows."""
    for sample in dra_lab.samples():
        yield f"cluster/{sample.name}.html", lambda name=sample.name: dra_lab.load_cluster(f"sample:{name}")
        for example in sample.examples:
            words = f"sample:{sample.name}", f"sample:{sample.name}/{example}"
            yield f"plan/{sample.name}-{example}.html", lambda words=words: plan(*words)
            yield f"plan/{sample.name}-{example}-fleet.html", lambda words=words: fleet(*words)
    yield "plan/h100-pod-gang.html", gang


def plan(cluster: str, claim: str):
    """Plan one pod."""
    return dra_lab.make_plan(dra_lab.load_cluster(cluster), dra_lab.read_sketch(claim))


def fleet(cluster: str, claim: str):
    """Plan six pods."""
    return dra_lab.make_plan(
        dra_lab.load_cluster(cluster), [dra_lab.Workload("pods", dra_lab.read_sketch(claim), replicas=6)]
    )


def gang():
    """Plan three pods below one leaf switch."""
    workers = dra_lab.PodGroup("worker", dra_lab.read_sketch("sample:h100-pod/eight-pairs"), count=3)
    wanted = dra_lab.Workload("train", [workers], level="leaf switch")
    return dra_lab.make_plan(dra_lab.load_cluster("sample:h100-pod"), [wanted])


PAGES = dict(shown())


@in_a_file
@pytest.mark.parametrize("name", PAGES)
def test_notebooks_show_results_as_recorded(name, snapshot):
    """Clusters, and plans of one pod, of many and of gangs, as HTML; the text is the same as that of the commands."""
    assert in_html(PAGES[name]()) == snapshot(extension_class=GoldenFile)

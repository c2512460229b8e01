"""No answer contains two statements that exclude each other, whatever the cluster, the claim and the form of it."""

from __future__ import annotations

import json
import random
import re
from html import escape, unescape
from pathlib import Path

import pytest
from checked_plans import checked_fleet
from contradictions import of_command, of_page, of_record, of_status, of_text, of_value
from small_claims import request
from small_nodes import a_slice, gpu
from small_nodes import cluster as small

from dra_lab import how_many_more
from dra_lab.cli import main
from dra_lab.manifests.yaml_text import dump_yaml
from dra_lab.model.headroom import Bounded, Headroom
from dra_lab.model.plan import PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.workload import Workload
from dra_lab.sources import load_cluster
from dra_lab.words.document import as_text
from dra_lab.words.plan_document import AfterPlan, plan_parts

SAMPLES = ("eks-p4d", "mi300x", "two-sockets", "shared-gpu", "mig", "inference-l40s", "oke-gb200", "trouble")
DRAWINGS = (
    ("sample:eks-p4d", "sample:eks-p4d/four-pairs"),
    ("sample:eks-p4d", "sample:eks-p4d/five-pairs"),
    ("sample:mi300x", "sample:mi300x/gpu-nic-pairs"),
    ("sample:two-sockets", "sample:two-sockets/lesson"),
    ("sample:inference-l40s", "sample:inference-l40s/gpu-with-vf"),
    ("sample:oke-gb200", "sample:oke-gb200/one-pair"),
)
EXPORTED = DRAWINGS[1:5]
GOLDEN = Path(__file__).parent / "golden"
LEVELS = ("resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/numaNode")


def random_claim(chance: random.Random, sample: str) -> str:
    """Return a template, and two workloads that use it: one or two requests, any count, All, and a constraint."""
    cluster = load_cluster(f"sample:{sample}")
    names = [c.name for c in cluster.classes] or ["gpu.nvidia.com"]
    requests, constraints = [], []
    for number in range(chance.choice((1, 1, 2))):
        exactly: dict[str, object] = {"deviceClassName": chance.choice(names)}
        exactly |= {"allocationMode": "All"} if chance.random() < 0.15 else {"count": chance.choice((1, 1, 2, 4, 9))}
        requests.append({"name": f"r{number}", "exactly": exactly})
    if chance.random() < 0.6:
        constraints = [{"requests": [r["name"] for r in requests], "matchAttribute": chance.choice(LEVELS)}]
    spec = {"devices": {"requests": requests, **({"constraints": constraints} if constraints else {})}}
    head = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": "claim"}}
    return dump_yaml({**head, "spec": {"spec": spec}})


def workload(name: str, replicas: int, template: str = "claim") -> str:
    pod = {
        "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "d"}]}}],
        "resourceClaims": [{"name": "d", "resourceClaimTemplateName": template}],
    }
    head = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}}
    return dump_yaml({**head, "spec": {"replicas": replicas, "template": {"spec": pod}}})


def said(capsys, *command: str) -> tuple[str, list[str]]:
    """Run a command as text, all of it, and as JSON; return the text, and the contradictions in either."""
    capsys.readouterr()
    main([*command, *(["-v"] if command[0] == "plan" else [])])
    shown = capsys.readouterr()
    text = f"{shown.out}\n{shown.err}"
    status = main([*command, "-o", "json"])
    out = capsys.readouterr().out
    value = json.loads(out) if out else {}
    return text, [*of_text(text), *of_value(value), *of_status(value, status)]


@pytest.mark.parametrize("command", ["check", "explain", "plan"])
def test_recorded_answers(command):
    """Text with its exit status, notes and HTML in golden files agree with themselves."""
    found = []
    for path in (GOLDEN / command).iterdir():
        text = path.read_text()
        if path.suffix == ".txt":
            for answer, status in re.findall(r"(?ms)^\$ dra-lab [^\n]*\n(.*?)^exit status (\d)", text):
                found += [(path.name, one) for one in of_command(command, int(status), answer, "")]
        elif path.suffix == ".html":
            found += [(path.name, one) for one in of_page(text)]
    assert found == []


@pytest.mark.some(2)
@pytest.mark.parametrize("sample", SAMPLES)
def test_random_claims(capsys, tmp_path, sample):
    """`plan` and `check` of random claims and workloads agree with themselves in every form."""
    chance = random.Random(sample)
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        claim = folder / "claim.yaml"
        claim.write_text(random_claim(chance, sample))
        text, found = said(capsys, "plan", f"sample:{sample}", "--claim", str(claim))
        assert not found, f"{claim.read_text()}\n{text}"
        work = [workload("a", chance.choice((1, 3, 50))), workload("b", 1, chance.choice(("claim", "other")))]
        (folder / "work.yaml").write_text("---\n".join(work))
        text, found = said(capsys, "check", f"sample:{sample}", str(folder))
        assert not found, f"{claim.read_text()}\n{text}"
        for form in ("markdown", "sarif"):
            main(["check", f"sample:{sample}", str(folder), "-o", form])
            shown = capsys.readouterr().out
            assert not of_text(unescape(shown)), f"{claim.read_text()}\n{shown}"


@pytest.mark.parametrize(("cluster", "drawing"), DRAWINGS)
def test_a_page(capsys, tmp_path, cluster, drawing):
    """The page that `draw` writes, its messages and its exit status agree with each other."""
    page = tmp_path / "page.html"
    status = main(["draw", cluster, "--claim", drawing, "--file", str(page)])
    said = capsys.readouterr().err
    assert not of_page(f"<p>{escape(said)}</p>{page.read_text()}")
    assert (status == 0) == bool(re.search(r"Fits on [1-9]", page.read_text()))


@pytest.mark.some(5)
@pytest.mark.parametrize(("cluster", "drawing"), EXPORTED)
@pytest.mark.parametrize("more", [(), ("--pin",), ("--replicas", "3", "--pin")], ids=["plain", "pin", "three"])
def test_an_export(capsys, tmp_path, cluster, drawing, more):
    """Both streams of `export`, README.md, plan.json and the exit status agree with each other."""
    out, err, status = exported(capsys, tmp_path / "worse", cluster, drawing, *more)
    folder = tmp_path / "allowed"
    _, _, allowed = exported(capsys, folder, cluster, drawing, *more, "--allow-worse")
    record = json.loads((folder / "plan.json").read_text())
    text = f"{out}\n{err}\n{(folder / 'README.md').read_text()}"
    assert not [*of_text(text), *of_record(record, status), *of_command("export", status, out, err)], text
    assert not of_record(record, allowed, allow_worse=True)


def exported(capsys, folder, cluster, drawing, *more: str) -> tuple[str, str, int]:
    """Run `export` with a report; return both streams and the exit status."""
    capsys.readouterr()
    status = main(["export", cluster, "--claim", drawing, *more, "--report", "--dir", str(folder)])
    return *capsys.readouterr(), status


ONE = ClaimSketch(name="one", requests=(request("gpu", "gpu.nvidia.com"),))


def test_a_plan_that_its_own_follow_up_refutes_is_not_proven():
    """Whatever proved that no more replicas fit: what still fits after the plan takes the proof away, in every form."""
    nodes = small(a_slice("gpu.nvidia.com", gpu(0), gpu(1)))
    plan = checked_fleet(nodes, [Workload("one", (ONE,), replicas=3)], release=KubernetesRelease("1.36"))
    refuted = (Headroom("one", Bounded(1, 1)),)
    assert of_text(as_text(plan_parts(plan, after=AfterPlan(more={"one": refuted[0]}))) + "\n")
    corrected = plan.checked_against(refuted)
    assert not of_text(as_text(plan_parts(corrected, after=AfterPlan(more={"one": refuted[0]}))) + "\n")
    assert (corrected.status, corrected.proven) == (PlanStatus.FEASIBLE, False)
    assert "proof-withdrawn" in [finding.rule for finding in corrected.findings]
    true = how_many_more(nodes, Workload("one", (ONE,), replicas=1), release=KubernetesRelease("1.36"), after=plan)
    assert plan.checked_against([true]) is plan

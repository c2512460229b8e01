"""Exports and kube-scheduler: the sentence before anything is written, in every form of a claim, and for `check`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from dra_lab import (
    ClaimSketch,
    PodGroup,
    Session,
    Workload,
    export,
    frame,
    load_cluster,
    make_plan,
    picture,
    read_sketch,
)
from dra_lab.cli import main
from dra_lab.errors import ExportError
from dra_lab.exports.bundle import Wanted
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.session.outputs import bundle, drawn_of
from dra_lab.shipped import samples_dir
from dra_lab.sketch.claim_objects import Target
from dra_lab.words.plan_json import plan_json


def request(name, class_name, count):
    return DeviceRequest(name=name, exactly=ExactDeviceRequest(device_class_name=class_name, count=count))


SIX = ClaimSketch(name="six", requests=(request("gpu", "gpu.nvidia.com", 6), request("nic", "dranet", 6)))
FOUR_OF_SIX = "kube-scheduler allocates 4 of 6 pairs on a node like dgx-05; the plan has 6 of 6."


@pytest.fixture
def six():
    """Six GPUs and six NICs of any kind on dgx-h100, which kube-scheduler does not pair, answered."""
    session = Session("sample:dgx-h100", sketch=SIX)
    session.plan()
    yield session
    session.close()


def test_a_manifest_that_pairs_fewer_gpus_is_not_written_without_a_word(six, tmp_path):
    """Nothing is written, and the error says 5 of 6; a person who accepts it gets a README that repeats it."""
    with pytest.raises(ExportError, match=r"nothing is written\. kube-scheduler allocates 4 of 6 pairs"):
        export(six, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    export(six, tmp_path / "out", allow_worse=True, wanted=Wanted(extra=("report",)))
    assert FOUR_OF_SIX in (tmp_path / "out" / "README.md").read_text()


def test_a_pin_brings_the_plan_and_has_a_price(six):
    """With pins the sentence says 6 of 6, and the price says what they exclude."""
    plain, pinned = (bundle(drawn_of(six), Target(six.release), pin=pin) for pin in (False, True))
    assert (plain.simulation.sentence, plain.is_worse) == (FOUR_OF_SIX, True)
    assert pinned.simulation.sentence == "kube-scheduler allocates 6 of 6 pairs on every node it may choose."
    assert not pinned.is_worse
    assert pinned.pinned_plan.price == "it still fits on all 8 nodes that could serve it"


def test_an_unproven_plan_is_not_called_paired(six):
    """A plan that is not proven may be worse in NUMA nodes: then kube-scheduler may pair fewer and be as good."""
    from dataclasses import replace as changed

    from dra_lab.exports.simulation import simulation_of
    from dra_lab.model.plan import PlanStatus
    from dra_lab.pinning.pin_plan import pin_plan

    replay = pin_plan(six.cluster, six.answer, six.release).replay
    plan = changed(six.answer, status=PlanStatus.FEASIBLE)
    said = simulation_of(plan, replay).sentence
    assert said == "kube-scheduler allocates devices as good as in the plan on every node it may choose."


def test_a_runs_cache_holds_for_another_namespace(six):
    """Another namespace needs no other simulation, and the manifests say it."""
    runs = {}
    first, second = (
        bundle(drawn_of(six), replace(Target(six.release), namespace=name), runs=runs) for name in ("a", "b")
    )
    assert len(runs) == 1
    assert first.record["loop"] == second.record["loop"]
    assert "namespace: b" in second.texts["resourceclaimtemplate.yaml"]


EXAMPLES = ("eks-p4d/gpu-nic-pairs", "eks-p4d/five-pairs", "dgx-h100/gpu-nic-cpu")
FORMS = {
    "list": lambda drawn: [drawn],
    "workload": lambda drawn: Workload(drawn.name, drawn),
    "gang": lambda drawn: Workload(drawn.name, drawn, level="host"),
    "group": lambda drawn: Workload(drawn.name, [PodGroup(drawn.name, drawn)], level="node"),
}


def shown(plan, folder) -> tuple:
    """Return a plan in words, JSON, tables, picture and files."""
    files = export(plan, folder, pin=True, allow_worse=True)
    texts = {file.name: file.read_text() for file in files if file.name != "plan.json"}
    return str(plan), plan_json(plan), frame(plan).to_csv(), str(picture(plan)), texts


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("example", EXAMPLES)
def test_one_pod_has_one_answer_in_every_form(example, form, tmp_path):
    cluster, drawn = load_cluster(f"sample:{example.partition('/')[0]}"), read_sketch(f"sample:{example}")
    alone, other = make_plan(cluster, drawn), make_plan(cluster, FORMS[form](drawn))
    assert shown(other, tmp_path / "other") == shown(alone, tmp_path / "alone")


DRAWINGS = sorted(
    f"sample:{path.parents[1].name}/{path.name.removesuffix('.dralab.yaml')}"
    for path in samples_dir().glob("*/examples/*.dralab.yaml")
)


def statuses(folder, cluster, claim, *options):
    """Export, then check the folder, with and without --allow-worse; return (exported, checked) of each."""
    found = []
    for allowed in (["--allow-worse"], []):
        exported = main(["export", cluster, "--claim", str(claim), "--dir", str(folder), *options, *allowed])
        found.append((exported, main(["check", cluster, str(folder), *allowed])))
    return found


CASES = [(claim, options) for claim in DRAWINGS[::3] for options in ("", "--pin")]
CASES += [(claim, options) for claim in DRAWINGS for options in ("--replicas 3", "--replicas 3 --pin")]


@pytest.mark.long
@pytest.mark.parametrize(("claim", "options"), CASES)
def test_check_repeats_the_answer_of_every_export(claim, options, tmp_path):
    """`check` gives the same answer on the exported folder as `export` gave, with and without --allow-worse."""
    found = statuses(tmp_path / "out", claim.partition("/")[0], claim, *options.split())
    assert all(exported == checked for exported, checked in found)


REPRO = Path(__file__).parents[2] / ".." / "shared" / "repro"
SHARED = pytest.mark.skipif(not REPRO.is_dir(), reason=f"the reference inputs are not here: {REPRO}")


def pinned(tmp_path, cluster, claim, *more):
    """Export with pins; return the exit status and what plan.json records."""
    status = main(["export", str(cluster), "--claim", str(REPRO / claim), "--dir", str(tmp_path), "--pin", *more])
    return status, json.loads((tmp_path / "plan.json").read_text())


@SHARED
def test_the_node_on_which_the_search_timed_out_is_excluded(tmp_path, capsys):
    """The pod is kept off b-odd, and no statement says that kube-scheduler gives it up."""
    status, _ = pinned(tmp_path, REPRO / "heavy.yaml", "eight.yaml")
    said = capsys.readouterr().err
    assert (status, "a-idle" in (tmp_path / "pod.yaml").read_text(), "give up" in said) == (0, True, False)


@SHARED
@pytest.mark.parametrize("replicas", [2, 3, 5])
def test_pins_of_devices_apart_place_every_pod(replicas, tmp_path):
    """A hostname as pin placed 2 of 5; one request per NUMA node, by the GPUs' own values, places all of them."""
    status, record = pinned(tmp_path, "sample:eks-p4d", "gpu2-apart.dralab.yaml", "--replicas", str(replicas))
    assert (status, record["loop"]["placed"], record["loop"]["kept"]) == (0, replicas, replicas)
    assert "nodeAffinity" not in (tmp_path / "deployment-gpu2-apart.yaml").read_text()


@SHARED
def test_a_readme_without_pins_does_not_say_that_none_are_needed(tmp_path):
    pinned(tmp_path, "sample:eks-p4d", "gpu2-apart.dralab.yaml", "--replicas", "40", "--report", "--allow-worse")
    record, text = json.loads((tmp_path / "plan.json").read_text()), (tmp_path / "README.md").read_text()
    assert ("allocates the plan without any" in text) == (not record["pins"] and record["loop"]["asPlanned"])


@SHARED
@pytest.mark.long
def test_pins_place_as_many_pods_as_planned(tmp_path):
    """Six of eight were planned; 4 were placed. Alternatives for each sort of replica serve all six as planned."""
    status, record = pinned(tmp_path, "sample:mi300x", "s119.dralab.yaml", "--replicas", "8")
    assert (status, record["loop"]["placed"], record["loop"]["kept"]) == (1, 6, 6)
    assert record["loop"]["asPlanned"]


@SHARED
@pytest.mark.parametrize("cluster", ["sample:oke-gb200", "sample:eks-p4d"])
@pytest.mark.parametrize("claim", ["gb-first.dralab.yaml", "gpu-first.dralab.yaml"])
def test_a_manifest_that_is_not_served_as_planned_exits_1_and_so_does_check(cluster, claim, tmp_path, capsys):
    """`--allow-worse` exits 0 in both commands; a manifest that is served as planned exits 0 without it."""
    found = statuses(tmp_path / "out", cluster, REPRO / claim)
    record = json.loads((tmp_path / "out" / "plan.json").read_text())
    served = record["loop"]["kept"]
    assert found == ([(0, 0), (1, 1)] if not served else [(0, 0), (0, 0)]), capsys.readouterr().err
    if cluster == "sample:oke-gb200":
        assert (served, record["loop"]["wanted"]) == (0, 1)

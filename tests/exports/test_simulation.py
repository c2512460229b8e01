"""An export's sentence about kube-scheduler before it is written, with and without pins."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dra_lab import ClaimSketch, Session, export, read_sketch
from dra_lab.errors import ExportError
from dra_lab.exports.bundle import Wanted
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.session.outputs import bundle, drawn_of
from dra_lab.sketch.claim_objects import Target


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


def test_a_claim_that_does_not_fit_says_so():
    """No run is made of it, and it is not written unless a person accepts that."""
    session = Session("sample:eks-p4d", sketch=read_sketch("sample:eks-p4d/five-pairs"))
    session.plan()
    made = bundle(drawn_of(session), Target(session.release))
    session.close()
    assert made.simulation.sentence == "This claim fits on no node, even with nothing in use: its pods never start."
    assert made.is_worse


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

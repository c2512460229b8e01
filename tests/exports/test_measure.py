"""The Jobs that measure a link: the same test twice, valid objects, and refusals that say what is missing."""

from __future__ import annotations

import pytest
import yaml
from msgspec.structs import replace

from dra_lab import ClaimSketch, How, Link, Session, read_sketch
from dra_lab.checks.document_checks import check_text
from dra_lab.cli import main
from dra_lab.errors import InputError
from dra_lab.exports.measure import measure_files
from dra_lab.findings import Severity
from dra_lab.sketch.claim_objects import Target

EKS = ["sample:eks-p4d", "--claim", "sample:eks-p4d/gpu-nic-pairs"]


@pytest.fixture
def session():
    """Two GPUs with a NIC each, answered."""
    made = Session("sample:eks-p4d", sketch=read_sketch("sample:eks-p4d/gpu-nic-pairs"))
    made.plan()
    yield made
    made.close()


def test_both_jobs_run_the_same_test(session):
    """They differ in their names and in the constraints of their claims."""
    texts = measure_files(session.cluster, session.answer, Target(session.release))
    jobs = [texts[f"job-{suffix}.yaml"].replace(f"-{suffix}", "") for suffix in ("with-link", "without-link")]
    assert jobs[0] == jobs[1]
    assert "ib_write_bw -a -F --report_gbits --use_cuda=0" in jobs[0]
    assert ["constraints" in texts[f"claim-{suffix}.yaml"] for suffix in ("with-link", "without-link")] == [True, False]


def test_the_claims_are_valid(session):
    """The checks of the API server find no error in any file."""
    texts = measure_files(session.cluster, session.answer, Target(session.release))
    files = {name: text for name, text in texts.items() if name.endswith(".yaml")}
    found = [finding for name, text in files.items() for finding in check_text(text, name, session.release)]
    assert not [finding for finding in found if finding.severity is Severity.ERROR]


def test_gpus_alone_are_measured_with_nccl_tests(session):
    """One pod on the plan's node runs all_reduce_perf over the GPUs of its claim."""
    gpu = session.sketch.requests[0]
    link = Link(name="near", requests=("gpu",), where="numaNode", how=How.TOGETHER)
    session.edit(ClaimSketch(name="gpus", requests=(gpu,), links=(link,)))
    texts = measure_files(session.cluster, session.plan(), Target(session.release))
    (job,) = yaml.safe_load_all(texts["job-with-link.yaml"])
    command = job["spec"]["template"]["spec"]["containers"][0]["command"][-1]
    assert command == "mpirun --allow-run-as-root -np 1 all_reduce_perf_mpi -b 8 -e 8G -f 2 -g 2"


def test_without_a_link_there_is_nothing_to_measure(session):
    session.edit(replace(session.sketch, links=()))
    plan = session.plan()
    with pytest.raises(InputError, match="no link to measure"):
        measure_files(session.cluster, plan, Target(session.release))


def test_my_numbers_replace_the_range_and_are_marked(capsys):
    """0.45 to 0.64 becomes the measured ratio, in the text and in the JSON."""
    assert main(["plan", *EKS, "-v", "--measured", "46.1:25.3"]) == 0
    said = capsys.readouterr().out
    assert "0.55 on 1 of 2 GPUs (on another NUMA node, measured by you)" in said
    assert "0.45 to 0.64" not in said


@pytest.mark.parametrize(("numbers", "remarks"), [("46:25", 0), ("25:46", 1)])
def test_numbers_that_may_be_swapped_are_remarked(numbers, remarks, capsys):
    """Without the link nothing is faster, so a ratio above 1 is a question to the person."""
    main(["plan", *EKS, "--measured", numbers])
    assert capsys.readouterr().out.count("It is faster without the link; are the two numbers swapped?") == remarks


def test_my_numbers_stay_in_the_plan_file(tmp_path):
    sketch = read_sketch("sample:eks-p4d/gpu-nic-pairs")
    first = Session("sample:eks-p4d", sketch=sketch, file=tmp_path / "plan.dralab.yaml")
    first.plan()
    first.measured(46.1, 25.3)
    first.close()
    again = Session(file=tmp_path / "plan.dralab.yaml")
    regrets = again.plan().regrets
    again.close()
    assert [share.low for share in regrets[-1].theirs if share.kind == "yours"] == [0.55]


@pytest.mark.parametrize("text", ["46", "a:b", "0:1", "1:-2", "nan:1", "1:inf"])
def test_numbers_that_are_no_bandwidths_are_refused(text, capsys):
    with pytest.raises(SystemExit):
        main(["plan", *EKS, "--measured", text])
    assert "WITH:WITHOUT" in capsys.readouterr().err


def test_the_command_writes_the_jobs(tmp_path, capsys):
    assert main(["export", *EKS, "--measure", "--dir", str(tmp_path)]) == 0
    assert "kubectl logs job/gpu-nic-pairs-with-link --all-pods" in (tmp_path / "README.md").read_text()
    assert str(tmp_path / "job-without-link.yaml") in capsys.readouterr().out

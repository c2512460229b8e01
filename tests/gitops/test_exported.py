"""`check` of an exported folder gives the answer that `export` recorded in its `plan.json`."""

from __future__ import annotations

import json

import pytest

from dra_lab import load_cluster, read_manifests
from dra_lab.cli import main
from dra_lab.gitops.check_manifests import check_manifests
from dra_lab.gitops.review import FitState

EKS = "sample:eks-p4d"
EXPORTS = [
    (EKS, "gpu-nic-pairs", 1, False),
    (EKS, "gpu-nic-pairs", 3, True),
    (EKS, "four-pairs", 3, False),
    (EKS, "five-pairs", 1, False),
    ("sample:mi300x", "gpu-nic-pairs", 2, False),
]


def exported(folder, cluster, drawing, replicas, pin, *more):
    """Export replicas of a sample's drawing to a folder with the command; return its exit status."""
    options = ["--claim", f"{cluster}/{drawing}", "--replicas", str(replicas), "--dir", str(folder), "--overwrite"]
    return main(["export", cluster, *options, *(["--pin"] if pin else []), *more])


@pytest.mark.some(3)
@pytest.mark.parametrize(("cluster", "drawing", "replicas", "pin"), EXPORTS)
def test_an_exported_folder_gets_the_answer_of_the_export(tmp_path, capsys, cluster, drawing, replicas, pin):
    """The exit status of `check` is that of `export`, with `--allow-worse` on both and without."""
    for more in (("--allow-worse",), ()):
        status = exported(tmp_path, cluster, drawing, replicas, pin, *more)
        assert main(["check", cluster, str(tmp_path), *more]) == status
    assert capsys.readouterr().out


ANSWERS = [
    ({"outcome": "fits", "asPlanned": True, "reasons": []}, "fits", "fits"),
    ({"outcome": "fits", "asPlanned": False, "reasons": ["the link n is not kept"]}, "does-not-fit", "fits"),
    ({"outcome": "fits", "asPlanned": None, "reasons": ["no time was left"]}, "not-checked", "fits"),
    ({"outcome": "does-not-fit", "asPlanned": True, "reasons": []}, "does-not-fit", "does-not-fit"),
    ({"outcome": "stopped", "asPlanned": None, "reasons": []}, "stopped", "stopped"),
]


@pytest.mark.parametrize(("answer", "outcome", "allowed"), ANSWERS)
def test_the_recorded_answer_decides(tmp_path, answer, outcome, allowed):
    """The export's own answer is repeated as it is, with its reasons."""
    exported(tmp_path, EKS, "gpu-nic-pairs", 1, True)
    record = json.loads((tmp_path / "plan.json").read_text())
    (tmp_path / "plan.json").write_text(json.dumps({**record, "answer": answer}))
    found = [check_manifests(load_cluster(EKS), read_manifests([tmp_path]), allow_worse=w) for w in (False, True)]
    last = [review.objects[-1] for review in found]
    assert [(item.object, item.outcome.value) for item in last] == [
        ("export/gpu-nic-pairs", outcome),
        ("export/gpu-nic-pairs", allowed),
    ]
    assert all(reason in last[0].reason for reason in answer["reasons"])


@pytest.mark.parametrize("answer", [{}, [], {"outcome": "x", "asPlanned": True, "reasons": []}, {"outcome": "fits"}])
def test_a_record_that_is_none_is_passed_over(tmp_path, answer):
    """A `plan.json` without a readable answer adds nothing to the check of the manifests beside it."""
    record = {"apiVersion": "dra-lab/v1", "name": "x", "files": {}, "answer": answer}
    (tmp_path / "plan.json").write_text(json.dumps(record))
    assert check_manifests(load_cluster(EKS), read_manifests([tmp_path])).objects == ()


def test_an_edited_folder_is_checked_as_it_is(tmp_path):
    """A record does not hold for files that a person changed, and a Finding reports it."""
    exported(tmp_path, EKS, "gpu-nic-pairs", 2, False, "--allow-worse")
    path = tmp_path / "deployment-gpu-nic-pairs.yaml"
    path.write_text(path.read_text().replace("replicas: 2", "replicas: 3"))
    review = check_manifests(load_cluster(EKS), read_manifests([tmp_path]))
    assert review.outcome is FitState.FITS
    assert "export-edited" in [finding.rule for finding in review.findings]


def test_another_cluster_is_reported(tmp_path):
    """The record is of the cluster of the export; for another one it says so."""
    exported(tmp_path, EKS, "gpu-nic-pairs", 1, False, "--allow-worse")
    review = check_manifests(load_cluster("sample:dgx-h100"), read_manifests([tmp_path]))
    assert "export-other-cluster" in [finding.rule for finding in review.findings]

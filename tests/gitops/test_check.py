"""`dra-lab check`: manifests against a cluster."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from gitops.manifests_written import DEPLOYMENT, TEMPLATE, write

from dra_lab import ClaimSketch, Finding, Plan, Workload, load_cluster
from dra_lab.cli import main
from dra_lab.findings import Severity
from dra_lab.gitops.check_manifests import check_manifests
from dra_lab.gitops.folder import read_manifests
from dra_lab.gitops.report import review_parts
from dra_lab.gitops.review import FitState
from dra_lab.gitops.workload_fit import together_findings
from dra_lab.model.goals import GoalValue
from dra_lab.model.plan import PlanStatus
from dra_lab.model.workload import Question
from dra_lab.words.document import as_text

CLUSTER = load_cluster("sample:eks-p4d")


def check(folder, cluster=CLUSTER, now=False, **texts):
    return check_manifests(cluster, read_manifests([write(folder, **texts)]), now=now)


def rules(review, severity=Severity.ERROR):
    return {finding.rule for finding in review.findings if finding.severity is severity}


def test_sound_manifests_fit_a_proven_number_of_times(tmp_path):
    """Four nodes with four pairs each hold sixteen pods, with nothing in use."""
    review = check(tmp_path, claim=TEMPLATE, work=DEPLOYMENT)
    (train,) = review.reviewed
    assert (review.valid, train.wanted, train.times, train.proven) == (True, 3, 16, True)
    assert train.plan.goal("unpaired").value == 0


@pytest.mark.parametrize(("bound", "expected"), [(1, True), (0, False), (None, False)])
def test_workloads_are_said_not_to_fit_together_where_that_is_proven(bound, expected):
    """The bound proves it, whether or not other goals are proven."""
    unplaced = GoalValue("unplaced", 2, bound)
    plan = Plan(PlanStatus.FEASIBLE, Question((Workload("w", (ClaimSketch(),), replicas=2),)), goals=(unplaced,))
    assert [f.rule for f in together_findings(plan)] == ["workloads-do-not-fit-together"] * expected


def test_devices_in_use_count_only_when_asked(tmp_path):
    """By default the answer does not depend on what runs already; with `now` it does."""
    idle = check(tmp_path, claim=TEMPLATE, work=DEPLOYMENT)
    now = check(tmp_path, now=True, claim=TEMPLATE, work=DEPLOYMENT)
    assert now.reviewed[0].times < idle.reviewed[0].times


PARTLY = Finding("claims-some-namespaces", Severity.WARNING, "resourceclaims", "only those of team-a were read")


@pytest.mark.parametrize(
    ("read", "said"),
    [
        ({}, "devices in use counted"),
        ({"findings": (PARTLY,)}, "not all claims were read, so devices that look free may be in use"),
        ({"claims": (), "claims_known": False}, "no claims were read, so it is not known which devices are in use"),
    ],
)
def test_what_was_not_read_of_claims_is_said_where_devices_in_use_count(tmp_path, read, said):
    """With `now` the second sentence says it; without, nothing counts as in use, and what was read does not matter."""
    cluster = replace(CLUSTER, **read)
    now = as_text(review_parts(check(tmp_path, cluster, now=True, claim=TEMPLATE, work=DEPLOYMENT)))
    idle = as_text(review_parts(check(tmp_path, cluster, claim=TEMPLATE, work=DEPLOYMENT)))
    assert now.splitlines()[2].endswith(said)
    assert idle.splitlines()[2].endswith("nothing in use")
    assert "claims were read" not in idle


def test_too_many_replicas_are_an_error_at_the_workload(tmp_path):
    review = check(tmp_path, claim=TEMPLATE, work=DEPLOYMENT.replace("replicas: 3", "replicas: 17"))
    (finding,) = review.errors
    assert (finding.rule, review.reviewed[0].fit) == ("replicas-do-not-fit", FitState.DOES_NOT_FIT)
    assert "17" in finding.message
    assert "16" in finding.message
    assert finding.origin.source.endswith("work.yaml")
    assert finding.origin.line > 0


BROKEN = [
    ("deviceClassName: gpu.nvidia.com", "deviceClassName: gpu.nvidia.con", "class-unknown"),
    ("deviceClassName: gpu.nvidia.com", "deviceClassNam: gpu.nvidia.com", "api-undecodable"),
    (
        "deviceClassName: gpu.nvidia.com",
        "deviceClassName: gpu.nvidia.com\n          selectors:\n          - cel: {expression: device.driver == 'x'}",
        "selector-matches-nothing",
    ),
    (
        "deviceClassName: gpu.nvidia.com",
        """deviceClassName: gpu.nvidia.com
          selectors:
          - cel:
              expression: device.attributes['gpu.nvidia.com'].nothing == 1""",
        "selector-fails",
    ),
    ("deviceClassName: gpu.nvidia.com", "deviceClassName: gpu.nvidia.com\n          count: 9", "does-not-fit"),
]


@pytest.mark.parametrize(("old", "new", "rule"), BROKEN)
def test_what_is_wrong_with_a_claim_is_reported_at_its_file_and_line(tmp_path, old, new, rule):
    review = check(tmp_path, claim=TEMPLATE.replace(old, new), work=DEPLOYMENT)
    assert rule in rules(review)
    finding = next(f for f in review.findings if f.rule == rule)
    assert Path(finding.origin.source).is_file()
    assert finding.origin.line > 0
    assert not review.valid


def test_a_claim_that_no_workload_uses_is_checked_too(tmp_path):
    review = check(tmp_path, claim=TEMPLATE)
    assert [(item.subject, item.wanted, item.fit) for item in review.reviewed] == [
        ("ResourceClaimTemplate/pair", 1, FitState.FITS)
    ]


def test_a_node_selector_leaves_the_other_nodes_out(tmp_path):
    node = CLUSTER.node_names[0]
    text = DEPLOYMENT.replace("      containers:", f"      nodeName: {node}\n      containers:")
    review = check(tmp_path, claim=TEMPLATE, work=text)
    assert (review.reviewed[0].times, review.reviewed[0].nodes) == (4, (node,))


def test_a_class_among_the_manifests_counts(tmp_path):
    """A class that is written beside the claim is used although the cluster lacks it."""
    own = (
        "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: ours}\nspec:\n  selectors:\n"
        "  - cel: {expression: device.driver == 'gpu.nvidia.com'}\n"
    )
    review = check(tmp_path, cls=own, claim=TEMPLATE.replace("gpu.nvidia.com", "ours"), work=DEPLOYMENT)
    assert review.valid


@pytest.mark.parametrize("version", ["apiVersion: resource.k8s.io/v9", "metadata: {name: a}"])
def test_a_version_that_the_api_does_not_have_is_an_error(tmp_path, version):
    (tmp_path / "a.yaml").write_text(f"kind: ResourceClaim\n{version}\n")
    found = check_manifests(CLUSTER, read_manifests([tmp_path])).findings
    assert [f.rule for f in found if f.severity is Severity.ERROR] == ["version-unknown"]
    assert "nothing-to-check" not in [f.rule for f in found]


EKS = "sample:eks-p4d"
EXPORTS = [
    (EKS, "gpu-nic-pairs", 1, False),
    (EKS, "gpu-nic-pairs", 3, True),
    (EKS, "four-pairs", 3, False),
    (EKS, "five-pairs", 1, False),
    ("sample:mi300x", "gpu-nic-pairs", 2, False),
]


def exported(folder, cluster, drawing, replicas, pin, *more):
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


@pytest.fixture(scope="module")
def pinned(tmp_path_factory):
    """The folder of one export, in which a test changes `plan.json`, and the record as it was."""
    folder = tmp_path_factory.mktemp("pinned")
    exported(folder, EKS, "gpu-nic-pairs", 1, True)
    return folder, json.loads((folder / "plan.json").read_text())


@pytest.mark.parametrize(("answer", "outcome", "allowed"), ANSWERS)
def test_the_recorded_answer_decides(pinned, answer, outcome, allowed):
    folder, record = pinned
    (folder / "plan.json").write_text(json.dumps({**record, "answer": answer}))
    found = [check_manifests(load_cluster(EKS), read_manifests([folder]), allow_worse=w) for w in (False, True)]
    last = [review.objects[-1] for review in found]
    assert [(item.subject, item.fit.value) for item in last] == [
        ("export/gpu-nic-pairs", outcome),
        ("export/gpu-nic-pairs", allowed),
    ]
    assert all(reason in last[0].sentence for reason in answer["reasons"])


WHOLE = {"outcome": "fits", "asPlanned": True, "reasons": []}


@pytest.mark.parametrize(
    "answer", [{}, [], {**WHOLE, "outcome": "x"}, {**WHOLE, "asPlanned": "x"}, {"outcome": "fits"}]
)
def test_a_record_that_is_none_is_passed_over(tmp_path, answer):
    """A `plan.json` without a readable answer adds nothing to the check of the manifests beside it."""
    record = {"apiVersion": "dra-lab/v1", "name": "x", "files": {}, "answer": answer}
    (tmp_path / "plan.json").write_text(json.dumps(record))
    assert check_manifests(load_cluster(EKS), read_manifests([tmp_path])).objects == ()


def test_an_edited_folder_is_checked_as_it_is(tmp_path):
    exported(tmp_path, EKS, "gpu-nic-pairs", 2, False, "--allow-worse")
    path = tmp_path / "deployment-gpu-nic-pairs.yaml"
    path.write_text(path.read_text().replace("replicas: 2", "replicas: 3"))
    review = check_manifests(load_cluster(EKS), read_manifests([tmp_path]))
    assert review.outcome is FitState.FITS
    assert "export-edited" in [finding.rule for finding in review.findings]


def test_another_cluster_is_reported(tmp_path):
    exported(tmp_path, EKS, "gpu-nic-pairs", 1, False, "--allow-worse")
    review = check_manifests(load_cluster("sample:dgx-h100"), read_manifests([tmp_path]))
    assert "export-other-cluster" in [finding.rule for finding in review.findings]

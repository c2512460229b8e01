"""Fields of other schedulers that articles and older versions have get the right name."""

from __future__ import annotations

import pytest
import yaml
from crd_schemas import fields

from dra_lab import Cluster, KubernetesRelease
from dra_lab.exports.gangs.scheduler_fields import FIELDS, RENAMED, scheduler_fields
from dra_lab.findings import Origin, Severity
from dra_lab.gitops.check_manifests import check_manifests
from dra_lab.gitops.folder import read_manifests

JOB = """
apiVersion: batch/v1
kind: Job
spec:
  template:
    metadata: {annotations: {kueue.x-k8s.io/podset-require-topology: example.com/rack}}
    spec: {containers: [{name: main}]}
"""
HOST = "kubernetes.io/hostname"
RELEASE = KubernetesRelease("1.36")


@pytest.mark.parametrize(
    ("release", "version", "severity"),
    [
        ("1.36", "v1alpha2", Severity.WARNING),
        ("1.36", "v1beta1", Severity.ERROR),
        ("1.37", "v1beta1", Severity.WARNING),
        ("1.37", "v1alpha3", Severity.WARNING),
        ("1.37", "v1alpha2", Severity.ERROR),
        ("1.35", "v1alpha2", Severity.ERROR),
    ],
)
def test_a_version_of_pod_group_is_one_of_the_release(release, version, severity):
    """A version that the release does not have is an error, one that is off by default a warning."""
    document = {"apiVersion": f"scheduling.k8s.io/{version}", "kind": "PodGroup", "metadata": {"name": "train"}}
    found = scheduler_fields(document, lambda path: Origin("file.yaml", 1, "object", path), KubernetesRelease(release))
    assert [(one.rule, one.severity) for one in found] == [("pod-group-version", severity)]


def report(text):
    """Return (rule, path, advice) of each finding."""
    found = scheduler_fields(yaml.safe_load(text), lambda path: Origin("file.yaml", 1, "object", path), RELEASE)
    return [(one.rule, one.origin.path, one.advice) for one in found]


@pytest.mark.parametrize("kind", FIELDS)
def test_the_fields_are_those_of_the_schemas(kind):
    """A field that a new version adds would be reported as unknown."""
    name = "/".join(kind)
    assert {path: set(known) for path, known in FIELDS[kind].items()} == {
        path: fields(name, path) for path in FIELDS[kind]
    }


def test_what_is_renamed_leads_to_a_field_that_exists():
    """And is none itself at the top of the object."""
    for (kind, wrong), right in RENAMED.items():
        known = [row["spec"] for (_, name), row in FIELDS.items() if name == kind]
        assert (any(right in one for one in known), any(wrong in one and right in one for one in known)) == (
            True,
            False,
        )


@pytest.mark.parametrize(
    ("text", "rule", "path", "advice"),
    [
        (
            "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, spec: {cohort: a}}",
            "scheduler-field-unknown", "spec.cohort", "Did you mean cohortName?",
        ),
        (
            "{apiVersion: kueue.x-k8s.io/v1beta1, kind: ClusterQueue, spec: {cohort: a}}",
            "scheduler-version-old", "apiVersion",
            "Write it as kueue.x-k8s.io/v1beta2. There, cohort is called cohortName.",
        ),
        (
            "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, spec: {tasks: [{}, {replica: 8}]}}",
            "scheduler-field-unknown", "spec.tasks[1].replica", "Did you mean replicas?",
        ),
        (
            "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, spec: {topologyPolicy: hard}}",
            "scheduler-field-unknown", "spec.topologyPolicy", "Did you mean networkTopology?",
        ),
        (
            "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, spec: {tasks: [{topologyPolicy: restricted}]}}",
            "scheduler-field-other", "spec.tasks[0].topologyPolicy",
            "For racks and blocks, did you mean networkTopology or partitionPolicy?",
        ),
        (
            "{apiVersion: grove.io/v1alpha1, kind: PodCliqueSet, spec: {template: {cliques: [{packDomain: rack}]}}}",
            "scheduler-field-unknown", "spec.template.cliques[0].packDomain",
            "Did you mean pack.required, or pack.preferred?",
        ),
        (
            "{apiVersion: grove.io/v1alpha1, kind: ClusterTopology}",
            "scheduler-version-old", "apiVersion", "Write it as kind ClusterTopologyBinding.",
        ),
        (
            JOB.replace("require-topology: example.com/rack", 'slice-size: "0"'),
            "scheduler-annotation-value", "spec.template.metadata.annotations", "Write a number, 1 or more.",
        ),
        (
            JOB.replace("require-topology: example.com/rack", "topology-spreading: '{}'"),
            "scheduler-annotation-alpha", "spec.template.metadata.annotations",
            "dra-lab plans without it; with the gate, Kueue may choose another domain.",
        ),
        (
            JOB,
            "scheduler-annotation", "spec.template.metadata.annotations",
            "Did you mean kueue.x-k8s.io/podset-required-topology?",
        ),
    ],
)  # fmt: skip
def test_a_wrong_name_gets_the_right_one(text, rule, path, advice):
    assert report(text) == [(rule, path, advice)]


def test_kueue_0_20_does_not_serve_older_versions():
    """Dumps of older clusters are still read."""
    document = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue", "metadata": {"name": "q"}}
    (found,) = scheduler_fields(document, lambda path: Origin("file.yaml", 1, "object", path), RELEASE)
    assert found.message.endswith("is replaced by kueue.x-k8s.io/v1beta2; Kueue 0.20 does not serve it")


def test_a_field_like_no_other_gets_the_list():
    """So that a person can look it up there."""
    ((rule, _, advice),) = report(
        "{apiVersion: kai.scheduler/v1alpha1, kind: Topology, spec: {layers: [], levels: []}}"
    )
    assert (rule, advice) == ("scheduler-field-unknown", "It has: levels.")


def test_check_reports_wrong_names(tmp_path):
    text = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q}\nspec:\n  cohort: team\n"
    (tmp_path / "queue.yaml").write_text(text)
    review = check_manifests(Cluster(), read_manifests([tmp_path]))
    found = next(one for one in review.findings if one.rule == "scheduler-field-unknown")
    assert (found.origin.line, found.origin.object) == (5, "ClusterQueue/q")

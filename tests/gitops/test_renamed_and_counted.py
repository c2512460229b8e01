"""Findings of `check` on names that kustomize changes and on counts that are none; `migrate` reports a finding once."""

from __future__ import annotations

import pytest
from gitops.manifests_written import DEPLOYMENT, TEMPLATE, write

from dra_lab import load_cluster, migrate, read_manifests
from dra_lab.findings import Severity
from dra_lab.gitops.check_manifests import check_manifests

CLUSTER = load_cluster("sample:eks-p4d")
KUSTOMIZATION = "resources: [claim.yaml, work.yaml]\n"


def found(folder, rule, **texts):
    review = check_manifests(CLUSTER, read_manifests([write(folder, **texts)]))
    return [finding for finding in review.findings if finding.rule == rule]


@pytest.mark.parametrize("value", ["three", '"3"', "-1", "2.5", "true"])
def test_a_count_that_is_no_number_is_an_error_at_its_line(tmp_path, value):
    """It is counted as one pod, which is not what the file says."""
    text = DEPLOYMENT.replace("replicas: 3", f"replicas: {value}")
    (finding,) = found(tmp_path, "count-broken", claim=TEMPLATE, work=text)
    assert finding.severity is Severity.ERROR
    assert text.split("\n")[finding.origin.line - 1].strip().startswith("replicas:")


def test_a_count_of_an_unknown_kind_is_a_warning(tmp_path):
    """Its controller may know what to do with it."""
    text = DEPLOYMENT.replace("replicas: 3", "replicas: many").replace("kind: Deployment", "kind: Trainer")
    (finding,) = found(tmp_path, "count-broken", claim=TEMPLATE, work=text)
    assert finding.severity is Severity.WARNING


@pytest.mark.parametrize("text", ["replicas: 3", "replicas: 0", "replicas: null"])
def test_a_count_that_the_api_server_takes_is_not_mentioned(tmp_path, text):
    assert not found(tmp_path, "count-broken", claim=TEMPLATE, work=DEPLOYMENT.replace("replicas: 3", text))


@pytest.mark.parametrize("key", ["namePrefix: dev-", "nameSuffix: -dev"])
def test_a_kustomization_that_changes_names_is_reported(tmp_path, key):
    """Kustomize renames the template and not what refers to it; a file of its own may tell it to."""
    texts = {"claim": TEMPLATE, "work": DEPLOYMENT, "kustomization": f"{KUSTOMIZATION}{key}\n"}
    assert len(found(tmp_path, "kustomize-names", **texts)) == 1
    texts["kustomization"] += "configurations: [names.yaml]\n"
    assert not found(tmp_path, "kustomize-names", **texts)


def test_a_kustomization_that_changes_no_name_is_not_mentioned(tmp_path):
    texts = {"claim": TEMPLATE, "work": DEPLOYMENT, "kustomization": f"{KUSTOMIZATION}namespace: team\n"}
    assert not found(tmp_path, "kustomize-names", **texts)


def test_a_template_that_kustomize_renamed_is_found(tmp_path):
    """In what kustomize printed the pod still names the template as it was."""
    renamed = TEMPLATE.replace("name: pair", "name: dev-pair")
    (finding,) = found(tmp_path, "claim-not-given", claim=renamed, work=DEPLOYMENT)
    assert "'dev-pair'" in finding.advice
    assert "nameReference" in finding.advice


def test_what_is_the_same_for_all_workloads_is_reported_once(tmp_path):
    """Each note names the workloads that it is about."""
    job = (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: NAME}\nspec: {template: {spec: {restartPolicy: Never, "
        "containers: [{name: main, image: x, resources: {limits: {nvidia.com/gpu: 2}}}]}}}\n"
    )
    texts = {name: job.replace("NAME", name) for name in ("one", "two", "three")}
    notes = migrate(read_manifests([write(tmp_path, **texts)])).findings
    assert len({note.rule for note in notes}) == len(notes)
    assert all(f"Job/{name}" in note.subject for note in notes for name in texts)


def test_a_tab_is_called_a_tab(tmp_path):
    """The parser speaks of a character that cannot start a token."""
    (finding,) = found(tmp_path, "file-broken", work="a: 1\nb:\n\tc: 2\n", claim=TEMPLATE)
    assert "tab" in finding.message
    assert finding.origin.line == 3

"""Pods and the claims that they name."""

from __future__ import annotations

import pytest
import yaml
from gitops.manifests_written import DEPLOYMENT, TEMPLATE, write

from dra_lab import Cluster, KubernetesRelease, load_cluster, migrate
from dra_lab.findings import Origin, Severity
from dra_lab.gitops.check_manifests import check_manifests
from dra_lab.gitops.folder import Document, read_manifests
from dra_lab.gitops.object_pods import pod_templates
from dra_lab.gitops.references import WrittenObjects, check_references
from dra_lab.manifests.device_asks import asks_outside


def _rules(folder, deployment, template=TEMPLATE):
    manifests = read_manifests([write(folder, work=deployment, claim=template)])
    objects = WrittenObjects.read(manifests, Cluster(), KubernetesRelease("1.36"))
    return [(f.rule, f.origin.line) for pod in objects.pods for f in check_references(objects, pod)]


def _line(text, part):
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


def test_a_sound_pod_is_not_reported(tmp_path):
    assert _rules(tmp_path, DEPLOYMENT) == []


@pytest.mark.parametrize(
    ("old", "new", "rule", "at"),
    [
        ("resourceClaimTemplateName: pair", "resourceClaimTemplateName: pairs", "claim-not-given", "- name: devices\n"),
        ("          - name: devices", "          - name: device", "container-claim-unknown", "- name: device"),
        (
            "          - name: devices",
            "          - {name: devices, request: cpu}",
            "container-request-unknown",
            "- {name",
        ),
        (
            "        resourceClaimTemplateName: pair",
            "        resourceClaimTemplateName: pair\n        resourceClaimName: x",
            "pod-claim-source",
            "",
        ),
        (
            "      - name: devices\n        resource",
            "      - {name: devices, resourceClaimTemplateName: pair}\n      - name: devices\n        resource",
            "pod-claim-twice",
            "",
        ),
    ],
)
def test_what_does_not_hold_together_is_reported(tmp_path, old, new, rule, at):
    broken = DEPLOYMENT.replace(old, new)
    assert broken != DEPLOYMENT
    found = _rules(tmp_path, broken)
    assert rule in {name for name, _ in found}
    assert all(0 < line <= len(broken.splitlines()) for _, line in found)


def test_an_unused_claim_is_reported_at_its_line(tmp_path):
    """Devices that no container uses are allocated for nothing."""
    text = DEPLOYMENT.replace("          claims:\n          - name: devices\n", "          limits: {cpu: 1}\n")
    assert _rules(tmp_path, text) == [("pod-claim-unused", _line(text, "      - name: devices"))]


def test_a_claim_of_another_namespace_is_not_the_pods(tmp_path):
    other = TEMPLATE.replace("name: pair", "name: pair\n  namespace: other")
    assert [rule for rule, _ in _rules(tmp_path, DEPLOYMENT, other)] == ["claim-not-given"]


SPEC = {"containers": [{"name": "main"}], "resourceClaims": [{"name": "d", "resourceClaimTemplateName": "t"}]}


def _templates(value):
    return list(pod_templates(Document(value, Origin(), lambda path: 0)))


JOBSET = {
    "kind": "JobSet",
    "spec": {
        "replicatedJobs": [
            {"name": "a", "replicas": 2, "template": {"spec": {"parallelism": 4, "template": {"spec": SPEC}}}},
            {"name": "b", "template": {"spec": {"template": {"spec": SPEC}}}},
        ]
    },
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"kind": "Pod", "spec": SPEC}, [("spec", 1)]),
        ({"kind": "Job", "spec": {"parallelism": 5, "template": {"spec": SPEC}}}, [("spec.template.spec", 5)]),
        (
            {"kind": "CronJob", "spec": {"jobTemplate": {"spec": {"parallelism": 2, "template": {"spec": SPEC}}}}},
            [("spec.jobTemplate.spec.template.spec", 2)],
        ),
        (
            JOBSET,
            [
                ("spec.replicatedJobs[0].template.spec.template.spec", 8),
                ("spec.replicatedJobs[1].template.spec.template.spec", 1),
            ],
        ),
        ({"kind": "ConfigMap", "data": {"spec": "containers"}}, []),
    ],
)
def test_templates_are_found_with_their_replicas(value, expected):
    """A mapping `spec` with containers is a pod template; the counts on the way to it multiply."""
    assert [(t.path, t.pods) for t in _templates(value)] == expected


def test_the_claims_of_a_template_have_their_path():
    (template,) = _templates(yaml.safe_load(DEPLOYMENT))
    (claim,) = template.claims
    assert (claim.name, claim.template, claim.path) == ("devices", "pair", "spec.template.spec.resourceClaims[0]")


def test_a_daemonset_runs_on_every_node():
    """Its number of pods is that of the nodes, so that no count is told."""
    (template,) = _templates({"kind": "DaemonSet", "spec": {"template": {"spec": SPEC}}})
    assert template.per_node


@pytest.mark.parametrize("entry", [None, "text", 5, {"name": 3}, []])
def test_entries_of_a_wrong_type_do_no_harm(entry):
    """An entry that the API server would refuse is left to its validation."""
    assert len(_templates({"kind": "Pod", "spec": {**SPEC, "resourceClaims": [entry]}})) == 1


def test_what_a_pod_template_of_any_kind_asks_for_is_not_asked_elsewhere():
    """The pods of a PodCliqueSet are known, though its field is `podSpec`; those of a TrainJob or PodGroup are not."""
    pod = {"containers": [{"name": "m", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}
    cliques = {"template": {"cliques": [{"name": "c", "spec": {"podSpec": pod}}]}}
    trainer = {"trainer": {"resourcesPerNode": {"limits": {"nvidia.com/gpu": 1}}}}
    group = {"resourceClaims": [{"name": "a", "resourceClaimTemplateName": "pair"}]}
    asked = [
        list(asks_outside({"kind": kind, "spec": spec}))
        for kind, spec in (
            ("PodCliqueSet", cliques),
            ("TrainJob", trainer),
            ("PodGroup", group),
            ("ConfigMap", trainer),
        )
    ]
    assert asked == [[], [("spec.trainer.resourcesPerNode", "nvidia.com/gpu")], [("spec.resourceClaims", "")], []]


CLUSTER = load_cluster("sample:eks-p4d")
KUSTOMIZATION = "resources: [claim.yaml, work.yaml]\n"


def found(folder, rule, **texts):
    review = check_manifests(CLUSTER, read_manifests([write(folder, **texts)]))
    return [finding for finding in review.findings if finding.rule == rule]


@pytest.mark.parametrize("value", ["three", '"3"', "-1", "2.5", "true"])
def test_a_count_that_is_no_number_is_an_error_at_its_line(tmp_path, value):
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
    notes = migrate([write(tmp_path, **texts)]).findings
    assert len({note.rule for note in notes}) == len(notes)
    assert all(f"Job/{name}" in note.subject for note in notes for name in texts)


def test_a_tab_is_called_a_tab(tmp_path):
    """The parser speaks of a character that cannot start a token."""
    (finding,) = found(tmp_path, "file-broken", work="a: 1\nb:\n\tc: 2\n", claim=TEMPLATE)
    assert "tab" in finding.message
    assert finding.origin.line == 3

"""Pod templates wherever they stand."""

import pytest
import yaml
from gitops.manifests_written import DEPLOYMENT

from dra_lab.findings import Origin
from dra_lab.gitops.folder import Document
from dra_lab.gitops.object_pods import pod_templates
from dra_lab.manifests.device_asks import asks_outside

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
    assert [(t.path, t.replicas) for t in _templates(value)] == expected


def test_the_claims_of_a_template_have_their_path():
    """An entry of resourceClaims names its template and where it stands."""
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

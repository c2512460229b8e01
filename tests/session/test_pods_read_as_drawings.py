"""A Pod, or what makes pods, read as one drawing in Python; and such a drawing as a workload of the fleet."""

import pytest
from msgspec.structs import replace

from dra_lab import Session, read_sketch
from dra_lab.errors import ManifestError, SourceError
from dra_lab.model.sketch import claims_of, pod_drawing

TEMPLATE = """apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: NAME}
spec: {spec: {devices: {requests: [{name: one, exactly: {deviceClassName: gpu.nvidia.com, count: 1}}]}}}
"""
DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {name: serving}
spec:
  replicas: 2
  template:
    spec:
      resourceClaims:
      - {name: gpus, resourceClaimTemplateName: first}
      - {name: more, resourceClaimTemplateName: second}
      containers: [{name: main, image: x}]
"""
WHOLE = "---\n".join((DEPLOYMENT, TEMPLATE.replace("NAME", "first"), TEMPLATE.replace("NAME", "second")))


@pytest.fixture
def session():
    with_example = Session("sample:eks-p4d", drawn=False)
    yield with_example
    with_example.close()


@pytest.fixture
def pod(session):
    return pod_drawing("train", (replace(session.sketch, name="a"), replace(session.sketch, name="b")))


def test_a_deployment_is_read_with_all_its_claims(tmp_path):
    """The names are those of `spec.resourceClaims[]`, in the pod's order."""
    (tmp_path / "all.yaml").write_text(WHOLE)
    found = read_sketch(tmp_path / "all.yaml")
    assert (found.name, found.claims) == ("serving", ("gpus", "more"))


def test_a_file_with_two_pods_is_refused_with_their_names(tmp_path):
    """Which of them is meant cannot be guessed."""
    (tmp_path / "all.yaml").write_text(f"{WHOLE}---\n{DEPLOYMENT.replace('serving', 'other')}")
    with pytest.raises(SourceError, match="Deployment serving, Deployment other"):
        read_sketch(tmp_path / "all.yaml")


def test_a_pod_whose_claim_no_api_server_takes_is_refused_with_the_line(tmp_path):
    """The same check as for a claim alone."""
    (tmp_path / "all.yaml").write_text(WHOLE.replace("count: 1", "count: -1"))
    with pytest.raises(ManifestError, match=r"all\.yaml:\d+"):
        read_sketch(tmp_path / "all.yaml")


def test_a_pod_is_one_workload_of_the_fleet(session, pod):
    """The drawing is a workload with its claims, and what is drawn changes all of them."""
    session.edit(pod)
    assert session.fleet.workload("train").claims == claims_of(pod)
    session.fleet.set_replicas("train", 2)
    session.edit(pod_drawing("train", (claims_of(pod)[0], replace(claims_of(pod)[1], links=()))))
    assert session.fleet.workload("train").claims[1].links == ()


def test_a_workload_of_two_claims_opens_as_the_drawing(session, pod):
    """From Fleet to Plan: one drawing, in one undo step."""
    session.fleet.add(pod, name="train")
    session.fleet.open("train")
    assert (session.sketch, session.fleet.editing) == (pod, "train")
    session.undo()
    assert session.sketch.claims == ()


def test_the_plan_of_the_drawing_is_that_of_its_claims(session, pod):
    """The session, `plan_fleet` and the claims given one by one allocate the same devices."""
    from dra_lab import make_plan

    session.edit(pod)
    drawn = session.plan()
    given = make_plan(session.cluster, {claim.name: claim for claim in claims_of(pod)})
    assert [(p.reference, p.device) for p in drawn.placements] == [(p.reference, p.device) for p in given.placements]
    assert session.fleet.plan().pods[0].node == drawn.node


def test_a_kept_plan_of_a_pod_becomes_the_drawing_again(session, pod):
    """Compare keeps the claims of the pod."""
    session.edit(pod)
    session.plan()
    name = session.comparing.keep(session.answer, "two claims")
    session.clear()
    session.comparing.restore(name)
    assert session.sketch == pod

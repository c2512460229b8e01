"""What files offer to be drawn, and a Pod or what makes pods as one drawing, alone and in the fleet."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dra_lab import Session, read_sketch
from dra_lab.model.sketch import claims_of, pod_drawing
from dra_lab.session.drawables import drawables, texts_at

TEMPLATE = """apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: NAME}
spec:
  spec:
    devices:
      requests:
      - {name: one, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}
"""
POD_SPEC = """
  resourceClaims:
  - {name: gpus, resourceClaimTemplateName: two-gpus}
  - {name: nics, resourceClaimTemplateName: two-nics}
  containers: [{name: main, image: x}]
"""
POD = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: trainer}}\nspec:{POD_SPEC}"
INDENTED = POD_SPEC.replace("\n", "\n    ")
DEPLOYMENT = (
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: serving}\n"
    f"spec:\n  replicas: 2\n  template:\n    spec:{INDENTED}"
)
SLICE = "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: s}\n"


def template(name: str) -> str:
    return TEMPLATE.replace("NAME", name)


def test_a_template_alone_is_offered_by_its_name():
    found = drawables({"a.yaml": template("two-gpus")})
    assert [(one.label, one.detail) for one in found.found] == [
        ("two-gpus", "ResourceClaimTemplate two-gpus, 1 request")
    ]


def test_a_pod_is_one_drawing_with_all_claims_that_it_names():
    text = "---\n".join((POD, template("two-gpus"), template("two-nics")))
    (found,) = drawables({"a.yaml": text}).found
    assert (found.label, found.detail, found.drawing.sketch.claims) == (
        "Pod trainer",
        "claims gpus and nics, 2 requests",
        ("gpus", "nics"),
    )


def test_two_claims_from_one_template_are_two_claims():
    text = "---\n".join((POD.replace("two-nics", "two-gpus"), template("two-gpus")))
    (found,) = drawables({"a.yaml": text}).found
    assert [request.name for request in found.drawing.sketch.requests] == ["gpus:one", "nics:one"]


def test_claims_without_a_pod_are_offered_alone_and_together():
    text = "---\n".join((template("two-gpus"), template("two-nics")))
    labels = [one.label for one in drawables({"a.yaml": text}).found]
    assert labels == ["two-gpus", "two-nics", "All 2 claims as one pod"]


@pytest.mark.parametrize(
    "text",
    [
        f"{SLICE}---\n{template('two-gpus')}",
        "apiVersion: v1\nkind: Pod\nspec: {containers: []}\n",
        "kind: List\nitems: []\n",
        f"apiVersion: v1\nkind: Node\nmetadata: {{name: n}}\n---\n{template('two-gpus')}",
        "a: [",
        "",
    ],
)
def test_what_is_of_a_cluster_or_has_no_claims_is_no_drawing(text):
    assert drawables({"a.yaml": text}) is None


def test_a_deployment_offers_those_claims_of_its_pods_that_are_in_the_files():
    found = drawables({"a.yaml": DEPLOYMENT, "b.yaml": template("two-gpus")})
    assert [one.label for one in found.found] == ["Deployment serving: claim gpus"]
    assert found.notes == ("Deployment serving uses the ResourceClaimTemplate two-nics, which is not in these files.",)


def test_the_claims_of_a_pod_are_found_in_its_folder(tmp_path):
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / "claims.yaml").write_text(template("two-gpus"))
    (tmp_path / "cluster.yaml").write_text(f"{SLICE}---\n{template('other')}")
    assert sorted(texts_at(str(tmp_path / "pod.yaml"))) == ["claims.yaml", "pod.yaml"]


def test_a_folder_of_manifests_is_read_whole(tmp_path):
    (tmp_path / "a.yaml").write_text(POD)
    (tmp_path / "b.txt").write_text("x")
    assert sorted(texts_at(str(tmp_path))) == ["a.yaml"]


ONE_GPU = """apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: NAME}
spec: {spec: {devices: {requests: [{name: one, exactly: {deviceClassName: gpu.nvidia.com, count: 1}}]}}}
"""
TWO_CLAIMS = """apiVersion: apps/v1
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
WHOLE = "---\n".join((TWO_CLAIMS, ONE_GPU.replace("NAME", "first"), ONE_GPU.replace("NAME", "second")))


@pytest.fixture
def session():
    with_example = Session("sample:eks-p4d", drawn=False)
    yield with_example
    with_example.close()


@pytest.fixture
def pod(session):
    return pod_drawing("train", (replace(session.sketch, name="a"), replace(session.sketch, name="b")))


def test_a_deployment_is_read_with_all_its_claims(tmp_path):
    (tmp_path / "all.yaml").write_text(WHOLE)
    found = read_sketch(tmp_path / "all.yaml")
    assert (found.name, found.claims) == ("serving", ("gpus", "more"))


def test_a_pod_is_one_workload_of_the_fleet(session, pod):
    session.edit(pod)
    assert session.fleet.workload("train").claims == claims_of(pod)
    session.fleet.set_replicas("train", 2)
    session.edit(pod_drawing("train", (claims_of(pod)[0], replace(claims_of(pod)[1], links=()))))
    assert session.fleet.workload("train").claims[1].links == ()


def test_a_workload_of_two_claims_opens_as_the_drawing(session, pod):
    session.fleet.add(pod, name="train")
    session.fleet.open("train")
    assert (session.sketch, session.fleet.editing) == (pod, "train")
    session.undo()
    assert session.sketch.claims == ()


def test_the_plan_of_the_drawing_is_that_of_its_claims(session, pod):
    from dra_lab import make_plan

    session.edit(pod)
    drawn = session.plan()
    given = make_plan(session.cluster, {claim.name: claim for claim in claims_of(pod)})
    assert [(p.reference, p.device) for p in drawn.placements] == [(p.reference, p.device) for p in given.placements]
    assert session.fleet.plan().pods[0].node == drawn.node


def test_a_kept_plan_of_a_pod_becomes_the_drawing_again(session, pod):
    session.edit(pod)
    session.plan()
    name = session.comparing.keep(session.answer, "two claims")
    session.clear()
    session.comparing.restore(name)
    assert session.sketch == pod

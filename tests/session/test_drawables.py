"""What files offer to be opened as a drawing: claims, templates, and the claims of pods and of what makes pods."""

from __future__ import annotations

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


def test_a_deployment_offers_the_claims_of_its_pods():
    found = drawables({"a.yaml": DEPLOYMENT, "b.yaml": template("two-gpus")})
    assert [one.label for one in found.found] == ["Deployment serving: claim gpus"]


def test_a_claim_that_is_not_in_the_files_is_named():
    found = drawables({"a.yaml": DEPLOYMENT, "b.yaml": template("two-gpus")})
    assert found.notes == ("Deployment serving uses the ResourceClaimTemplate two-nics, which is not in these files.",)


def test_a_cluster_with_claims_is_no_drawing():
    assert drawables({"a.yaml": f"{SLICE}---\n{template('two-gpus')}"}) is None


def test_a_pod_without_claims_offers_nothing():
    assert drawables({"a.yaml": "apiVersion: v1\nkind: Pod\nspec: {containers: []}\n"}) is None


def test_the_claims_of_a_pod_are_found_in_its_folder(tmp_path):
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / "claims.yaml").write_text(template("two-gpus"))
    (tmp_path / "cluster.yaml").write_text(f"{SLICE}---\n{template('other')}")
    assert sorted(texts_at(str(tmp_path / "pod.yaml"))) == ["claims.yaml", "pod.yaml"]


def test_a_folder_of_manifests_is_read_whole(tmp_path):
    (tmp_path / "a.yaml").write_text(POD)
    (tmp_path / "b.txt").write_text("x")
    assert sorted(texts_at(str(tmp_path))) == ["a.yaml"]

"""`dra-lab check`: objects of one kind and name in several files."""

from pathlib import Path

import pytest

from dra_lab import load_cluster, read_manifests
from dra_lab.gitops.check_manifests import check_manifests

CLUSTER = load_cluster("sample:two-sockets")
REPRO = Path(__file__).parents[1] / "repro"


def template(count, kind="ResourceClaimTemplate"):
    requests = (
        f"{{devices: {{requests: [{{name: gpu, exactly: {{deviceClassName: gpu.nvidia.com, count: {count}}}}}]}}}}"
    )
    spec = f"{{spec: {requests}}}" if kind == "ResourceClaimTemplate" else requests
    return f"apiVersion: resource.k8s.io/v1\nkind: {kind}\nmetadata: {{name: g}}\nspec: {spec}\n"


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  resourceClaims: [{name: d, resourceClaimTemplateName: g}]
  containers: [{name: m, image: x, resources: {claims: [{name: d}]}}]
"""
CLASS = """\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.nvidia.com}
spec: {selectors: [{cel: {expression: 'device.driver == "gpu.nvidia.com" && %s'}}]}
"""


def outcomes(folder, cluster=CLUSTER):
    """Return the outcome of each object by `file: Kind/name`, and the rules of the findings."""
    review = check_manifests(cluster, read_manifests([folder]))
    objects = {f"{Path(o.origin.source).relative_to(folder)}: {o.object}": o.outcome.value for o in review.objects}
    return objects, [finding.rule for finding in review.findings]


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(("folder", "good", "bad"), [("ov", "dev", "prod"), ("ov2", "b-dev", "a-prod")])
def test_each_overlay_is_checked_with_its_own_template(folder, good, bad):
    """A workload uses the template of its own file, whichever file comes last."""
    objects, rules = outcomes(REPRO / "check-twice" / folder, load_cluster("sample:h100-pod"))
    names = ("ResourceClaimTemplate/g", "Deployment/app")
    fits = {f"{good}/app.yaml: {name}": "fits" for name in names}
    assert objects == fits | {f"{bad}/app.yaml: {name}": "does-not-fit" for name in names}
    assert sorted(rules) == ["does-not-fit", "manifest-twice", "manifest-twice"]


def test_the_same_object_in_two_files_is_checked_once_and_counted_twice():
    """Copies of one object are no duplicates to report."""
    folder = REPRO / "check-twice" / "env"
    review = check_manifests(load_cluster("sample:h100-pod"), read_manifests([folder]))
    assert [item.outcome.value for item in review.objects] == ["fits", "fits"]
    assert (len(review.reviewed), review.findings) == (1, ())


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({"a.yaml": template(99), "b.yaml": template(1)}, {"a.yaml"}, id="unused templates of one folder"),
        pytest.param(
            {"a.yaml": template(99, "ResourceClaim"), "b.yaml": template(1, "ResourceClaim")}, {"a.yaml"}, id="claims"
        ),
        pytest.param(
            {"a/t.yaml": template(99), "a/p.yaml": POD, "b/t.yaml": template(1), "b/p.yaml": POD},
            {"a/t.yaml", "a/p.yaml"},
            id="the same pod beside two templates",
        ),
        pytest.param(
            {"t.yaml": template(99), "a/p.yaml": POD, "b/t.yaml": template(1)},
            {"t.yaml", "a/p.yaml"},
            id="a template of the folder above",
        ),
        pytest.param(
            {"a.yaml": template(99) + "---\n" + POD, "b.yaml": template(99) + "---\n" + POD},
            {"a.yaml", "b.yaml"},
            id="copies",
        ),
        pytest.param(
            {"a.yaml": template(1), "b.yaml": template("[1]"), "c.yaml": template("[1]")},
            {"b.yaml", "c.yaml"},
            id="copies that the API server refuses",
        ),
    ],
)
def test_a_broken_object_is_found_beside_another_of_its_name(tmp_path, files, expected):
    """No other object of its kind and name hides one that does not fit."""
    objects, _ = outcomes(write(tmp_path, files))
    broken = {name.partition(":")[0] for name, outcome in objects.items() if outcome == "does-not-fit"}
    assert (broken, len(objects)) == (expected, sum(text.count("apiVersion") for text in files.values()))


def test_two_objects_of_one_name_in_one_file_are_an_error(tmp_path):
    """Kubectl applies both of them, and one is lost."""
    objects, rules = outcomes(write(tmp_path, {"a.yaml": template(1) + "---\n" + template(2)}))
    assert (list(objects.values()), rules) == (["does-not-fit"], ["manifest-twice"])


def test_a_class_that_another_file_replaces_is_not_checked(tmp_path):
    """A cluster has one DeviceClass of a name, so one of two is left open."""
    objects, rules = outcomes(
        write(tmp_path, {"a.yaml": CLASS % "false", "b.yaml": CLASS % "true", "t.yaml": template(1)})
    )
    assert objects == {"a.yaml: DeviceClass/gpu.nvidia.com": "not-checked", "t.yaml: ResourceClaimTemplate/g": "fits"}
    assert rules == ["class-twice"]


def test_overlays_are_not_planned_at_once(tmp_path):
    """Workloads of one name are for different clusters, so that they need not all fit."""
    files = {f"{name}/all.yaml": template(count) + "---\n" + POD for name, count in (("a", 3), ("b", 4))}
    review = check_manifests(CLUSTER, read_manifests([write(tmp_path, files)]))
    assert ([item.subject for item in review.reviewed], review.together) == (
        ["Pod/p (a/all.yaml)", "Pod/p (b/all.yaml)"],
        None,
    )

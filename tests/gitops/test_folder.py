"""Files and folders of manifests."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from gitops.manifests_written import DEPLOYMENT, TEMPLATE, write

from dra_lab import load_cluster
from dra_lab.cli import main
from dra_lab.errors import SourceError
from dra_lab.gitops.check_manifests import check_manifests
from dra_lab.gitops.folder import read_manifests
from dra_lab.manifests.yaml_text import load_yaml


def test_a_folder_is_read_with_everything_below_it(tmp_path):
    write(tmp_path / "b", claim=TEMPLATE)
    write(tmp_path / "a", work=DEPLOYMENT)
    write(tmp_path / ".git", other=TEMPLATE)
    (tmp_path / "plan.dralab.yaml").write_text("apiVersion: dra-lab/v1\nkind: Drawing\n")
    found = read_manifests([tmp_path])
    assert [document.kind for document in found.documents] == ["Deployment", "ResourceClaimTemplate"]


def test_an_object_knows_the_line_of_a_path(tmp_path):
    write(tmp_path, both=TEMPLATE + "---\n" + DEPLOYMENT)
    document = read_manifests([tmp_path]).documents[1]
    line = document.line("spec.template.spec.resourceClaims[0].resourceClaimTemplateName")
    text = (tmp_path / "both.yaml").read_text().splitlines()[line - 1]
    assert text.strip() == "resourceClaimTemplateName: pair"


def test_the_items_of_a_list_are_objects(tmp_path):
    """A List, as `kubectl get -o yaml` and kustomize print it, is split into objects with their lines."""
    body = "".join(f"  {line}\n" for line in TEMPLATE.splitlines())
    (tmp_path / "list.yaml").write_text("apiVersion: v1\nkind: List\nitems:\n-" + body[1:])
    (document,) = read_manifests([tmp_path]).documents
    assert (document.name, document.line("metadata.name")) == ("pair", 7)


def test_json_has_lines_too(tmp_path):
    """A JSON file is read with the line of each path."""
    (tmp_path / "pod.json").write_text('{\n "kind": "Pod",\n "apiVersion": "v1",\n "metadata": {\n  "name": "a"}\n}')
    (document,) = read_manifests([tmp_path]).documents
    assert document.line("metadata.name") == 5


@pytest.mark.parametrize("between", ["", "\n", "\n\n  "])
def test_json_values_that_follow_one_another_are_documents(tmp_path, between):
    """`kubectl get -o json` twice into one file; each has its number and the line of each path in the file."""
    one, two = '{\n"kind": "Pod", "metadata": {"name": "a"}}', '{"kind": "Pod", "metadata": {\n"name": "b"}}'
    (tmp_path / "pods.json").write_text(one + between + two)
    found = read_manifests([tmp_path])
    lines = between.count("\n")
    assert found.findings == ()
    assert [(one.name, one.origin.document, one.line("metadata.name")) for one in found.documents] == [
        ("a", 1, 2),
        ("b", 2, 3 + lines),
    ]


def test_a_broken_file_does_not_hide_the_others(tmp_path):
    write(tmp_path, bad="a: [1\nb: 2\n", good=TEMPLATE)
    found = read_manifests([tmp_path])
    assert [document.name for document in found.documents] == ["pair"]
    assert [(f.rule, f.origin.line) for f in found.findings] == [("file-broken", 2)]


def test_standard_input_is_read(monkeypatch):
    """`kustomize build | dra-lab check CLUSTER -` reads what comes in."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEMPLATE.encode())))
    assert [document.name for document in read_manifests(["-"]).documents] == ["pair"]


@pytest.mark.parametrize("name", ["nothing", "empty"])
def test_nothing_to_read_is_reported(tmp_path, name):
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match=name):
        read_manifests([tmp_path / name])


def test_a_broken_document_hides_none_of_the_others(tmp_path):
    (tmp_path / "a.yaml").write_text("kind: A\n---\nb: [1,\n---\n\n---\n&c [*c]\n---\nkind: D\nspec:\n  e: 1\n")
    read = read_manifests([tmp_path])
    assert [(d.kind, d.origin.document, d.line("spec.e")) for d in read.documents] == [("A", 1, 1), ("D", 5, 11)]
    assert [(f.origin.document, f.origin.line) for f in read.findings if f.origin] == [(2, 4), (4, 7)]


def test_a_helm_template_is_reported_as_one(tmp_path):
    (tmp_path / "a.yaml").write_text("kind: Pod\nmetadata: {name: {{ .Values.name }}}\n")
    (finding,) = read_manifests([tmp_path]).findings
    assert "helm template" in finding.advice


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}
"""
CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu.nvidia.com}}]}}
"""
DEEP = f"a: {'[' * 100}{']' * 100}\n"


@pytest.mark.parametrize(
    ("before", "status"), [("---\n---\n", 0), ("a: 1\n---\n# nothing\n---\nnull\n---\n", 0), (f"{DEEP}---\n", 1)]
)
def test_migrate_changes_the_pod_after_them(tmp_path, before, status):
    (tmp_path / "a.yaml").write_text(before + POD)
    assert main(["migrate", "sample:eks-p4d", str(tmp_path / "a.yaml"), "--dir", str(tmp_path / "out")]) == status
    assert "resourceClaimTemplateName: p-devices" in (tmp_path / "out" / "a.yaml").read_text()


def test_export_patches_the_workload_after_them(tmp_path):
    """`export --workload` changes the pod, and not the document in its place without the empty ones."""
    (tmp_path / "a.yaml").write_text(f"a: 1\n---\n---\n{POD}")
    (tmp_path / "c.yaml").write_text(CLAIM)
    words = [
        "--claim",
        str(tmp_path / "c.yaml"),
        "--workload",
        str(tmp_path / "a.yaml"),
        "--dir",
        str(tmp_path / "out"),
    ]
    assert main(["export", "sample:eks-p4d", *words]) == 0
    assert "resourceClaimTemplateName" in (tmp_path / "out" / "a.yaml").read_text()


def test_a_refused_document_counts():
    found = load_yaml(f"x: 1\n---\n{DEEP}---\ny: 2\n", broken=lambda _: None)
    assert [(document.number, document.value) for document in found] == [(1, {"x": 1}), (3, {"y": 2})]


CLUSTER = load_cluster("sample:two-sockets")
REPRO = Path(__file__).parents[1] / "repro"


def template(count, kind="ResourceClaimTemplate"):
    requests = (
        f"{{devices: {{requests: [{{name: gpu, exactly: {{deviceClassName: gpu.nvidia.com, count: {count}}}}}]}}}}"
    )
    spec = f"{{spec: {requests}}}" if kind == "ResourceClaimTemplate" else requests
    return f"apiVersion: resource.k8s.io/v1\nkind: {kind}\nmetadata: {{name: g}}\nspec: {spec}\n"


WITH_CLAIM = """\
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
    objects = {f"{Path(o.origin.source).relative_to(folder)}: {o.subject}": o.fit.value for o in review.objects}
    return objects, [finding.rule for finding in review.findings]


def write_files(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(("folder", "good", "bad"), [("ov", "dev", "prod"), ("ov2", "b-dev", "a-prod")])
def test_each_overlay_is_checked_with_its_own_template(folder, good, bad):
    objects, rules = outcomes(REPRO / "check-twice" / folder, load_cluster("sample:h100-pod"))
    names = ("ResourceClaimTemplate/g", "Deployment/app")
    fits = {f"{good}/app.yaml: {name}": "fits" for name in names}
    assert objects == fits | {f"{bad}/app.yaml: {name}": "does-not-fit" for name in names}
    assert sorted(rules) == ["does-not-fit", "manifest-twice", "manifest-twice"]


def test_the_same_object_in_two_files_is_checked_once_and_counted_twice():
    folder = REPRO / "check-twice" / "env"
    review = check_manifests(load_cluster("sample:h100-pod"), read_manifests([folder]))
    assert [item.fit.value for item in review.objects] == ["fits", "fits"]
    assert (len(review.reviewed), review.findings) == (1, ())


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({"a.yaml": template(99), "b.yaml": template(1)}, {"a.yaml"}, id="unused templates of one folder"),
        pytest.param(
            {"a.yaml": template(99, "ResourceClaim"), "b.yaml": template(1, "ResourceClaim")}, {"a.yaml"}, id="claims"
        ),
        pytest.param(
            {"a/t.yaml": template(99), "a/p.yaml": WITH_CLAIM, "b/t.yaml": template(1), "b/p.yaml": WITH_CLAIM},
            {"a/t.yaml", "a/p.yaml"},
            id="the same pod beside two templates",
        ),
        pytest.param(
            {"t.yaml": template(99), "a/p.yaml": WITH_CLAIM, "b/t.yaml": template(1)},
            {"t.yaml", "a/p.yaml"},
            id="a template of the folder above",
        ),
        pytest.param(
            {"a.yaml": template(99) + "---\n" + WITH_CLAIM, "b.yaml": template(99) + "---\n" + WITH_CLAIM},
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
    objects, _ = outcomes(write_files(tmp_path, files))
    broken = {name.partition(":")[0] for name, outcome in objects.items() if outcome == "does-not-fit"}
    assert (broken, len(objects)) == (expected, sum(text.count("apiVersion") for text in files.values()))


def test_two_objects_of_one_name_in_one_file_are_an_error(tmp_path):
    """Kubectl applies both of them, and one is lost."""
    objects, rules = outcomes(write_files(tmp_path, {"a.yaml": template(1) + "---\n" + template(2)}))
    assert (list(objects.values()), rules) == (["does-not-fit"], ["manifest-twice"])


def test_a_class_that_another_file_replaces_is_not_checked(tmp_path):
    """A cluster has one DeviceClass of a name, so one of two is left open."""
    objects, rules = outcomes(
        write_files(tmp_path, {"a.yaml": CLASS % "false", "b.yaml": CLASS % "true", "t.yaml": template(1)})
    )
    assert objects == {"a.yaml: DeviceClass/gpu.nvidia.com": "not-checked", "t.yaml: ResourceClaimTemplate/g": "fits"}
    assert rules == ["class-twice"]


def test_overlays_are_not_planned_at_once(tmp_path):
    """Workloads of one name are for different clusters, so that they need not all fit."""
    files = {f"{name}/all.yaml": template(count) + "---\n" + WITH_CLAIM for name, count in (("a", 3), ("b", 4))}
    review = check_manifests(CLUSTER, read_manifests([write_files(tmp_path, files)]))
    assert ([item.subject for item in review.reviewed], review.together) == (
        ["Pod/p (a/all.yaml)", "Pod/p (b/all.yaml)"],
        None,
    )

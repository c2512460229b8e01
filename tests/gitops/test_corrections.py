"""`check --fix`: what has one sensible reading is corrected in the file, and nothing else of it changes."""

import json
from difflib import ndiff
from pathlib import Path

import pytest
from small_manifests import device_class

from dra_lab import KubernetesRelease, load_cluster
from dra_lab.checks.document_checks import check_text
from dra_lab.cli import main
from dra_lab.gitops.check_manifests import check_manifests
from dra_lab.gitops.corrections import corrected
from dra_lab.gitops.folder import read_manifests
from dra_lab.manifests.yaml_text import load_yaml
from dra_lab.sketch.likely_names import likely_attribute, likely_class

SHARED = Path(__file__).parents[2] / ".." / "shared"
CLUSTER = load_cluster("sample:eks-p4d")
RELEASE = KubernetesRelease(CLUSTER.default_release)
RDMA = 'has(device.attributes["dra.net"].rdma) && device.attributes["dra.net"].rdma == true'
ARTICLE = """\
# a GPU and a NIC
apiVersion: resource.k8s.io/v1beta1   # old
kind: ResourceClaimTemplate
metadata: {name: pair}
spec:
  spec:
    devices:
      requests:
      # the GPU
      - name: gpu
        deviceClassName: nvidia-gpu  # any
      - {name: nic, deviceClassName: rdma-nic, count: 1}

      constraints:
      - requests: ["gpu", "nic"]
        matchAttribute: 'pcieRoot'
"""
KYAML = """\
---
{
  apiVersion: "resource.k8s.io/v1beta1",
  kind: "ResourceClaimTemplate",
  metadata: {
    name: "pair",
  },
  spec: {
    spec: {
      devices: {
        requests: [{
          name: "gpu", # any
          exactly: {
            deviceClassName: "nvidia-gpu",
          },
        }, {
          name: "nic",
          deviceClassName: "rdma-nic",
        }],
      },
    },
  },
}
"""
FLAT = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec:
  devices:
    requests:
    - name: gpu
      deviceClassName: gpu.nvidia.com
      # how many
      count: 2
      selectors:
      - cel:
          expression: |
            "a" ==
              "a"
    # the NIC
    - deviceClassName: dranet
      name: nic
"""
MIXED = FLAT.replace("/v1\n", "/v1beta1\n") + "    - {name: x, exactly: {deviceClassName: dranet}}\n"
JSON = json.dumps(next(load_yaml(ARTICLE)).value, indent=2) + "\n"
JSON_LINE = json.dumps(next(load_yaml(FLAT)).value) + "\n"
LIST = "kind: List\napiVersion: v1\nitems:\n- " + FLAT.replace("\n", "\n  ").rstrip(" ")
TEXTS = {
    "article": ARTICLE,
    "kyaml": KYAML,
    "flat": FLAT,
    "mixed": MIXED,
    "json": JSON,
    "json line": JSON_LINE,
    "list": LIST,
    "documents": f"{ARTICLE}---\n{FLAT}",
    "windows": ARTICLE.replace("\n", "\r\n"),
    "no end of line": FLAT.rstrip("\n"),
}


def fixed(text):
    return corrected(text, "a.yaml", CLUSTER, RELEASE)[0]


@pytest.mark.parametrize("name", TEXTS)
def test_a_corrected_text_is_valid_and_has_nothing_more_to_correct(name):
    """The API server takes every corrected text, and correcting it again changes nothing."""
    new, done = corrected(TEXTS[name], "a.yaml", CLUSTER, RELEASE)
    assert done
    assert [str(finding) for finding in check_text(new)] == []
    assert corrected(new, "a.yaml", CLUSTER, RELEASE) == (new, ())


@pytest.mark.parametrize("name", TEXTS)
def test_comments_order_and_form_stay(name):
    """Every comment stays, JSON stays JSON, KYAML stays KYAML, line ends stay."""
    old, new = TEXTS[name], fixed(TEXTS[name])
    for line in old.splitlines():
        comment = line.partition("#")[2]
        assert not comment or f"#{comment}" in new
    if name.startswith("json"):
        assert json.loads(new)
    if name == "kyaml":
        assert new.startswith("---\n{\n")
        assert '          exactly: {\n            deviceClassName: "dranet",\n' in new
    assert new.count("\r\n") == (new.count("\n") if name == "windows" else 0)
    assert new.endswith("\n") == old.endswith("\n")


def test_only_the_wrong_values_change():
    changed = [line for line in ndiff(ARTICLE.splitlines(), fixed(ARTICLE).splitlines()) if line[0] in "+-"]
    selector = f"'{RDMA}'"
    assert changed == [
        "-         deviceClassName: nvidia-gpu  # any",
        "+         deviceClassName: gpu.nvidia.com  # any",
        "-       - {name: nic, deviceClassName: rdma-nic, count: 1}",
        f"+       - {{name: nic, deviceClassName: dranet, selectors: [{{cel: {{expression: {selector}}}}}], count: 1}}",
        "-         matchAttribute: 'pcieRoot'",
        "+         matchAttribute: 'resource.kubernetes.io/pcieRoot'",
    ]


def test_what_is_said_in_another_version_means_the_same():
    """Fields that move under `exactly` keep their values; a document in which one request has it becomes v1."""
    (old,), (new,) = (list(load_yaml(text)) for text in (FLAT, fixed(FLAT)))
    for before, after in zip(
        old.value["spec"]["devices"]["requests"], new.value["spec"]["devices"]["requests"], strict=True
    ):
        assert {**after["exactly"], "name": after["name"]} == before
    assert fixed(MIXED).startswith("apiVersion: resource.k8s.io/v1\n")


def test_fields_that_come_by_a_merge_key_are_left_alone():
    """A request whose fields come from an anchor has no text of its own to move: nothing is changed."""
    base = "x-base: &base {deviceClassName: gpu.nvidia.com}\n"
    text = base + FLAT.replace("      deviceClassName: gpu.nvidia.com\n", "      <<: *base\n")
    assert "<<: *base\n      # how many\n      count: 2\n" in fixed(text)


def test_each_correction_names_its_line_and_both_values():
    done = corrected(ARTICLE, "a.yaml", CLUSTER, RELEASE)[1]
    assert [(one.source, one.line, one.old) for one in done] == [
        ("a.yaml", 11, "'nvidia-gpu'"),
        ("a.yaml", 12, "'rdma-nic'"),
        ("a.yaml", 16, "'pcieRoot'"),
    ]
    assert all(one.object == "ResourceClaimTemplate/pair" and one.new and one.why for one in done)


@pytest.mark.parametrize(
    ("name", "sample", "meant"),
    [
        ("nvidia-gpu", "eks-p4d", "gpu.nvidia.com"),
        ("gpu.nvida.com", "eks-p4d", "gpu.nvidia.com"),
        ("amd-gpu", "mi300x", "gpu.amd.com"),
        ("rdma-nic", "inference-l40s", "sriovnetwork.k8snetworkplumbingwg.io"),
        ("nic", "eks-p4d", "dranet"),
        ("gpu", "mig", ""),  # a partition is no GPU
        ("amd-gpu", "eks-p4d", ""),
        ("example-device-class", "eks-p4d", ""),
    ],
)
def test_a_class_is_meant_only_where_one_can_be(name, sample, meant):
    """Every word of an unknown class must be one of the class that is meant, and no other class may do."""
    cluster = load_cluster(f"sample:{sample}")
    found = likely_class(name, cluster, RELEASE)
    assert (found.device_class if found else "") == meant
    if meant:
        assert bool(found.selectors) == ("rdma" in name)


def test_an_attribute_is_meant_only_where_one_can_be():
    """A standard name comes first; a driver's own domain is never changed, and of two names none is meant."""
    assert likely_attribute("pcie-root", CLUSTER) == "resource.kubernetes.io/pcieRoot"
    assert likely_attribute("k8s.io/pcieRoot", CLUSTER) == "resource.kubernetes.io/pcieRoot"
    assert likely_attribute("resource.kubernetes.io/pcieRoot", CLUSTER) == ""
    assert likely_attribute("gpu.nvidia.com/pcieRoot", CLUSTER) == ""
    assert likely_attribute("numaNode", load_cluster("sample:mi300x")) == ""
    both = ARTICLE.replace("pcieRoot", "productName")
    assert "'productName'" in fixed(both)  # the NIC has none


def test_each_problem_is_reported_once_with_what_was_meant(tmp_path):
    """`check` prints one error per problem, at the path that is in the file, with what was probably meant."""
    file = tmp_path / "a.yaml"
    file.write_text(ARTICLE)
    review = check_manifests(CLUSTER, read_manifests([file]))
    root = "spec.spec.devices"
    assert {(f.origin.line, f.origin.path): f.advice.partition("?")[0] for f in review.errors} == {
        (11, f"{root}.requests[0].deviceClassName"): "Did you mean 'gpu.nvidia.com'",
        (12, f"{root}.requests[1].deviceClassName"): "Did you mean 'dranet' with an RDMA selector",
        (16, f"{root}.constraints[0].matchAttribute"): "Did you mean 'resource.kubernetes.io/pcieRoot'",
    }
    assert len(review.errors) == 3
    file.write_text(FLAT)
    errors = check_manifests(CLUSTER, read_manifests([file])).errors
    assert [f.origin.path.rpartition(".")[0] for f in errors] == [
        "spec.devices.requests[0]",
        "spec.devices.requests[1]",
    ]


def test_the_command_writes_what_it_lists_and_nothing_else(tmp_path, capsys):
    """`check --fix` corrects a file, lists the changes, leaves other files alone, and then the file passes."""
    wrong, sound = tmp_path / "wrong.yaml", tmp_path / "sound.yaml"
    wrong.write_bytes(b"\xef\xbb\xbf" + ARTICLE.encode())
    sound.write_text(fixed(FLAT).replace("name: c}", "name: other}"))
    before = sound.stat()
    assert main(["check", "sample:eks-p4d", str(wrong), str(sound), "--fix"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(": ")[2].rpartition(": Res")[0] for line in lines] == [f"{wrong}:{n}" for n in (11, 12, 16)]
    assert wrong.read_bytes() == b"\xef\xbb\xbf" + fixed(ARTICLE).encode()
    assert (sound.stat().st_mtime_ns, sound.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    after = wrong.stat()
    assert main(["check", "sample:eks-p4d", str(wrong), "--fix"]) == 0
    assert capsys.readouterr().err == "nothing to fix\n"
    assert (wrong.stat().st_mtime_ns, wrong.stat().st_ino) == (after.st_mtime_ns, after.st_ino)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sound.yaml", "wrong.yaml"]


def test_standard_input_is_not_fixed(capsys):
    assert main(["check", "sample:eks-p4d", "-", "--fix"]) != 0
    assert "--fix changes files" in capsys.readouterr().err


def test_a_published_article_is_corrected(tmp_path):
    """The template of an article passes `check` once it is corrected."""
    source = SHARED / "repro" / "article-template.yaml"
    if not source.is_file():
        pytest.skip(f"{source} is not there")
    file = tmp_path / "a.yaml"
    file.write_text(source.read_text(encoding="utf-8"))
    assert main(["check", "sample:eks-p4d", str(file)]) == 1
    assert main(["check", "sample:eks-p4d", str(file), "--fix"]) == 0


OWN_CLASS = device_class("nvidia-gpu", "device.driver == 'gpu.nvidia.com'")


@pytest.mark.parametrize("place", ["class.yaml", "classes/class.yaml"])
def test_a_class_in_a_file_beside_it_is_not_replaced(tmp_path, capsys, place):
    claim, own = tmp_path / "claim.yaml", tmp_path / place
    own.parent.mkdir(exist_ok=True)
    claim.write_text(ARTICLE)
    own.write_text(OWN_CLASS)
    main(["check", "sample:eks-p4d", str(claim), "--fix"])
    assert "deviceClassName: nvidia-gpu" in claim.read_text()
    assert f"{own} contains it; give that file as well." in capsys.readouterr().out


WANTS = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec: {devices: {requests: [{name: a, exactly: {deviceClassName: CLASS}}]}}
"""
ALLOCATED = """\
status: {allocation: {devices: {results: [{request: a, driver: x.org, pool: p, device: d}]}}}
"""
AND_OTHER = "{name: a, exactly: {deviceClassName: nvidia-gpu}}, {name: b, exactly: {deviceClassName: fast-disk}}"


@pytest.mark.parametrize(
    "text",
    [
        WANTS.replace("CLASS", "gpu"),
        WANTS.replace("CLASS", "gpu-class"),
        WANTS.replace("CLASS", "vgpu.nvidia.com"),
        WANTS.replace("CLASS", "dranett"),
        WANTS.replace("CLASS", "nvidia-gpu") + ALLOCATED,
        WANTS.replace("{name: a, exactly: {deviceClassName: CLASS}}", AND_OTHER),
        WANTS.replace("CLASS", "nvidia-gpu, selectors: [{cel: {expression: device.driver == 'gpu.example.org'}}]"),
        WANTS.replace("CLASS", "nvidia-gpu, capacity: {requests: {example.org/memory: 1Gi}}"),
    ],
)
def test_a_class_that_may_be_somebodys_own_is_not_replaced(text):
    """A general word, a class that a claim was allocated with, or one beside other unknown classes can be a class."""
    assert fixed(text) == text


def test_a_slip_in_the_domain_is_corrected():
    """The first part of the name is that of a documented class, and no other domain is like this one."""
    text = WANTS.replace("CLASS", "gpu.nvida.com")
    assert fixed(text) == text.replace("nvida", "nvidia")


def test_a_class_that_may_be_somebodys_own_is_suggested(tmp_path):
    """`check` says what may be meant, and what to do if it is not."""
    (tmp_path / "a.yaml").write_text(WANTS.replace("CLASS", "vgpu.nvidia.com"))
    [advice] = [f.advice for f in check_manifests(CLUSTER, read_manifests([tmp_path])).errors]
    assert advice.startswith("Did you mean 'gpu.nvidia.com'? If it is a class of your own")

"""`dra-lab migrate`: the text of the files that it changes, and the folder that it writes."""

import difflib
from pathlib import Path

import pytest
import yaml

from dra_lab import DraLabError, migrate
from dra_lab.cli import main

REPRO = Path(__file__).parents[1] / "repro" / "migrate-comments" / "c.yaml"
HEAD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n"
GPU = "{limits: {nvidia.com/gpu: 1}}"
CLAIMS = [{"name": "devices", "request": "gpu"}]


def migrated(folder, text, name="p.yaml"):
    (folder / name).write_text(text, encoding="utf-8", newline="")
    return migrate([folder / name]).texts[name]


def changed_lines(before, after):
    lines = list(difflib.ndiff(before.splitlines(), after.splitlines()))
    return [line[2:] for line in lines if line[0] == "-"], [line[2:] for line in lines if line[0] == "+"]


def test_the_comment_behind_the_limits_stays(tmp_path):
    before = REPRO.read_text(encoding="utf-8")
    gone, new = changed_lines(before, migrated(tmp_path, before))
    assert [line.strip() for line in gone] == ["limits:", "nvidia.com/gpu: 1"]
    assert [line.strip() for line in new] == [
        *("claims:", "- name: devices", "request: gpu"),
        *("resourceClaims:", "- name: devices", "resourceClaimTemplateName: t-devices"),
    ]


RESOURCES = {
    "flow": "resources: {limits: {cpu: 1, nvidia.com/gpu: 1}, requests: {nvidia.com/gpu: 1}}  # r",
    "flow at the end": "resources: {requests: {cpu: 1}, limits: {nvidia.com/gpu: 1}}",
    "block": "resources:  # a\n      limits:  # b\n        nvidia.com/gpu: 1  # c\n        # d\n        cpu: '1'  # e",
    "quoted": 'resources:\n      limits:\n        "nvidia.com/gpu": "1"  # a\n      requests: {"nvidia.com/gpu": "1"}',
    "claims": "resources:\n      claims:\n      - name: other  # a\n      limits:\n        nvidia.com/gpu: 1",
    "claims in flow": "resources:\n      claims: [{name: other}]  # a\n      limits: {nvidia.com/gpu: 1}",
    "claims null": "resources:\n      limits: {nvidia.com/gpu: 1}\n      claims:",
}


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("resources", RESOURCES.values(), ids=RESOURCES)
def test_every_comment_and_every_other_value_stays(tmp_path, resources, deep):
    item = "  - " if deep else "- "
    inner = resources.replace("\n", "\n  ") if deep else resources
    space = "  " if deep else ""
    before = (
        f"# top\n---\n{HEAD}  containers:  # all\n  {item}name: m\n    {space}{inner}\n  # end\n---\n# last\nkind: X\n"
    )
    after = migrated(tmp_path, before)
    read, was = (next(yaml.safe_load_all(text)) for text in (after, before))
    found, old = (pod["spec"]["containers"][0]["resources"] for pod in (read, was))
    assert found["claims"] == [*(old.get("claims") or []), *CLAIMS]
    for part in ("limits", "requests"):
        rest = {name: amount for name, amount in old.get(part, {}).items() if name != "nvidia.com/gpu"}
        assert found.get(part, {}) == rest
    comments = ["# top", "# all", "# end", "# last", *(f"# {name}" for name in "abcder" if f"# {name}" in before)]
    assert [comment for comment in comments if comment not in after] == []
    assert after.endswith("---\n# last\nkind: X\n")


def test_resources_that_an_anchor_shares_are_refused(tmp_path):
    text = f"{HEAD}  containers:\n  - name: a\n    resources: &r {GPU}\n  - name: b\n    resources: *r\n"
    with pytest.raises(DraLabError, match=r"document 1: .*anchor.*Write the value out"):
        migrated(tmp_path, text)


def test_a_folder_can_be_applied(tmp_path, capsys):
    """A kustomization names every object, and kubectl reads no other file."""
    assert main(["migrate", "sample:h100-pod", str(REPRO), "--dir", str(tmp_path)]) == 0
    capsys.readouterr()
    read = {path.name for path in tmp_path.iterdir() if path.suffix in (".yaml", ".yml", ".json")}
    resources = yaml.safe_load((tmp_path / "kustomization.yaml").read_text(encoding="utf-8"))["resources"]
    assert read == {"kustomization.yaml", *resources} == {"kustomization.yaml", "c.yaml", "t-devices.yaml"}
    assert main(["check", "sample:h100-pod", str(tmp_path)]) == 0


def test_files_of_one_name_are_all_written(tmp_path):
    text = REPRO.read_text(encoding="utf-8")
    for name in ("a/x", "b/x", "c/x"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "app.yaml").write_text(text, encoding="utf-8")
    texts = migrate([tmp_path]).texts
    assert sum("kind: Deployment" in one for one in texts.values()) == 3


@pytest.mark.parametrize(
    ("cluster", "resource", "files"), [("eks-p4d", "nvidia.com/gpu", 0), ("mi300x", "amd.com/gpu", 3)]
)
def test_the_check_that_keep_resource_name_prints_succeeds(tmp_path, capsys, cluster, resource, files):
    work = tmp_path / "work.yaml"
    work.write_text(REPRO.read_text(encoding="utf-8").replace("nvidia.com/gpu", resource), encoding="utf-8")
    made = tmp_path / "kept"
    assert main(["migrate", f"sample:{cluster}", str(work), "--keep-resource-name", "--dir", str(made)]) == 0
    command = capsys.readouterr().out.rpartition("dra-lab ")[2].split()
    assert len([*made.glob("*")]) == files
    assert main(command) == 0

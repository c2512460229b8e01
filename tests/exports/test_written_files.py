"""Manifests in a folder: whole or not at all, never over a person's change."""

from __future__ import annotations

import pytest
import yaml
from test_manifest_text import ON, PAIRS, R136

from dra_lab.errors import ExportError
from dra_lab.exports import files
from dra_lab.exports.manifests import manifest_yaml, write_manifests
from dra_lab.model.sketch import ClaimSketch

NAMES = ["deviceclass-dranet.yaml", "deviceclass-gpu.nvidia.com.yaml", "resourceclaimtemplate.yaml", "pod.yaml"]


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_one_file_an_object(tmp_path):
    paths = write_manifests(tmp_path / "new" / "folder", PAIRS, ON, R136)
    assert [path.name for path in paths] == NAMES
    assert [yaml.safe_load(path.read_text())["kind"] for path in paths[1:]] == [
        "DeviceClass",
        "ResourceClaimTemplate",
        "Pod",
    ]


def test_the_files_say_what_is_shown(tmp_path):
    paths = write_manifests(tmp_path, PAIRS, ON, R136)
    shown = manifest_yaml(PAIRS, ON, R136).text
    assert "---\n".join(path.read_text(encoding="utf-8").split("\n", 1)[1] for path in paths) == shown


def test_writing_again_changes_nothing(tmp_path):
    before = (write_manifests(tmp_path, PAIRS, ON, R136), contents(tmp_path))
    assert (write_manifests(tmp_path, PAIRS, ON, R136), contents(tmp_path)) == before


def test_a_new_drawing_replaces_files_that_nobody_touched(tmp_path):
    write_manifests(tmp_path, PAIRS, ON, R136)
    write_manifests(tmp_path, ClaimSketch(name="pairs", requests=PAIRS.requests), ON, R136)
    assert "constraints" not in (tmp_path / "resourceclaimtemplate.yaml").read_text()


def test_git_may_change_line_ends(tmp_path):
    """With core.autocrlf a checkout has other bytes, and nobody changed anything."""
    write_manifests(tmp_path, PAIRS, ON, R136)
    pod = tmp_path / "pod.yaml"
    pod.write_bytes(pod.read_bytes().replace(b"\n", b"\r\n"))
    write_manifests(tmp_path, ClaimSketch(name="other", requests=PAIRS.requests), ON, R136)
    assert "other-example" in pod.read_text()


@pytest.mark.parametrize(
    "edit",
    [lambda text: text + "# mine\n", lambda text: text.split("\n", 1)[1], lambda _: "kind: Pod\n", lambda _: "\udcff"],
    ids=["line added", "digest removed", "another file", "no text"],
)
def test_a_file_that_a_person_changed_is_never_overwritten_and_nothing_else_is_written(tmp_path, edit):
    write_manifests(tmp_path, PAIRS, ON, R136)
    template = tmp_path / "resourceclaimtemplate.yaml"
    template.write_bytes(edit(template.read_text()).encode("utf-8", "surrogateescape"))
    before = contents(tmp_path)
    with pytest.raises(ExportError, match=r"resourceclaimtemplate\.yaml was changed by somebody"):
        write_manifests(tmp_path, ClaimSketch(name="other", requests=PAIRS.requests), ON, R136)
    assert contents(tmp_path) == before


def test_overwriting_can_be_allowed(tmp_path):
    (tmp_path / "pod.yaml").write_text("mine")
    write_manifests(tmp_path, PAIRS, ON, R136, overwrite=True)
    assert "kind: Pod" in (tmp_path / "pod.yaml").read_text()


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_an_interruption_leaves_each_file_old_or_new_and_no_litter(tmp_path, monkeypatch, step):
    write_manifests(tmp_path, PAIRS, ON, R136)
    old = contents(tmp_path)
    other = ClaimSketch(name="other", requests=PAIRS.requests)
    new = {path.name: path.read_bytes() for path in write_manifests(tmp_path / "new", other, ON, R136)}
    done = []

    def interrupted(real):
        def call(*args):
            if done:
                raise KeyboardInterrupt
            done.append(args)
            return real(*args)

        return call

    owner = files.os if step == "fsync" else files.Path
    monkeypatch.setattr(owner, step, interrupted(getattr(owner, step)))
    with pytest.raises(KeyboardInterrupt):
        write_manifests(tmp_path, other, ON, R136)
    found = contents_of_files(tmp_path)
    assert set(found) == set(old)
    assert all(data in (old[name], new[name]) for name, data in found.items())
    assert (found == old) is (step == "fsync")


def contents_of_files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_folder_that_cannot_be_made_says_which(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ExportError, match="file"):
        write_manifests(tmp_path / "file", PAIRS, ON, R136)


def test_a_folder_in_the_place_of_a_file_is_an_error_of_ours(tmp_path):
    (tmp_path / "pod.yaml").mkdir()
    with pytest.raises(ExportError, match=r"pod\.yaml"):
        write_manifests(tmp_path, PAIRS, ON, R136)

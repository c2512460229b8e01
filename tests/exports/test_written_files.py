"""Manifests in a folder: whole or not at all, never over a person's change."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
import yaml
from test_manifest_text import ON, PAIRS, R136

from dra_lab import ClaimSketch
from dra_lab.errors import ExportError
from dra_lab.exports import written_files
from dra_lab.exports.bundle import make_bundle, write_bundle
from dra_lab.exports.manifests import manifest_yaml
from dra_lab.exports.written_files import RECORD, write_files
from dra_lab.sketch.claim_objects import Target

NAMES = [
    "deviceclass-dranet.yaml",
    "deviceclass-gpu.nvidia.com.yaml",
    "resourceclaimtemplate.yaml",
    "pod.yaml",
    "kustomization.yaml",
    "plan.json",
]


def written(folder, sketch=PAIRS, **more):
    return write_bundle(folder, make_bundle(sketch, ON, Target(R136)), **more)


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_one_file_an_object(tmp_path):
    paths = written(tmp_path / "new" / "folder")
    assert [path.name for path in paths] == NAMES
    assert [yaml.safe_load(path.read_text())["kind"] for path in paths[1:-1]] == [
        "DeviceClass",
        "ResourceClaimTemplate",
        "Pod",
        "Kustomization",
    ]


def test_the_files_say_what_is_shown(tmp_path):
    paths = written(tmp_path)
    shown = manifest_yaml(PAIRS, ON, R136).text
    assert "---\n".join(path.read_text(encoding="utf-8") for path in paths[:-2]) == shown


def test_writing_again_changes_nothing(tmp_path):
    before = (written(tmp_path), contents(tmp_path))
    assert (written(tmp_path), contents(tmp_path)) == before


def test_a_new_drawing_replaces_files_that_nobody_touched(tmp_path):
    written(tmp_path)
    written(tmp_path, ClaimSketch(name="pairs", requests=PAIRS.requests))
    assert "constraints" not in (tmp_path / "resourceclaimtemplate.yaml").read_text()


def test_git_may_change_line_ends(tmp_path):
    """With core.autocrlf a checkout has other bytes, although no person changed the file."""
    written(tmp_path)
    pod = tmp_path / "pod.yaml"
    pod.write_bytes(pod.read_bytes().replace(b"\n", b"\r\n"))
    written(tmp_path, ClaimSketch(name="other", requests=PAIRS.requests))
    assert "other-example" in pod.read_text()


@pytest.mark.parametrize(
    "edit",
    [lambda text: text + "# mine\n", lambda text: text.split("\n", 1)[1], lambda _: "kind: Pod\n", lambda _: "\udcff"],
    ids=["line added", "line removed", "another file", "no text"],
)
def test_a_file_that_a_person_changed_is_never_overwritten_and_nothing_else_is_written(tmp_path, edit):
    written(tmp_path)
    template = tmp_path / "resourceclaimtemplate.yaml"
    template.write_bytes(edit(template.read_text()).encode("utf-8", "surrogateescape"))
    before = contents(tmp_path)
    with pytest.raises(ExportError, match=r"resourceclaimtemplate\.yaml was edited"):
        written(tmp_path, ClaimSketch(name="other", requests=PAIRS.requests))
    assert contents(tmp_path) == before


def test_overwriting_can_be_allowed(tmp_path):
    (tmp_path / "pod.yaml").write_text("mine")
    written(tmp_path, overwrite=True)
    assert "kind: Pod" in (tmp_path / "pod.yaml").read_text()


def test_nothing_of_the_plan_or_of_our_version_is_in_a_manifest(tmp_path):
    """A new version or a changed cluster changes plan.json and no manifest."""
    written(tmp_path)
    for name in NAMES[:-1]:
        text = (tmp_path / name).read_text()
        assert "igest" not in text
        assert "version:" not in text.replace("apiVersion:", "")


def test_the_digests_of_all_files_are_in_the_record(tmp_path):
    written(tmp_path)
    record = json.loads((tmp_path / "plan.json").read_text())
    assert record["files"] == {name: written_files.digest((tmp_path / name).read_text()) for name in NAMES[:-1]}
    assert "replaced" not in record


def test_an_untouched_file_that_is_no_longer_part_of_the_export_goes(tmp_path):
    written(tmp_path)
    written(tmp_path, ClaimSketch(name="pairs", requests=PAIRS.requests[:1]), overwrite=True)
    assert not (tmp_path / "deviceclass-dranet.yaml").exists()


def test_a_file_that_is_left_out_stays_as_it_is(tmp_path):
    """It is neither written nor removed nor called edited later, and by its record it is not of this plan."""
    fewer = ClaimSketch(name="pairs", requests=PAIRS.requests[:1])
    written(tmp_path)
    before = contents(tmp_path)
    left = ("resourceclaimtemplate.yaml", "deviceclass-dranet.yaml")
    paths = written(tmp_path, fewer, without=left)
    assert not {path.name for path in paths} & {*left}
    assert {name: contents(tmp_path)[name] for name in left} == {name: before[name] for name in left}
    recorded = json.loads((tmp_path / "plan.json").read_text())["files"]["resourceclaimtemplate.yaml"]
    assert recorded != written_files.digest(before["resourceclaimtemplate.yaml"].decode())
    written(tmp_path, fewer, overwrite=True)
    assert b"dranet" not in contents(tmp_path)["resourceclaimtemplate.yaml"]


def test_a_changed_file_that_is_no_longer_part_of_the_export_stays(tmp_path):
    written(tmp_path)
    (tmp_path / "deviceclass-dranet.yaml").write_text("mine")
    written(tmp_path, ClaimSketch(name="pairs", requests=PAIRS.requests[:1]))
    assert (tmp_path / "deviceclass-dranet.yaml").read_text() == "mine"


@pytest.mark.parametrize("text", ["mine", "[]", '{"apiVersion": "dra-lab/v1", "files": 3}', '{"apiVersion": "v1"}'])
def test_a_record_that_is_not_ours_is_not_overwritten(tmp_path, text):
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(ExportError, match=r"plan\.json was edited"):
        written(tmp_path)
    assert contents(tmp_path) == {"plan.json": text.encode()}


def test_a_record_cannot_lead_out_of_the_folder(tmp_path):
    """A hostile plan.json that lists `../x` as ours does not get it removed."""
    outside, folder = tmp_path / "x", tmp_path / "folder"
    outside.write_text("mine")
    folder.mkdir()
    record = {"apiVersion": "dra-lab/v1", "files": {"../x": written_files.digest("mine")}}
    (folder / "plan.json").write_text(json.dumps(record))
    written(folder)
    assert outside.read_text() == "mine"


def test_a_folder_that_cannot_be_made_says_which(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ExportError, match="file"):
        written(tmp_path / "file")


def test_a_folder_in_the_place_of_a_file_is_an_error_of_ours(tmp_path):
    (tmp_path / "pod.yaml").mkdir()
    with pytest.raises(ExportError, match=r"pod\.yaml"):
        written(tmp_path)


OLD = {"a.yaml": "a: 1\n" * 2000, "b.yaml": "b: 1\n", "gone.yaml": "gone\n"}
NEW = {"a.yaml": "a: 2\n" * 2000, "b.yaml": "b: 2\n", "c.yaml": "c: 2\n"}
THIRD = {"a.yaml": "a: 3\n", "b.yaml": "b: 3\n", "c.yaml": "c: 3\n"}
STEPS = 14
"""More than the renames, syncs and removals of one export: the last kill comes after its end."""

KILLED_AT = """
import json, os, signal, sys
from pathlib import Path
from dra_lab.exports import written_files

left = int(sys.argv[2])
# The process ends at the first call after these.


def counted(real):
    def call(*args, **kwargs):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return real(*args, **kwargs)

    return call


os.fsync = counted(os.fsync)
Path.replace = counted(Path.replace)
Path.unlink = counted(Path.unlink)
written_files.write_files(Path(sys.argv[1]), json.loads(sys.argv[3]), {"name": "new"}, overwrite=True)
"""


def kill_at(folder, step):
    """Run an export in a process of its own that is killed before its step; return how it ended."""
    command = [sys.executable, "-c", KILLED_AT, str(folder), str(step), json.dumps(NEW)]
    return subprocess.run(command, env=os.environ, check=False).returncode


def visible(folder):
    return {path.name: path.read_text() for path in folder.iterdir() if not path.name.startswith(".")}


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system cannot kill a process at a step")
def test_a_killed_export_leaves_whole_files_and_the_next_one_finishes_it(tmp_path):
    """At every step: each file is the old or the new one, the record can be read, and a third export goes through."""
    ended = []
    for step in range(STEPS):
        folder = tmp_path / str(step)
        write_files(folder, OLD, {"name": "old"})
        ended.append(kill_at(folder, step))
        found = visible(folder)
        assert json.loads(found.pop(RECORD))["name"] in ("old", "new")
        for name, text in found.items():
            assert text in (OLD.get(name), NEW.get(name)), (step, name)
        write_files(folder, THIRD, {"name": "third"}, overwrite=True)
        after = visible(folder)
        assert json.loads(after.pop(RECORD))["name"] == "third"
        assert after == THIRD
        assert not [path for path in folder.iterdir() if path.name.endswith(".tmp")]
    assert ended[0] == -signal.SIGKILL
    assert ended[-1] == 0

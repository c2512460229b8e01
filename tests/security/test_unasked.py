"""A file or a page of a browser contacts no running cluster, and reaches no path outside the notebook's folder."""

from __future__ import annotations

import hashlib
import json
import os
import stat

import pytest
import yaml
from widget_messages import say

import dra_lab
from dra_lab.cli import main

pytest.importorskip("anywidget", reason="needs the widgets")

DRAWING = "apiVersion: dra-lab/v2\nkind: Drawing\ncluster: {}\n"
OUTSIDE = "is not in the notebook's folder"


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """A kubeconfig whose context `prod` runs a program that leaves a file; that file."""
    ran = tmp_path / "ran"
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "touch", "args": [str(ran)]}}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:9"}}],
        "users": [{"name": "u", "user": {**user, "exec": {**user["exec"], "interactiveMode": "Never"}}}],
        "contexts": [{"name": "prod", "context": {"cluster": "c", "user": "u"}}],
    }
    file = tmp_path / "config"
    file.write_text(yaml.safe_dump(config))
    monkeypatch.setenv("KUBECONFIG", str(file))
    return ran


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    """The folder of a notebook, which is the current one."""
    folder = tmp_path / "notebook"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("DRA_LAB_FOLDERS", raising=False)
    return folder


@pytest.fixture
def lab(notebook):
    made = dra_lab.Lab("sample:two-sockets", "sample:two-sockets/lesson", file=None)
    yield made
    made.close()


@pytest.mark.parametrize("cluster", ["context:prod", "'context:'", "' context:prod'"])
def test_a_plan_file_that_names_a_running_cluster_contacts_nothing(cluster, plugin, notebook):
    """Opening it shows the drawing, and a button that names the cluster."""
    (notebook / "plan.dralab.yaml").write_text(DRAWING.format(cluster))
    lab = dra_lab.Lab(file="plan.dralab.yaml")
    asked = lab.bar.ask
    lab.close()
    assert not plugin.exists()
    assert [option[0] for option in asked["options"]] == ["read"]
    assert cluster.strip("' ") in asked["text"]


def test_a_click_reads_the_running_cluster_of_a_plan_file(plugin, notebook):
    """The button contacts it, in a thread."""
    (notebook / "plan.dralab.yaml").write_text(DRAWING.format("context:prod"))
    lab = dra_lab.Lab(file="plan.dralab.yaml")
    say(lab.bar, type="answer", id="read")
    assert lab.bar.loading.wait()
    lab.close()
    assert plugin.exists()


def test_comparing_a_plan_file_contacts_nothing(plugin, notebook):
    """`dra-lab diff` says how to plan on the running cluster that a plan file names."""
    for name in ("a", "b"):
        (notebook / f"{name}.dralab.yaml").write_text(DRAWING.format("context:prod"))
    assert main(["diff", "a.dralab.yaml", "b.dralab.yaml"]) == 2
    assert not plugin.exists()


def outside(notebook):
    """Return names of a file outside of the folder: absolute, relative, through a link, and laid over another file."""
    path = notebook.parent / "secret.yaml"
    path.write_text("{}")
    (notebook / "link").symlink_to(notebook.parent)
    (notebook / "c.json").write_text("{}")
    home = os.path.relpath(path, "/")
    names = [
        str(path),
        "../secret.yaml",
        "link/secret.yaml",
        f"topo:{path}*2",
    ]
    return [*names, f"/{home}", f"~/../{home}", "-", "\0"]


def test_a_page_loads_nothing_from_outside_the_folder(lab, notebook):
    """Whatever form the name has, the message is refused and nothing is read."""
    for name in outside(notebook):
        say(lab.bar, type="load", source=name)
        assert OUTSIDE in lab.bar.refused or "standard input" in lab.bar.refused, name


@pytest.mark.parametrize("field", ["folder", "workload"])
def test_a_page_exports_nothing_to_the_outside(lab, notebook, field):
    """Neither the folder of an export nor its workload may be outside."""
    for name in outside(notebook)[:3]:
        say(lab.plan_view, type="choose-export", **{field: name})
        assert OUTSIDE in lab.plan_view.problem
        assert getattr(lab.session.exporting.choice, field) != name


@pytest.mark.parametrize(("message", "name"), [("write-export", "manifests"), ("write-measure", "manifests-measure")])
def test_a_page_writes_through_no_link(lab, notebook, message, name):
    """A link that came with the folder is not followed to another place."""
    target = notebook.parent / "target"
    target.mkdir()
    (notebook / name).symlink_to(target)
    lab.plan()
    say(lab.plan_view, type="show-export")
    assert lab.session.exporting.wait(60)
    say(lab.plan_view, type=message, **({"allowWorse": True} if message == "write-export" else {}))
    assert OUTSIDE in lab.plan_view.problem
    assert not [*target.iterdir()]


def test_a_page_adds_no_workload_from_the_outside(lab, notebook):
    """A workload of a fleet comes from the folder too."""
    for name in outside(notebook)[:3]:
        say(lab.plan_view, type="add-workload", source=name)
        assert OUTSIDE in lab.plan_view.problem


def test_a_dropped_plan_file_reads_nothing_from_the_outside(lab, notebook):
    """The cluster that it names is read only from the folder."""
    data = DRAWING.format(outside(notebook)[0]).encode()
    say(lab.bar, type="upload", number=1, files=[{"name": "a.dralab.yaml", "size": len(data)}])
    say(lab.bar, type="piece", number=1, buffers=[data])
    assert lab.bar.loading.wait()
    assert OUTSIDE in lab.bar.refused


def test_a_person_can_allow_further_folders(lab, notebook, monkeypatch):
    """A folder in DRA_LAB_FOLDERS may be reached."""
    monkeypatch.setenv("DRA_LAB_FOLDERS", str(notebook.parent))
    say(lab.plan_view, type="choose-export", folder=str(notebook.parent / "manifests"))
    assert lab.session.exporting.choice.folder == str(notebook.parent / "manifests")


def test_python_is_not_confined(lab, notebook):
    """The person's own code writes wherever it says."""
    assert lab.export(notebook.parent / "manifests", allow_worse=True)


ARGUMENTS = ["export", "sample:two-sockets", "--claim", "sample:two-sockets/lesson"]


@pytest.fixture
def folder(tmp_path):
    """A folder whose `plan.json` a stranger wrote: it claims the files beside it as those of an earlier export."""
    texts = {"main.py": "print()\n", "notes.txt": "mine\n", ".env.yaml": "mine\n", "values.yaml": "mine: 1\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    files = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
    (tmp_path / "plan.json").write_text(json.dumps({"apiVersion": "dra-lab/v1", "files": files}))
    return tmp_path


def test_a_foreign_record_removes_nothing_unasked(folder, capsys):
    """A file that would be removed is a refusal, which names the file and the option."""
    before = sorted(folder.iterdir())
    assert main([*ARGUMENTS, "--dir", str(folder)]) == 2
    assert sorted(folder.iterdir()) == before
    said = capsys.readouterr().err
    assert "values.yaml was written by an earlier export" in said
    assert "--overwrite" in said


def test_a_foreign_record_never_removes_what_no_export_can_have_made(folder):
    """Also with the option, only a file with the name of a manifest goes."""
    assert main([*ARGUMENTS, "--dir", str(folder), "--overwrite"]) == 0
    left = {path.name for path in folder.iterdir()}
    assert left >= {"main.py", "notes.txt", ".env.yaml"}
    assert "values.yaml" not in left


@pytest.fixture
def umask():
    before = os.umask(0o077)
    yield
    os.umask(before)


def modes(folder):
    return {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in (folder, *folder.rglob("*"))}


def test_the_umask_is_respected(tmp_path, umask):
    """Neither manifests nor the drawing are opened to other users."""
    assert main([*ARGUMENTS, "--dir", str(tmp_path / "manifests")]) == 0
    session = dra_lab.Session("sample:two-sockets", file=tmp_path / "plan.dralab.yaml")
    session.edit(dra_lab.read_sketch("sample:two-sockets/lesson"))
    session.close()
    assert modes(tmp_path) == {0}


@pytest.mark.parametrize("name", ["snapshot", "snapshot.tar.gz"])
def test_a_snapshot_is_private(tmp_path, name):
    """Whatever the umask is, only the owner reads a snapshot."""
    assert main(["capture", "sample:two-sockets", str(tmp_path / name)]) == 0
    assert modes(tmp_path / name) == {0}

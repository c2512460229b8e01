"""Opening JupyterLab: the notebook, and the message when something is missing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from dra_lab import jupyter_launch


@pytest.fixture
def template(tmp_path, monkeypatch):
    """A template of our own, so that these tests do not depend on what the shipped one says."""
    folder = tmp_path / "shipped"
    folder.mkdir()
    cell = {"cell_type": "code", "id": "plan", "metadata": {}, "outputs": [], "execution_count": None, "source": "lab"}
    content = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}
    (folder / jupyter_launch.TEMPLATE).write_text(json.dumps(content))
    monkeypatch.setattr(jupyter_launch, "notebooks_dir", lambda: folder)
    return content


@pytest.fixture
def folder(tmp_path, template):
    """An empty folder of a person."""
    path = tmp_path / "plans"
    path.mkdir()
    return path


def test_an_empty_folder_gets_a_notebook_that_runs_when_it_opens(folder, template):
    """The template is copied as plan.ipynb; the server gets its name, code and random mark."""
    path, created = jupyter_launch.planner_notebook(folder)
    copied = json.loads(path.read_text())
    assert created == {"path": "plan.ipynb", "mark": copied["metadata"]["dra_lab"]["created"], "source": "lab"}
    assert copied["cells"] == template["cells"]


def test_a_plan_that_is_there_is_opened_as_it_is(folder):
    """A second start opens the same file, does not touch it, and lets nothing run."""
    path, _ = jupyter_launch.planner_notebook(folder)
    path.write_text(path.read_text().replace('"lab"', '"mine"'))
    before = path.read_bytes()
    assert jupyter_launch.planner_notebook(folder) == (path, {})
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", ['{"metadata": {}, "cells": []}', "not JSON", "[]"])
def test_a_notebook_of_that_name_that_is_not_ours_is_left_alone(folder, text):
    """A person's own plan.ipynb stays; ours takes the next name."""
    (folder / "plan.ipynb").write_text(text)
    assert jupyter_launch.planner_notebook(folder)[0].name == "plan-2.ipynb"
    assert (folder / "plan.ipynb").read_text() == text


def test_nothing_half_written_is_left(folder):
    """Only the notebook is in the folder afterwards."""
    jupyter_launch.planner_notebook(folder)
    assert [path.name for path in folder.iterdir()] == ["plan.ipynb"]


def test_without_jupyterlab_the_line_to_install_it_is_printed(folder, monkeypatch, capsys):
    """The message names the extra, and the status says that there was no answer."""
    monkeypatch.setattr(jupyter_launch, "find_spec", lambda name: None)
    assert jupyter_launch.open_lab([], folder) == 2
    assert "pip install 'dra-lab[lab]'" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_an_answer(folder, capsys):
    """A missing folder is told, not thrown."""
    assert jupyter_launch.open_lab([], folder / "absent") == 2
    assert "cannot make a planner notebook" in capsys.readouterr().err


def test_arguments_reach_jupyterlab_as_they_are(folder, monkeypatch):
    """Whatever follows `dra-lab lab` is JupyterLab's, and takes the place of our own option of that name."""
    started = []
    monkeypatch.setattr(jupyter_launch, "_replace_by", lambda command, environment: started.append(command) or 0)
    assert jupyter_launch.open_lab(["--LabApp.news_url=x", "--port", "9999"], folder) == 0
    assert started[0][1:4] == ["-P", "-m", "dra_lab.jupyter_launch"]
    assert started[0][-3:] == ["--LabApp.news_url=x", "--port", "9999"]
    assert "--LabApp.news_url=None" not in started[0]
    assert "--LabApp.default_url=/lab/tree/plan.ipynb" in started[0]


@pytest.fixture
def given_and_ours(folder, monkeypatch, tmp_path):
    """A folder of a person's own defaults, and the defaults of ours that JupyterLab gets behind it."""
    config = pytest.importorskip("traitlets.config.manager", reason="needs traitlets, which comes with JupyterLab")
    environments = []
    monkeypatch.setattr(jupyter_launch, "_replace_by", lambda command, environment: environments.append(environment))
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(tmp_path))
    jupyter_launch.open_lab([], folder)
    given, ours = environments[0]["JUPYTER_CONFIG_PATH"].split(os.pathsep)
    manager = config.BaseJSONConfigManager(config_dir=str(Path(ours) / "labconfig"))
    return given, manager.get("default_setting_overrides")


def test_jupyterlab_asks_nothing_about_news_unless_a_person_wants_them(given_and_ours, tmp_path):
    """The default of its setting is "no" in the environment that JupyterLab gets; a person's own default is kept."""
    given, ours = given_and_ours
    assert (given, ours["@jupyterlab/apputils-extension:notification"]["fetchNews"]) == (str(tmp_path), "false")


def test_messages_of_widgets_come_to_the_main_thread(given_and_ours):
    """JupyterLab's own default would hand them to a thread of their own, beside the cells."""
    _, ours = given_and_ours
    assert ours["@jupyterlab/apputils-extension:kernels-settings"]["commsOverSubshells"] == "disabled"

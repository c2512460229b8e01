"""The public API: its names, their examples, and its version."""

from __future__ import annotations

import doctest
import inspect
import json
import re
import tomllib
from pathlib import Path

import pytest

import dra_lab

ROOT = Path(__file__).parents[1]
NAMES = [
    "Bounded",
    "ClaimCanvas",
    "ClaimSketch",
    "Cluster",
    "ClusterBar",
    "DeviceID",
    "DraLabError",
    "Explanation",
    "Finding",
    "Fit",
    "HardwareView",
    "Headroom",
    "How",
    "KubernetesRelease",
    "Lab",
    "Lesson",
    "Link",
    "Movable",
    "NodeType",
    "Plan",
    "PlanView",
    "PodGroup",
    "Question",
    "Scenario",
    "Session",
    "Workload",
    "chart",
    "check",
    "class_overview",
    "explain",
    "export",
    "frame",
    "hierarchies",
    "how_many_more",
    "largest_job",
    "load_cluster",
    "make_plan",
    "make_room",
    "migrate",
    "nodes_to_add",
    "picture",
    "plan_scenarios",
    "read_sketch",
    "read_workloads",
    "samples",
    "stranded",
    "when_idle",
    "with_more_nodes",
    "without_nodes",
]


def test_a_new_public_name_is_a_conscious_change():
    """The public API has these names and no others, sorted."""
    assert sorted(dra_lab.__all__) == NAMES


def test_every_public_name_opens():
    """Each name is found in its room and says what it is."""
    for name in dra_lab.__all__:
        assert getattr(dra_lab, name).__doc__, name


def test_an_unknown_name_is_an_attribute_error():
    """A misspelt name raises the error that Python raises."""
    assert not hasattr(dra_lab, "load_clutser")


EXAMPLES = [name for name in NAMES if callable(getattr(dra_lab, name))]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_of_a_public_name_runs(name, tmp_path, monkeypatch):
    """The example of a docstring prints what it shows."""
    monkeypatch.chdir(tmp_path)
    example = doctest.DocTestParser().get_doctest(inspect.getdoc(getattr(dra_lab, name)), {}, name, None, 0)
    printed: list[str] = []
    doctest.DocTestRunner(verbose=False).run(example, out=printed.append)
    assert "".join(printed) == ""


def test_the_lines_of_the_readme_run(tmp_path, monkeypatch):
    """A newcomer copies them as they are."""
    monkeypatch.chdir(tmp_path)
    (lines,) = re.findall(
        r"^## In Python\n\n```python\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.M | re.S
    )
    exec(compile(lines, "README.md", "exec"), {})
    assert {path.name for path in (tmp_path / "manifests").iterdir()} >= {"resourceclaimtemplate.yaml", "plan.json"}


@pytest.mark.parametrize("manifest", ["widgets/package.json", "widgets/labextension/package.json"])
def test_python_and_the_browser_have_one_version(manifest):
    """`dra_lab.__version__` is the version of the project and of both packages of the front end."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    front_end = json.loads((ROOT / manifest).read_text(encoding="utf-8"))
    assert {dra_lab.__version__, front_end["version"]} == {project["version"]}


QUESTIONS = [
    "make_plan",
    "how_many_more",
    "largest_job",
    "stranded",
    "nodes_to_add",
    "make_room",
    "explain",
    "plan_scenarios",
]
SAME_KEYWORDS = ["after", "release", "drivers", "time_limit", "progress", "cancel", "solver"]


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_question_has_the_same_keywords(name):
    """A person who knows one question knows the arguments of all."""
    parameters = inspect.signature(getattr(dra_lab, name)).parameters
    assert list(parameters)[:2] == ["cluster", "what"]
    keywords = [key for key, parameter in parameters.items() if parameter.kind is parameter.KEYWORD_ONLY]
    assert [key for key in keywords if key in SAME_KEYWORDS] == SAME_KEYWORDS


def test_a_public_value_is_shown_in_a_line_and_is_a_key():
    """Answers and what they hold stay readable in a cell, in a list, and as keys of a dictionary."""
    cluster = dra_lab.load_cluster("sample:h100-pod")
    pairs = dra_lab.read_sketch("sample:h100-pod/eight-pairs")
    train, like = dra_lab.Workload("train", pairs, replicas=30, count=2, level="rack"), dra_lab.NodeType.like("h100-09")
    plan, more = dra_lab.make_plan(cluster, pairs), dra_lab.how_many_more(cluster, pairs)
    values = [
        cluster,
        pairs,
        pairs.links[0],
        train,
        train.pods[0],
        plan,
        plan.question,
        plan.pods[0],
        plan.goals[0],
        like,
    ]
    values += [more, more.where[0], more.count, dra_lab.largest_job(cluster, pairs), dra_lab.stranded(cluster, pairs)]
    values += [
        dra_lab.nodes_to_add(cluster, pairs, [like]),
        dra_lab.Movable(labels={"a": "b"}),
        plan.placements[0].device,
    ]
    values += [dra_lab.explain(cluster), dra_lab.KubernetesRelease("1.36"), dra_lab.Scenario("idle", cluster)]
    values += [*dra_lab.hierarchies(cluster), session := dra_lab.Session(cluster)]
    session.close()
    for value in values:
        assert {value: repr(value)}[value].count("\n") == 0
        assert len(repr(value)) < 150, value

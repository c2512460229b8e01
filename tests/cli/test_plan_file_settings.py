"""A plan file's own node, release and goals count on the command line as they do in a notebook."""

from __future__ import annotations

import json

import pytest
import yaml

from dra_lab import Movable, Session, load_cluster
from dra_lab.cli import main
from dra_lab.errors import DraLabError
from dra_lab.manifests.plan_files import encode_drawing
from dra_lab.model.layers import Layer
from dra_lab.model.sketch import Drawing, GangDrawing, PodDrawing
from dra_lab.session import read_sketch
from dra_lab.sources.samples import samples

CLUSTER = "sample:eks-p4d"
NODES = load_cluster(CLUSTER).node_names
PAIRS = f"{CLUSTER}/gpu-nic-pairs"
DRAWN = [f"sample:{sample.name}/{example}" for sample in samples() for example in sample.examples]


def plan_file(folder, **settings):
    """Write the shipped pairs with settings of their own; return the path."""
    path = folder / "pin.dralab.yaml"
    path.write_text(encode_drawing(Drawing(sketch=read_sketch(PAIRS), **settings)))
    return path


def answer(capsys, *words):
    """Return what `plan -o json` says, without what differs from run to run."""
    main(["plan", *words, "-o", "json"])
    return json.loads(capsys.readouterr().out)


def of_notebook(path, cluster):
    session = Session(cluster, file=path, time_limit=60.0)
    try:
        return session.plan()
    finally:
        session.close()


def compared(found):
    return found["status"], found["node"], found["release"], [goal["goal"] for goal in found["goals"]]


def of_plan(plan):
    return plan.status.value, plan.node, plan.release, [goal.goal for goal in plan.goals]


@pytest.mark.some(8)
@pytest.mark.parametrize("settings", [{}, {"node": NODES[1], "release": "1.35", "goals": ["roots"]}], ids=["", "set"])
@pytest.mark.parametrize("drawn", DRAWN)
def test_notebook_and_command_line_answer_alike(drawn, settings, tmp_path, capsys):
    sample = drawn.partition("/")[0]
    known = {**settings, "node": load_cluster(sample).node_names[0]} if settings else {}
    path = tmp_path / "plan.dralab.yaml"
    path.write_text(encode_drawing(Drawing(sketch=read_sketch(drawn), **known)))
    assert compared(answer(capsys, sample, "--claim", str(path))) == of_plan(of_notebook(path, sample))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], (NODES[1], "1.35", "roots")),
        (["--node", NODES[2]], (NODES[2], "1.35", "roots")),
        (["--release", "1.37"], (NODES[1], "1.37.1", "roots")),
        (["--goals", "damage"], (NODES[1], "1.35", "damage")),
    ],
)
def test_an_option_comes_before_the_plan_file(words, expected, tmp_path, capsys):
    path = plan_file(tmp_path, node=NODES[1], release="1.35", goals=("roots",))
    found = answer(capsys, CLUSTER, "--claim", str(path), *words)
    assert (found["node"], found["release"], found["goals"][2]["goal"]) == expected


DRAINED = (Layer(change="drain", subject=NODES[0]),)


@pytest.mark.parametrize("command", ["plan", "explain", "export", "draw", "replicas"])
def test_the_what_if_changes_of_a_plan_file_are_made_and_said(command, tmp_path, capsys):
    path, out = plan_file(tmp_path, layers=DRAINED), tmp_path / "out"
    more = {
        "export": ["--dir", str(out), "--allow-worse"],
        "draw": ["--file", str(out.with_suffix(".svg"))],
        "replicas": ["--replicas", "2"],
    }
    name = "plan" if command == "replicas" else command
    main([name, CLUSTER, "--claim", str(path), *more.get(command, [])])
    answered = capsys.readouterr().out
    assert f"What if, from {path}: Drain {NODES[0]}." in " ".join(answered.split())


def test_what_if_options_replace_those_of_the_plan_file(tmp_path, capsys):
    path = plan_file(tmp_path, layers=DRAINED)
    found = answer(capsys, CLUSTER, "--claim", str(path), "--idle")
    assert [layer["option"] for layer in found["layers"]] == ["--idle"]


def test_a_release_among_the_what_if_changes_is_planned_for(tmp_path, capsys):
    path = plan_file(tmp_path, release="1.35", layers=(Layer(change="release", subject="1.37"),))
    assert answer(capsys, CLUSTER, "--claim", str(path))["release"] == "1.37.1"


def test_a_what_if_change_that_the_cluster_cannot_have_is_refused_where_it_stands(tmp_path, capsys):
    path = plan_file(tmp_path, layers=(Layer(change="drain", subject="nowhere"),))
    assert main(["plan", CLUSTER, "--claim", str(path)]) == 2
    said = capsys.readouterr().err
    assert [part for part in (str(path), "layers[0]", "nowhere") if part not in said] == []


NONSENSE = [
    ("release", "1.99", "1.37"),
    ("goals", ["roots", "nope"], "unpaired"),
    ("node", "nowhere", NODES[0]),
]


def broken(folder, field, value):
    path = plan_file(folder)
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), field: value}))
    return path


@pytest.mark.parametrize("command", ["plan", "export"])
@pytest.mark.parametrize(("field", "value", "known"), NONSENSE)
def test_nonsense_in_a_plan_file_is_refused_where_it_stands(field, value, known, command, tmp_path, capsys):
    path = broken(tmp_path, field, value)
    more = ["--dir", str(tmp_path / "out")] if command == "export" else []
    assert main([command, CLUSTER, "--claim", str(path), *more]) == 2
    said = capsys.readouterr().err
    assert [part for part in (str(path), field, known, "remove") if part not in said] == []
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("field", "value", "known"), NONSENSE)
def test_a_notebook_gives_no_answer_to_nonsense_either(field, value, known, tmp_path):
    path = broken(tmp_path, field, value)
    with pytest.raises(DraLabError):
        of_notebook(path, CLUSTER)


def test_a_pinned_node_that_is_gone_is_a_problem_that_a_choice_solves(tmp_path):
    session = Session(CLUSTER, file=plan_file(tmp_path, node="nowhere"))
    said = session.problem
    session.pin("")
    fits = session.plan().fits
    session.close()
    assert ("nowhere" in said, fits) == (True, True)


def test_replicas_of_a_pinned_plan_file_stay_on_its_node(tmp_path, capsys):
    path = plan_file(tmp_path, node=NODES[1])
    found = answer(capsys, CLUSTER, "--claim", str(path), "--replicas", "2")
    assert {pod["node"] for page in found["pods"]["pages"] for pod in page} == {NODES[1]}


def test_plan_files_that_differ_need_the_option(tmp_path, capsys):
    (tmp_path / "other").mkdir()
    one, two = plan_file(tmp_path, release="1.36"), plan_file(tmp_path / "other", release="1.37")
    words = ["plan", CLUSTER, "--claim", str(one), "--claim", str(two)]
    assert main(words) == 2
    assert "--release" in capsys.readouterr().err
    assert main([*words, "--release", "1.36"]) == 0


def test_the_rails_of_a_gang_in_a_plan_file_are_those_of_the_option(tmp_path, capsys):
    """`same` in the file and `--same` are one question; an option comes first."""
    sketch = read_sketch("tests/golden/inputs/two-pairs.dralab.yaml")
    gang = GangDrawing(size=3, level="leaf switch", same=("rail",))
    path = tmp_path / "rails.dralab.yaml"
    path.write_text(encode_drawing(Drawing(workloads=(PodDrawing(pod="two-pairs", claims=(sketch,), gang=gang),))))
    of_file = answer(capsys, "sample:h100-pod", "--claim", str(path))["same"]
    assert {row["attribute"] for row in of_file} == {"dra.net/pciAddress"}
    first = answer(capsys, "sample:h100-pod", "--claim", str(path), "--same", "dra.net/ifName")["same"]
    assert {row["attribute"] for row in first} == {"dra.net/ifName"}


def test_the_pods_that_may_move_in_a_plan_file_are_those_of_the_options(tmp_path, capsys):
    path = tmp_path / "room.dralab.yaml"
    sketch = read_sketch("sample:h100-busy/eight-pairs")
    path.write_text(encode_drawing(Drawing(sketch=sketch, movable=Movable(namespaces=("batch",)))))
    asked = ("sample:h100-busy", "--claim", str(path), "--make-room")
    assert "moves" not in answer(capsys, *asked)
    both = ("--movable-namespace", "batch", "--movable-namespace", "serving")
    assert len(answer(capsys, *asked, *both)["moves"]) == 2


CLAIM = ["--claim", f"{CLUSTER}/gpu-nic-pairs"]


def changed_answer(capsys, command: str, *words: str) -> dict[str, object]:
    """Return the JSON of a command about the pairs."""
    main([command, CLUSTER, *CLAIM, *words, "-o", "json"])
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    "words", [["plan"], ["plan", "--replicas", "2"], ["export", "--dir", "out"]], ids=["plan", "fleet", "export"]
)
def test_json_lists_the_changes_in_their_order(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    command, *more = words
    layers = changed_answer(capsys, command, *more, "--idle", "--drain", NODES[0])["layers"]
    assert [layer["option"] for layer in layers] == ["--idle", f"--drain {NODES[0]}"]


@pytest.mark.parametrize("detail", [[], ["-q"], ["-v"]])
def test_text_names_the_changes_after_the_answer(detail, capsys):
    main(["plan", CLUSTER, *CLAIM, "--idle", *detail])
    assert capsys.readouterr().out.splitlines()[2] == "What if: Nothing in use."


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--drain", NODES[0][:-1]], f"did you mean {NODES[0]!r}?"),
        (["--add", NODES[0]], "write N=NODE"),
        (["--without", "gpu-0"], "write driver/pool/device"),
    ],
)
def test_a_change_that_cannot_be_made_says_what_can(words, said, capsys):
    assert (main(["plan", CLUSTER, *CLAIM, *words]), said in capsys.readouterr().err) == (2, True)

"""`dra-lab diff`: two plans of every kind of file, the exit status, and what cannot be compared."""

from __future__ import annotations

import json

import pytest

from dra_lab.cli import main

EKS = ["sample:eks-p4d", "--claim", "sample:eks-p4d/gpu-nic-pairs"]


@pytest.fixture
def one(tmp_path, capsys):
    """The JSON of a plan."""
    main(["plan", *EKS, "-o", "json"])
    path = tmp_path / "one.json"
    path.write_text(capsys.readouterr().out)
    return path


def test_folders_of_exports_differ_by_their_manifests(tmp_path, capsys):
    for option in ("--pin", "--allow-worse"):
        assert main(["export", *EKS, "--dir", str(tmp_path / option[2:]), option]) == 0
    capsys.readouterr()
    assert main(["diff", str(tmp_path / "pin"), str(tmp_path / "allow-worse")]) == 1
    assert "matchAttribute" in capsys.readouterr().out


def test_a_plan_file_is_planned_on_its_cluster(one, tmp_path, capsys):
    """Its drawing is the claim of the JSON, and so is its answer."""
    from dra_lab.session import Session, read_sketch

    file = tmp_path / "drawn.dralab.yaml"
    session = Session("sample:eks-p4d", sketch=read_sketch(EKS[-1]), file=file)
    session.comparing.keep(session.plan(), "first")
    session.comparing.wait()
    session.close()
    assert main(["diff", str(file), f"{file}#first"]) == 0, capsys.readouterr().out


@pytest.mark.parametrize("text", ["", "[1]", "{}", '{"kind": "Plan"}', '{"kind": "FleetPlan"}', "no json"])
def test_what_is_no_plan_cannot_be_compared(one, tmp_path, text, capsys):
    (tmp_path / "bad.json").write_text(text)
    assert main(["diff", str(one), str(tmp_path / "bad.json")]) == 2
    assert "bad.json" in capsys.readouterr().err


def test_an_unknown_kept_plan_is_named(tmp_path, capsys):
    (tmp_path / "x.dralab.yaml").write_text("apiVersion: dra-lab/v2\nkind: Drawing\n")
    drawing = f"{tmp_path / 'x.dralab.yaml'}#one"
    assert main(["diff", drawing, drawing]) == 2
    assert "no kept plan 'one'" in capsys.readouterr().err


def gangs(path, size: int, level: str, capsys) -> str:
    """Write the JSON of a plan of gangs, and return the path."""
    claim = ["--claim", "sample:h100-pod/eight-pairs", "--gang", str(size), "--level", level]
    main(["plan", "sample:h100-pod", *claim, "-o", "json"])
    path.write_text(capsys.readouterr().out)
    return str(path)


def test_other_devices_of_the_same_nodes_are_a_difference(tmp_path, capsys):
    gangs(tmp_path / "a.json", 2, "leaf switch", capsys)
    plan = json.loads((tmp_path / "a.json").read_text())
    pod = plan["pods"]["pages"][0][0]
    first, *others = pod["devices"]
    pod["devices"] = [{**first, "device": "gpu-99"}, *others]
    (tmp_path / "b.json").write_text(json.dumps(plan))
    assert main(["diff", str(tmp_path / "a.json"), str(tmp_path / "b.json")]) == 1


FILE = """
apiVersion: dra-lab/v2
kind: Drawing
cluster: sample:h100-pod
workloads:
- pod: train
  replicas: 2
  claims: [{name: gpus, requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 8}}]}]
  gang: {size: 3, level: leaf switch}
"""


def test_plan_files_with_gangs_are_planned_and_compared(tmp_path, capsys):
    files = [tmp_path / "a.dralab.yaml", tmp_path / "b.dralab.yaml"]
    for file, size in zip(files, ("3", "2"), strict=True):
        file.write_text(FILE.replace("size: 3", f"size: {size}"))
    assert main(["diff", *map(str, files), "-o", "json"]) == 1
    rows = {row["row"]: row["values"] for row in json.loads(capsys.readouterr().out)["rows"]}
    assert (rows["gangs"], rows["placed"], rows["proof"]) == (["2 of 2"] * 2, ["6 of 6", "4 of 4"], ["0", "0"])
    assert [len(domains.split("), ")) for domains in rows["domains"]] == [2, 2]


def test_gangs_that_may_still_fit_are_a_range(tmp_path, capsys):
    gangs(tmp_path / "a.json", 2, "leaf switch", capsys)
    plan = json.loads((tmp_path / "a.json").read_text())
    plan["workloads"][0]["replicas"] = 3
    for goal in plan["goals"]:
        goal |= {"proven": False, "bound": 1 if goal["goal"] == "gangs" else goal["bound"]}
    (tmp_path / "b.json").write_text(json.dumps(plan))
    main(["diff", str(tmp_path / "a.json"), str(tmp_path / "b.json"), "-o", "json"])
    rows = {row["row"]: row["values"] for row in json.loads(capsys.readouterr().out)["rows"]}
    assert rows["gangs"] == ["1 of 1", "1 to 2 of 3"]

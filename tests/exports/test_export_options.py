"""The options of `dra-lab export`: one spelling each."""

import json

import pytest

from dra_lab.cli import main
from dra_lab.exports.simulation import exit_status

APART = """\
apiVersion: dra-lab/v1
kind: Drawing
sketch:
  name: apart
  requests:
  - {name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}
  links:
  - {name: link, requests: [gpu], where: numaNode, how: apart, must: true}
"""
MANY = """\
apiVersion: dra-lab/v1
kind: Drawing
sketch:
  name: many
  requests:
  - {name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 2000000000}}
  - {name: nic, exactly: {deviceClassName: dranet, count: 2000000000}}
"""
CLAIM = ["sample:eks-p4d", "--claim", "sample:eks-p4d/gpu-nic-pairs"]


def test_the_folder_and_the_pins_are_named_dir_and_pin(tmp_path, capsys):
    """`--dir` names the folder, and `--pin` adds pins."""
    assert main(["export", *CLAIM, "--dir", str(tmp_path), "--pin"]) == 0, capsys.readouterr().err
    assert "pins" in (tmp_path / "plan.json").read_text()


@pytest.mark.parametrize("former", ["--output", "-o", "--tighten"])
def test_former_spellings_are_refused(former, tmp_path, capsys):
    """An option has one spelling and no alias."""
    more = [str(tmp_path / "other")] if former != "--tighten" else []
    with pytest.raises(SystemExit) as ended:
        main(["export", *CLAIM, "--dir", str(tmp_path), former, *more])
    assert (ended.value.code, former in capsys.readouterr().err) == (2, True)


@pytest.mark.parametrize("option", ["--allow-worse", "--pin"])
def test_what_is_written_is_accepted_or_pinned(option, tmp_path):
    """Without pins first fit spans two NUMA nodes; --allow-worse accepts that, and pins prevent it."""
    assert main(["export", *CLAIM, "--dir", str(tmp_path), option]) == 0
    answer = json.loads((tmp_path / "plan.json").read_text())["answer"]
    assert (answer["outcome"], answer["asPlanned"]) == ("fits", option == "--pin")


def test_a_manifest_that_misses_the_plan_is_not_written(tmp_path, capsys):
    """Status 1, no folder, and a sentence that names what kube-scheduler does and both ways on."""
    assert main(["export", *CLAIM, "--dir", str(tmp_path / "out")]) == 1
    assert not (tmp_path / "out").exists()
    said = capsys.readouterr().err
    assert "nothing is written. kube-scheduler allocates devices with 2 NUMA nodes on a node like" in said
    assert "Use --pin to pin the plan, or --allow-worse" in said


def test_a_must_link_that_is_not_kept_sets_status_1(tmp_path):
    """These GPUs publish no NUMA node, so that no constraint keeps them apart; selectors of their own values do."""
    claim = tmp_path / "apart.dralab.yaml"
    claim.write_text(APART)
    command = ["export", "sample:eks-p4d", "--claim", str(claim), "--replicas", "3", "--dir"]
    assert main([*command, str(tmp_path / "plain")]) == 1
    assert main([*command, str(tmp_path / "pinned"), "--pin"]) == 0


@pytest.mark.parametrize(
    ("outcome", "as_planned", "status", "allowed"),
    [
        ("fits", True, 0, 0),
        ("fits", False, 1, 0),
        ("fits", None, 2, 0),
        ("does-not-fit", False, 1, 1),
        ("stopped", None, 2, 2),
    ],
)
def test_the_exit_status_follows_from_the_recorded_answer(outcome, as_planned, status, allowed):
    """0 as planned, 1 not, 2 not decided; --allow-worse accepts what is worse, never what does not fit."""
    answer = {"outcome": outcome, "asPlanned": as_planned, "reasons": []}
    assert (exit_status(answer), exit_status(answer, allow_worse=True)) == (status, allowed)


@pytest.mark.parametrize("how", ["", "pairwise", "apart"])
def test_a_count_of_any_size_ends_with_an_answer(how, tmp_path, capsys):
    """2,000,000,000 devices do not fit: status 1 and the limit of a claim, at once and without a traceback."""
    claim = tmp_path / "many.dralab.yaml"
    link = f"  links:\n  - {{name: link, requests: [gpu, nic], where: pcieRoot, how: {how}, must: true}}\n"
    claim.write_text(MANY + (link if how else ""))
    assert main(["export", "sample:eks-p4d", "--claim", str(claim), "--dir", str(tmp_path / "out"), "--pin"]) == 1
    assert "a claim can contain at most 32" in capsys.readouterr().err

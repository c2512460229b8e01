"""The options of `dra-lab export`: one spelling each."""

import pytest

from dra_lab.cli import main

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

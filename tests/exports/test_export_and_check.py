"""`check` gives the same answer on every exported folder as `export` gave."""

from __future__ import annotations

import pytest

from dra_lab.cli import main
from dra_lab.shipped import samples_dir

DRAWINGS = sorted(
    f"sample:{path.parents[1].name}/{path.name.removesuffix('.dralab.yaml')}"
    for path in samples_dir().glob("*/examples/*.dralab.yaml")
)
SOME = DRAWINGS[::3]


def statuses(tmp_path, capsys, claim, *options):
    """Export, then check the folder, both with and without --allow-worse; return (exported, checked) of each."""
    cluster, folder = claim.partition("/")[0], tmp_path / "out"
    found = []
    for allowed in (["--allow-worse"], []):
        exported = main(["export", cluster, "--claim", claim, "--dir", str(folder), *options, *allowed])
        found.append((exported, main(["check", cluster, str(folder), *allowed])))
    capsys.readouterr()
    return found


@pytest.mark.long
@pytest.mark.parametrize("claim", SOME)
@pytest.mark.parametrize("options", [[], ["--pin"]], ids=" ".join)
def test_check_repeats_the_answer_of_export(claim, options, tmp_path, capsys):
    """For an example of every third sample: one claim, without and with pins."""
    assert all(exported == checked for exported, checked in statuses(tmp_path, capsys, claim, *options))


@pytest.mark.long
@pytest.mark.parametrize("claim", DRAWINGS)
@pytest.mark.parametrize(
    "options",
    [["--replicas", "3"], ["--replicas", "3", "--pin"]],
    ids=" ".join,
)
def test_check_repeats_the_answer_of_every_export(claim, options, tmp_path, capsys):
    """For every drawing of every sample, with more replicas."""
    assert all(exported == checked for exported, checked in statuses(tmp_path, capsys, claim, *options))

"""How much of an answer `dra-lab plan` prints: the short form, everything with -v, the sentences with -q."""

from __future__ import annotations

import json

import pytest

from dra_lab.cli import main

EKS = "sample:eks-p4d"
FITS = ["plan", EKS, "--claim", f"{EKS}/gpu-nic-pairs"]
MISFIT = ["plan", EKS, "--claim", f"{EKS}/five-pairs"]
HGX = "sample:dgx-h100"
REPLICAS = ["plan", HGX, "--claim", f"{HGX}/gpu-nic-cpu", "--replicas"]


def printed(capsys, *arguments: str) -> str:
    """Return the standard output of a command."""
    main(list(arguments))
    return capsys.readouterr().out


@pytest.mark.parametrize("command", [FITS, MISFIT, [*REPLICAS, "3"]], ids=["fits", "misfit", "replicas"])
def test_quiet_prints_the_sentences_of_the_answer(command, capsys):
    """With -q the answer is the first line of the short form, and nothing else."""
    first = printed(capsys, *command).splitlines()[0]
    assert printed(capsys, *command, "-q") == f"{first}\n"


@pytest.mark.parametrize("option", ["-q", "-v"])
@pytest.mark.parametrize("command", [FITS, MISFIT, [*REPLICAS, "3"]], ids=["fits", "misfit", "replicas"])
def test_json_is_the_same_with_every_option(command, option, capsys):
    """How much text is wanted does not change JSON."""
    plain, other = (json.loads(printed(capsys, *command, "-o", "json", *more)) for more in ([], [option]))
    assert without_times(plain) == without_times(other)


def without_times(value: object) -> object:
    """Return JSON without what depends on the speed of the machine."""
    if isinstance(value, dict):
        return {key: without_times(one) for key, one in value.items() if "second" not in key.lower()}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def test_quiet_and_verbose_exclude_each_other(capsys):
    """An answer cannot be printed in both ways."""
    with pytest.raises(SystemExit) as ended:
        main([*FITS, "-q", "-v"])
    assert (ended.value.code, "not allowed with" in capsys.readouterr().err) == (2, True)

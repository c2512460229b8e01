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


def headings(text: str) -> list[str]:
    """Return the first line of each part of an answer, without the sentences."""
    return [part.splitlines()[0] for part in text.strip().split("\n\n")[1:]]


def test_a_plan_has_its_devices_and_the_option_for_more(capsys):
    """The short form of a plan that fits is the sentence, the devices, and one line that names -v."""
    devices, more = headings(printed(capsys, *FITS))
    assert (devices.partition(" on ")[0], more.partition(" ")[0]) == ("Devices", "-v")


def test_verbose_prints_goals_bandwidth_and_nodes(capsys):
    """With -v the proof of every goal, the bandwidth and the nodes are printed as well."""
    words = [heading.split()[0] for heading in headings(printed(capsys, *FITS, "-v"))]
    assert words == ["You", "Devices", "Goals,", "Bandwidth", "Sources", "Nodes"]


@pytest.mark.parametrize("command", [FITS, MISFIT, [*REPLICAS, "3"]], ids=["fits", "misfit", "replicas"])
def test_quiet_prints_the_sentences_of_the_answer(command, capsys):
    """With -q the answer is the first line of the short form, and nothing else."""
    first = printed(capsys, *command).splitlines()[0]
    assert printed(capsys, *command, "-q") == f"{first}\n"


def test_a_misfit_has_its_first_cause_and_suggestions(capsys):
    """What is in the way and what helps is printed without -v."""
    *words, more = headings(printed(capsys, *MISFIT))
    assert (words, more.partition(" ")[0]) == (["What is in the way", "Suggestions"], "-v")


def test_replicas_have_workloads_nodes_and_how_many_more_fit(capsys):
    """The short form of replicas says where they run and how many more fit."""
    words = [heading.split()[0] for heading in headings(printed(capsys, *REPLICAS, "3"))]
    assert words == ["Workloads", "Nodes", "How", "-v"]


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


@pytest.mark.parametrize("option", ["-q", "-v"])
def test_the_exit_status_is_the_same_with_every_option(option, capsys):
    """A misfit ends with status 1, however much of it is printed."""
    assert (main([*MISFIT, option]), main(MISFIT)) == (1, 1), capsys.readouterr().err


def test_quiet_and_verbose_exclude_each_other(capsys):
    """An answer cannot be printed in both ways."""
    with pytest.raises(SystemExit) as ended:
        main([*FITS, "-q", "-v"])
    assert (ended.value.code, "not allowed with" in capsys.readouterr().err) == (2, True)

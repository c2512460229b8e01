"""`dra-lab plan --gang`: where a gang fits, what each domain lacks, how many more fit, and what schedulers find."""

from __future__ import annotations

import json

import pytest

from dra_lab.cli import main

POD = "sample:h100-pod"
PAIRS = f"{POD}/eight-pairs"
LEAF = ["--level", "leaf switch"]


def planned(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str, str]:
    """Run the command on the sample; return its status and what it printed."""
    status = main(["plan", POD, "--claim", *(options or (PAIRS,))])
    found = capsys.readouterr()
    return status, found.out, found.err


def answer(capsys: pytest.CaptureFixture[str], *options: str):
    """Return the JSON of the command on the sample."""
    return json.loads(planned(capsys, *options, "-o", "json")[1])


@pytest.mark.parametrize("place", ["1=h100-01@h100-05", "4=h100-01@h100-05/h100-pod/leaf switch"])
def test_nodes_are_added_next_to_a_node(capsys, place):
    """`--add N=NODE@NEAR` puts them below the leaf switch of NEAR, or below a new one next to it."""
    status, out, _ = planned(capsys, PAIRS, "--gang", "4", *LEAF, "--add", place)
    assert (status, out.splitlines()[0].split(": ")[1]) == (0, "4 pods on 4 nodes. Every goal is proven optimal.")


@pytest.mark.parametrize(
    ("level", "prefer", "wanted"),
    [("leaf switch", "spine", 1), ("spine", "spine", 1), ("host", "leaf switch", 1), ("spine", "leaf switch", 0)],
)
def test_a_preferred_level_outside_the_required_one_is_remarked(capsys, level, prefer, wanted):
    """All pods are in one domain of it anyway."""
    found = answer(capsys, PAIRS, "--gang", "2", "--level", level, "--prefer-level", prefer)
    assert [one["rule"] for one in found["findings"]].count("gang-prefer-level") == wanted


def test_an_unknown_level_is_reported_with_the_levels_of_the_cluster(capsys):
    """A part of a name finds the level."""
    status, _, err = planned(capsys, PAIRS, "--gang", "3", "--level", "leaf")
    assert (status, err) == (
        2,
        (
            "error: there is no level 'leaf' in the cluster; did you mean 'leaf switch'? "
            "Its levels are: spine, leaf switch, zone [dra-lab help input-error]\n"
        ),
    )


def test_a_level_may_be_a_label_or_name_its_hierarchy(capsys):
    """All three spellings are one level."""
    spellings = ["leaf switch", "topology.example.com/leaf", "h100-pod:leaf switch"]
    assert {planned(capsys, PAIRS, "--gang", "3", "--level", one, "-q")[1] for one in spellings} == {
        "The gang fits in spine-1/leaf-2: 3 pods on 3 nodes. Every goal is proven optimal.\n"
    }


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([PAIRS, *LEAF], "--level is for a gang"),
        ([PAIRS, "--gang", "3", "--node", "h100-01"], "--node is for one claim"),
        ([PAIRS, "--gang", "3", "--goals", "numa"], "--goals is not for gangs"),
        ([PAIRS, "--gang", "3", "--objective", "nodes"], "--objective is for replicas"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, expected, capsys):
    """The message says what to do instead."""
    status, _, err = planned(capsys, *options)
    assert (status, expected in err) == (2, True)


@pytest.mark.parametrize(
    "words",
    [
        ["--gang", "3", "--claim", PAIRS],
        ["--claim", PAIRS, "--gang", "3", "--gang", "4"],
        ["--claim", PAIRS, "--gang", "0"],
    ],
)
def test_options_of_a_claim_come_after_it_once(words, capsys):
    """As --replicas does."""
    with pytest.raises(SystemExit) as ended:
        main(["plan", POD, *words])
    assert (ended.value.code, "--gang" in capsys.readouterr().err) == (2, True)


def test_an_unknown_queue_leaves_the_answer_about_devices(capsys):
    """The warning names the queues of the cluster."""
    status, _, err = planned(capsys, PAIRS, "--gang", "3", *LEAF, "--queue", "trian")
    assert (status, "there is no LocalQueue and no ClusterQueue 'trian'" in err) == (0, True)

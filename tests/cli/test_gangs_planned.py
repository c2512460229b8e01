"""`dra-lab plan --gang`: where a gang fits, what each domain lacks, how many more fit, and what schedulers find."""

from __future__ import annotations

import json

import pytest

from dra_lab.cli import main
from dra_lab.manifests.plan_files import encode_drawing
from dra_lab.model.sketch import Drawing, GangDrawing, PodDrawing
from dra_lab.session import read_sketch

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


def test_a_gang_that_fits_names_its_domain(capsys):
    """The first sentence says where, and that nothing better exists."""
    status, out, _ = planned(capsys, PAIRS, "--gang", "3", *LEAF)
    assert (status, out.splitlines()[0]) == (
        0,
        "The gang fits in spine-1/leaf-2: 3 pods on 3 nodes. Every goal is proven optimal.",
    )


def test_a_gang_that_fits_nowhere_names_the_domain_that_comes_closest(capsys):
    """No leaf switch of the sample has four idle servers."""
    status, out, _ = planned(capsys, PAIRS, "--gang", "4", *LEAF)
    assert (status, out.splitlines()[0]) == (
        1,
        "No leaf switch has all 4 pods of the gang, proven. spine-1/leaf-2 has 3.",
    )


def test_a_misfit_says_which_nodes_would_help(capsys):
    """One server more below leaf-2, and no fewer."""
    out = planned(capsys, PAIRS, "--gang", "4", *LEAF)[1]
    text = "It fits with 1 more node like h100-01 in spine-1/leaf-2, if there are places for them; fewer do not suffice"
    assert text in out


@pytest.mark.parametrize("place", ["1=h100-01@h100-05", "4=h100-01@h100-05/h100-pod/leaf switch"])
def test_nodes_are_added_next_to_a_node(capsys, place):
    """`--add N=NODE@NEAR` puts them below the leaf switch of NEAR, or below a new one next to it."""
    status, out, _ = planned(capsys, PAIRS, "--gang", "4", *LEAF, "--add", place)
    assert (status, out.splitlines()[0].split(": ")[1]) == (0, "4 pods on 4 nodes. Every goal is proven optimal.")


def test_the_nodes_that_would_help_are_in_the_json(capsys):
    """None if everything fits."""
    found = [answer(capsys, PAIRS, "--gang", size, *LEAF)["nodesToAdd"] for size in ("3", "4")]
    row = {"like": "h100-01", "domain": ["spine-1", "leaf-2"], "count": 1}
    assert found == [None, {"count": 1, "proven": True, "added": [row]}]


@pytest.mark.parametrize(
    ("level", "prefer", "wanted"),
    [("leaf switch", "spine", 1), ("spine", "spine", 1), ("host", "leaf switch", 1), ("spine", "leaf switch", 0)],
)
def test_a_preferred_level_outside_the_required_one_is_remarked(capsys, level, prefer, wanted):
    """All pods are in one domain of it anyway."""
    found = answer(capsys, PAIRS, "--gang", "2", "--level", level, "--prefer-level", prefer)
    assert [one["rule"] for one in found["findings"]].count("gang-prefer-level") == wanted


def test_each_domain_says_what_it_lacks(capsys):
    """On h100-05 all GPUs are free, and four NICs are in use."""
    rows = {row["domain"][-1]: row for row in answer(capsys, PAIRS, "--gang", "4", *LEAF)["gangs"][0]["domains"]}
    assert (rows["leaf-2"]["pods"], rows["leaf-2"]["fits"], rows["leaf-2"]["lacking"]) == (
        3,
        False,
        ["NICs in use on h100-05"],
    )


def test_the_price_of_the_level_is_how_many_fit_with_others(capsys):
    """Nine servers are idle: four pairs below any switch, three below one leaf switch each."""
    out = planned(capsys, PAIRS, "--gang", "2", *LEAF, "--replicas", "2")[1]
    found = "After this plan, 1 more gang fits. In all: 3 with leaf switch, 4 with no level, 4 with spine, 0 with host."
    assert found in out


def test_the_domain_that_kueue_chooses_without_its_claims_is_named(capsys):
    """Kueue counts no devices: it takes the leaf switch whose servers are busy."""
    kueue = next(row for row in answer(capsys, PAIRS, "--gang", "3", *LEAF)["gangs"][0]["schedulers"][1:2])
    assert (kueue["scheduler"], kueue["verdict"], kueue["claimsDoNotFitIn"]) == ("Kueue 0.19", "no", ["spine-1/leaf-1"])


def test_the_regret_counts_the_gangs_that_do_not_start(capsys):
    """kube-scheduler starts three of four gangs, as the plan does, and Kueue none."""
    rows = answer(capsys, PAIRS, "--gang", "2", *LEAF, "--replicas", "4")["gangs"][0]["schedulers"]
    assert [row["started"] for row in rows[:2]] == [{"least": 3, "most": 3}, {"least": 0, "most": 0}]


@pytest.mark.parametrize(("gang", "outcome", "status"), [("3", "fits", 0), ("4", "does-not-fit", 1)])
def test_the_outcome_is_that_of_the_status(gang, outcome, status, capsys):
    """JSON and the exit status agree."""
    assert main(["plan", POD, "--claim", PAIRS, "--gang", gang, *LEAF, "-o", "json"]) == status
    assert json.loads(capsys.readouterr().out)["outcome"] == outcome


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


def test_gangs_and_replicas_are_planned_together(capsys):
    """Three replicas take servers that the gang does not need."""
    document = answer(capsys, PAIRS, "--gang", "3", *LEAF, "--claim", PAIRS, "--replicas", "3")
    assert ([row["gang"] for row in document["placed"]], len(document["replicas"])) == (["eight-pairs"], 3)


def test_a_plan_file_with_a_gang_is_planned_as_one(capsys, tmp_path):
    """The workload of the file says size and level."""
    sketch = read_sketch(PAIRS)
    pod = PodDrawing("train", (sketch,), gang=GangDrawing(size=3, level="leaf switch", queue="team-a"))
    file = tmp_path / "train.dralab.yaml"
    file.write_text(encode_drawing(Drawing(sketch, workloads=(pod,))))
    [gang] = answer(capsys, str(file))["gangs"]
    assert (gang["name"], gang["size"], gang["level"], gang["queue"]) == ("train", 3, "leaf switch", "team-a")


def test_a_gang_that_starts_with_a_part_of_its_pods_says_so(capsys, tmp_path):
    """Three of four pods are enough, and no leaf switch has more."""
    sketch = read_sketch(PAIRS)
    pod = PodDrawing("train", (sketch,), gang=GangDrawing(size=4, min=3, level="leaf switch"))
    file = tmp_path / "train.dralab.yaml"
    file.write_text(encode_drawing(Drawing(sketch, workloads=(pod,))))
    status, out, _ = planned(capsys, str(file), "-q")
    assert (status, out) == (
        0,
        "The gang fits in spine-1/leaf-2: 3 of 4 pods on 3 nodes. Every goal is proven optimal.\n",
    )


def test_domains_without_claims_are_named_for_many_gangs(capsys):
    """Only the first of hundred gangs is given to Kueue."""
    out = planned(capsys, PAIRS, "--gang", "2", *LEAF, "--replicas", "100")[1]
    assert "It may choose spine-1/leaf-1, where the claims do not fit." in out


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


def test_the_quota_of_the_queue_is_an_answer_of_its_own(capsys):
    """The team uses 31 of its 32 GPUs and may borrow eight, so that 24 wait, although they have devices."""
    out = planned(capsys, PAIRS, "--gang", "3", *LEAF, "--queue", "train", "-q")[1]
    assert ("The gang fits" in out, "eight-pairs waits for quota. training may use 9 more" in out) == (True, True)


def test_the_verdicts_of_a_queue_are_in_the_json(capsys):
    """Quota, Kueue's counts and devices, each with its reason."""
    [gang] = answer(capsys, PAIRS, "--gang", "3", *LEAF, "--queue", "training/train")["gangs"]
    found = {row["question"]: row["answer"] for row in gang["verdicts"]["questions"]}
    assert found == {"quota": "waits", "topology counts": "unknown", "devices": "yes"}


def test_an_unknown_queue_leaves_the_answer_about_devices(capsys):
    """The warning names the queues of the cluster."""
    status, _, err = planned(capsys, PAIRS, "--gang", "3", *LEAF, "--queue", "trian")
    assert (status, "there is no LocalQueue and no ClusterQueue 'trian'" in err) == (0, True)


def test_quiet_is_the_sentence(capsys):
    """-q leaves out every table."""
    assert planned(capsys, PAIRS, "--gang", "3", *LEAF, "-q")[1].count("\n") == 1


def test_everything_has_the_goals(capsys):
    """-v adds the goals and the domains of each replay."""
    out = planned(capsys, PAIRS, "--gang", "3", *LEAF, "-v")[1]
    assert ("domains of required levels with a gang" in out, "Kueue 0.19: pods of eight-pairs" in out) == (True, True)

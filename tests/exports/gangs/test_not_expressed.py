"""An export lists what its scheduler cannot say; a required level that nothing keeps is an error."""

from __future__ import annotations

import random

import pytest
from gangs_to_export import CHANNEL, cliques, gang, group, random_gang, tree

from dra_lab.exports.gangs.gang_files import gang_files

SLICED = group(pods=8, slices=((4, "rack"), (2, "host")))
PAIR = (group("a", level="rack"), group("b"))


def exported(one, scheduler, hierarchy=None, pin=None):
    """Return the files of a gang."""
    return gang_files(one, scheduler, hierarchy or tree(), queue="q", pin=pin)


@pytest.mark.parametrize(
    ("scheduler", "one", "expected"),
    [
        ("kueue", gang(level="block", prefer_level="rack"), "a required or a preferred level, so rack"),
        ("kueue", gang(group("a"), group("b"), level="rack"), "Kueue puts each group into one rack"),
        ("kueue", gang(group(least=2)), "between 2 and 4 pods of worker"),
        ("kueue", gang(group(least=2), group("b")), "all 4 pods of worker or none"),
        ("kai", gang(shared_claims=(CHANNEL,)), "claims that several pods share"),
        ("kai", gang(group(shared_claims=(CHANNEL,))), "claims that several pods share"),
        ("volcano", gang(level="block", prefer_level="rack"), "hard or soft, so the preferred level"),
        ("volcano", gang(prefer_level="rack"), "names no level"),
        ("volcano", gang(SLICED), "one layer of partitions, so the slices in host"),
        ("volcano", gang(group("a", level="rack", least=2), group("b")), "all 4 pods or none"),
        ("kube-scheduler", gang(prefer_level="rack"), "no preferred level, so rack"),
        ("kube-scheduler", gang(*PAIR), "one required level, so rack of a"),
        ("kube-scheduler", gang(SLICED), "no slices, so 4 pods in one rack"),
        ("kube-scheduler", gang(group("a", least=1), group("b")), "5 pods of any group and not 1 of a, 4 of b"),
    ],
)
def test_what_is_left_out_is_said_in_one_sentence(scheduler, one, expected):
    """With the name of the level or group."""
    assert sum(expected in sentence for sentence in exported(one, scheduler).not_expressed) == 1


@pytest.mark.parametrize("scheduler", ["kueue", "kai", "kube-scheduler"])
def test_a_level_without_a_label_cannot_be_required(scheduler):
    """NVIDIA's label names partitions; no label names the NVLink domain alone."""
    files = exported(gang(level="NVLink domain"), scheduler, cliques())
    assert files.not_expressed[0].startswith("No node label names the level NVLink domain")


@pytest.mark.parametrize("scheduler", ["kueue", "kai", "kube-scheduler"])
@pytest.mark.parametrize("pin", [None, ("u1",)])
def test_a_required_level_that_is_lost_is_an_error_unless_it_is_pinned(scheduler, pin):
    """The pin holds all pods to the nodes of the domain."""
    rules = [one.rule for one in exported(gang(level="NVLink domain"), scheduler, cliques(), pin).findings]
    assert ("gang-level-lost" in rules) is (pin is None)


@pytest.mark.parametrize("scheduler", ["kueue", "kai", "kube-scheduler"])
def test_random_gangs_lose_no_required_level_silently(scheduler):
    """Each required level that has no label is an error; Volcano needs no labels."""
    nameless = tree(keys=("", ""))
    for seed in range(60):
        one = random_gang(random.Random(seed))
        wanted = {one.level} | {each.level for each in one.pods if each.count > 1}
        files = exported(one, scheduler, nameless)
        lost = [found.message for found in files.findings if found.rule == "gang-level-lost"]
        missing = [level for level in wanted & {"block", "rack"} if not any(level in sentence for sentence in lost)]
        assert missing == [], (seed, wanted, lost)

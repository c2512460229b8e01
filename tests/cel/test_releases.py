"""Which release takes what in new selectors."""

import pytest

from dra_lab.cel.selector import unknown_in
from dra_lab.model.release import RELEASES, KubernetesRelease

OLDEST = [
    ("what every release has", 'device.driver == "a" && [1].all(i, v, v > 0)', "1.34"),
    ("lists of level 1.34 are taken one release later", "[2, 1].sort() == [1, 2]", "1.35"),
    ("also as a macro", "[2, 1].sortBy(x, x) == [1, 2]", "1.35"),
    ("also inside a loop", "[1].exists(x, lists.range(x).size() == 1)", "1.35"),
    ("list-typed attributes", 'device.attributes["d"].x.includes(1)', "1.36.2"),
    ("the newest counts", '[1].reverse() == [1] && device.attributes["d"].x.includes(1)', "1.36.2"),
    ("shared devices", "device.allowMultipleAllocations", "1.34"),
    ("a text is no function", '"sort" == device.driver', "1.34"),
]


@pytest.mark.parametrize(("rule", "expression", "release"), OLDEST, ids=[case[0] for case in OLDEST])
def test_the_oldest_release_that_takes_a_selector(rule, expression, release):
    """docs/semantics.md 4.3.1: a new selector is checked in the environment of the release before."""
    refused = {
        one
        for one in RELEASES
        if any("from Kubernetes" in why for why in unknown_in(KubernetesRelease(one), expression))
    }
    assert next(one for one in RELEASES if one not in refused) == release, rule


def test_what_a_release_refuses_is_named_with_the_release_that_takes_it():
    """The message is for a person whose cluster is older than the selector."""
    assert unknown_in(KubernetesRelease("1.35"), "[2].sort() == [2]") == ()
    (why,) = unknown_in(KubernetesRelease("1.34"), "[2].sort() == [2].sort()")
    assert why == "`sort` works in new selectors from Kubernetes 1.35 on, not in 1.34"


def test_an_option_is_taken_where_its_gate_is_on():
    """`includes` and `allowMultipleAllocations` come and go with their feature gates."""
    shared, lists = "device.allowMultipleAllocations", 'device.attributes["d"].x.includes(1)'
    assert unknown_in(KubernetesRelease("1.36"), shared) == ()
    assert "DRAConsumableCapacity" in unknown_in(KubernetesRelease("1.35"), shared)[0]
    assert unknown_in(KubernetesRelease("1.35", {"DRAConsumableCapacity": True}), shared) == ()
    assert "DRAListTypeAttributes" in unknown_in(KubernetesRelease("1.36"), lists)[0]
    assert unknown_in(KubernetesRelease("1.36", {"DRAListTypeAttributes": True}), lists) == ()

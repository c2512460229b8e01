"""Fleets of real size whose optimum is counted: no value, bound or proof of the planner disagrees with the count."""

from __future__ import annotations

from collections import Counter

import pytest
from oracle_cases import SmallCase, run, seeds
from oracle_families import FAMILIES
from oracle_shared import SharedCase

AT_ONCE = 25
"""Cases of one test of `make test-long`."""

MANY = seeds(100, 3_100)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_answer_about_small_nodes_disagrees_with_the_count(family, record_property):
    """Every question is asked of one case of each family."""
    case = run(FAMILIES.index(family), SmallCase, everything=True)
    record_property("oracle", dict(case.asked))
    assert case.wrong == []


@pytest.mark.parametrize("seed", seeds(0, 100))
def test_no_answer_disagrees_with_the_count(seed, record_property):
    """A found value is at most the optimum, a bound at least, a proven value equal; no answer excludes another."""
    case = run(seed)
    record_property("oracle", dict(case.asked))
    assert case.wrong == []


@pytest.mark.long
@pytest.mark.parametrize("first", MANY[:: 2 * AT_ONCE])
def test_no_answer_disagrees_with_the_count_in_many_cases(first, record_property):
    """Every question is asked of every case; there is one for two small ones."""
    cases = [run(seed, everything=True) for seed in range(first, min(first + AT_ONCE, MANY.stop))]
    record_property("oracle", dict(sum((case.asked for case in cases), Counter())))
    assert [sentence for case in cases for sentence in case.wrong] == []


@pytest.mark.long
@pytest.mark.parametrize("first", MANY[::AT_ONCE])
def test_no_answer_disagrees_with_the_count_in_thousands_of_small_cases(first, record_property):
    """Every question is asked of every case; the nodes have 1 to 4 PCIe roots."""
    cases = [run(seed, SmallCase, everything=True) for seed in range(first, min(first + AT_ONCE, MANY.stop))]
    record_property("oracle", dict(sum((case.asked for case in cases), Counter())))
    assert [sentence for case in cases for sentence in case.wrong] == []


@pytest.mark.parametrize("seed", seeds(0, 15))
def test_no_answer_about_shared_devices_disagrees_with_the_flow(seed, record_property):
    """Where nodes share NICs, every question whose answer is a maximum flow is asked."""
    case = run(seed, SharedCase, everything=True)
    record_property("oracle", dict(case.asked))
    assert case.wrong == []


@pytest.mark.long
@pytest.mark.parametrize("first", MANY[:: 4 * AT_ONCE])
def test_no_answer_about_shared_devices_disagrees_with_the_flow_in_hundreds_of_cases(first, record_property):
    """Every question is asked of every case; there is one for four small ones."""
    cases = [run(seed, SharedCase, everything=True) for seed in range(first, min(first + AT_ONCE, MANY.stop))]
    record_property("oracle", dict(sum((case.asked for case in cases), Counter())))
    assert [sentence for case in cases for sentence in case.wrong] == []

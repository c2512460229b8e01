"""Every question takes a release as it is, by its version, or that of the cluster."""

from __future__ import annotations

import pytest
from checked_plans import checked_fleet, checked_plan

from dra_lab import KubernetesRelease, Workload, how_many_more, largest_job, load_cluster, read_sketch, stranded
from dra_lab.errors import InputError

QUESTIONS = {
    "make_plan": lambda cluster, claim, **more: checked_plan(cluster, claim, **more).release,
    "plan_fleet": lambda cluster, claim, **more: (
        checked_fleet(cluster, [Workload("w", (claim,), replicas=1)], **more).release
    ),
    "how_many_more": lambda cluster, claim, **more: how_many_more(cluster, Workload("w", (claim,)), **more).count,
    "largest_job": lambda cluster, claim, **more: largest_job(cluster, claim, **more).scale,
    "stranded": lambda cluster, claim, **more: stranded(cluster, [claim], **more).kinds,
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_version_is_a_release_and_none_is_the_clusters(question):
    """The text `release="1.36"`, or no release at all, gives the same answer as the release object."""
    cluster, claim = load_cluster("sample:two-sockets"), read_sketch("sample:two-sockets/lesson")
    ask = QUESTIONS[question]
    expected = ask(cluster, claim, release=KubernetesRelease(cluster.default_release))
    assert ask(cluster, claim, release=cluster.default_release) == expected
    assert ask(cluster, claim) == expected


@pytest.mark.parametrize("given", ["1.20", 1.36])
def test_what_is_no_known_version_is_refused(given):
    """The error lists the known versions, or says what a release is."""
    cluster, claim = load_cluster("sample:two-sockets"), read_sketch("sample:two-sockets/lesson")
    with pytest.raises(InputError, match=r"1\.36"):
        checked_plan(cluster, claim, release=given)

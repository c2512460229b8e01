"""What the summary of a cluster says of free devices is what was read of claims, and no more."""

from __future__ import annotations

from dataclasses import replace

from dra_lab import load_cluster
from dra_lab.findings import Finding, Severity
from dra_lab.model.release import KubernetesRelease
from dra_lab.session.summary import summary

RELEASE = KubernetesRelease("1.36")
PARTLY = Finding("claims-some-namespaces", Severity.WARNING, "resourceclaims", "only those of team-a were read")


def told(**changes) -> str:
    return summary(replace(load_cluster("sample:eks-p4d"), **changes), RELEASE)


def test_with_all_claims_the_free_devices_are_a_number():
    """Nothing else can hold them."""
    assert "32 GPUs, 18 free · " in told()


def test_with_claims_of_some_namespaces_they_are_a_most():
    """`--read-namespace`: claims elsewhere may hold what looks free."""
    assert "32 GPUs, at most 18 free · " in told(findings=(PARTLY,))


def test_without_claims_their_number_is_unknown():
    """No claim was read, so any device may be held."""
    assert "32 GPUs, use unknown · " in told(claims=(), claims_known=False)

"""What is wrong with what a cluster publishes."""

from dra_lab.checks.cluster_checks import check_cluster
from dra_lab.sources import load_cluster


def rules(name):
    """The rules that a sample breaks."""
    return {finding.rule for finding in check_cluster(load_cluster(f"sample:{name}"))}


def test_the_trouble_sample_shows_every_trouble():
    """Incomplete, invalid and stale pools, taints, unknown places and vanished devices are all found."""
    assert rules("trouble") >= {
        "pool-incomplete",
        "pool-invalid",
        "pool-stale",
        "device-tainted",
        "place-unknown",
        "device-vanished",
    }


def test_a_healthy_sample_has_nothing_to_tell():
    """No finding without a cause."""
    assert rules("two-sockets") == set()


def test_errors_come_first():
    """The list is sorted by severity."""
    severities = [str(finding.severity) for finding in check_cluster(load_cluster("sample:trouble"))]
    assert severities == sorted(severities, key=["error", "warning", "note"].index)

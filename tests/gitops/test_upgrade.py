"""An upgrade of Kubernetes: which answers about a cluster and manifests change, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from model.test_rules_by_release import CLASS, ROWS, an_object
from planner.running_fleets import DRIVER, V1, Running, claim_spec, cluster_of

from dra_lab import Cluster, KubernetesRelease, check, load_cluster, samples
from dra_lab.cli import main
from dra_lab.errors import Cancelled, InputError
from dra_lab.gitops.folder import read_manifests
from dra_lab.gitops.upgrade import compare_releases
from dra_lab.model.release import RELEASES
from dra_lab.model.upgrade import Upgrade

INPUTS = Path(__file__).parents[1] / "golden" / "inputs"
REPRO = Path(__file__).parents[1] / "repro"
WAITING = (
    {
        "apiVersion": V1,
        "kind": "ResourceClaim",
        "metadata": {"name": "wait", "namespace": "team"},
        "spec": claim_spec(1),
    },
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "waiting", "namespace": "team"},
        "spec": {
            "containers": [{"name": "main", "resources": {"claims": [{"name": "gpus"}]}}],
            "resourceClaims": [{"name": "gpus", "resourceClaimName": "wait"}],
        },
        "status": {"phase": "Pending"},
    },
)


def rule(selector: dict[str, str] | None, effect: str = "NoExecute") -> dict[str, Any]:
    spec: dict[str, Any] = {"taint": {"key": "example.com/fault", "effect": effect}}
    if selector is not None:
        spec["deviceSelector"] = selector
    return {"apiVersion": V1, "kind": "DeviceTaintRule", "metadata": {"name": "fault"}, "spec": spec}


def rows(upgrade: Upgrade) -> list[tuple[str, str, str]]:
    """Return what becomes of which thing."""
    return [(change.turn.value, change.kind, change.subject) for change in upgrade.changes]


def twice(cluster: Cluster, release: str, *paths: Path) -> Upgrade:
    """Return the comparison of a release with itself."""
    target = cluster.target_release(release)
    return compare_releases(cluster, read_manifests(paths), target, target)


@pytest.fixture
def busy(tmp_path):
    """Two nodes of two GPUs: two pods run on one of them, a third pod is pending, and there may be a taint rule."""

    def made(*more: dict[str, Any]) -> Cluster:
        pods = [Running("p1", "a1", (0,)), Running("p2", "a1", (1,))]
        return cluster_of(tmp_path, {"a1": 2, "b1": 2}, pods, *more, *WAITING)

    return made


@pytest.mark.parametrize("sample", [sample.name for sample in samples()])
def test_the_same_release_twice_lists_nothing(sample):
    """Every sample, with manifests that fit and that do not."""
    upgrade = twice(load_cluster(f"sample:{sample}"), RELEASES[-1], INPUTS / "one-gpu.yaml", INPUTS / "all-gpus.yaml")
    assert (upgrade.changes, upgrade.undecided, upgrade.outcome) == ((), (), "fits")


@pytest.mark.parametrize("release", RELEASES)
def test_a_busy_cluster_does_not_differ_from_itself(busy, release):
    """Running and pending pods, and a taint rule for all devices."""
    assert twice(busy(rule(None)), release).changes == ()


def test_a_gate_that_comes_on_is_named_with_its_release():
    """DRADeviceTaints is on from 1.36: two devices of a node are tainted."""
    upgrade = check(load_cluster("sample:trouble"), [INPUTS / "one-gpu.yaml"], release="1.34", upgrade="1.36")
    assert [row[1:] for row in rows(upgrade)] == [
        ("pool", "gpu.nvidia.com/n4-tainted"),
        ("claim", "training/drain-0-devices-mks6m"),
        ("claim", "training/left-over-0-devices-bh8d6"),
        ("workload", "ResourceClaimTemplate/one-gpu"),
    ]
    assert {(change.gates, change.since) for change in upgrade.changes} == {(("DRADeviceTaints",), "1.36.2")}
    last = upgrade.changes[-1]
    assert (last.before, last.after) == ("fits 18 times on 5 nodes", "fits 16 times on 5 nodes")


def test_pods_that_a_taint_rule_begins_to_evict_come_first(busy):
    """DeviceTaintRules count from 1.37: the rule evicts two pods, and one node is left for them."""
    upgrade = check(busy(rule({"driver": DRIVER, "pool": "a1"})), release="1.36", upgrade="1.37")
    assert rows(upgrade) == [
        ("stops", "taint rule", "fault"),
        ("stops", "claim", "team/p1-gpus"),
        ("stops", "claim", "team/p2-gpus"),
        ("changes", "pod", "team/p1, team/p2"),
    ]
    assert {(change.gates, change.since) for change in upgrade.changes} == {(("DRADeviceTaintRules",), "1.37.0")}
    assert upgrade.outcome == "does-not-fit"


def test_a_rule_without_a_selector_ends_with_1_37_1(busy):
    upgrade = check(busy(rule(None)), release="1.37.0", upgrade="1.37.1")
    assert [(turn, kind) for turn, kind, _ in rows(upgrade)] == [
        ("changes", "taint rule"),
        ("starts", "claim"),
        ("starts", "claim"),
        ("starts", "pod"),
        ("starts", "pod"),
    ]
    assert upgrade.outcome == "fits"


def test_a_rule_among_the_manifests_changes_too(busy, tmp_path):
    """It is not in the cluster, so that no claim or pod changes with it."""
    path = tmp_path / "rule.yaml"
    path.write_text(yaml.safe_dump(rule(None)))
    upgrade = check(busy(), [path], release="1.37.0", upgrade="1.37.1")
    assert rows(upgrade) == [("changes", "taint rule", "fault")]


def test_a_pending_pod_that_would_find_no_device_any_more_stops(busy):
    upgrade = check(busy(rule({"pool": "b1"}, "NoSchedule")), release="1.36", upgrade="1.37")
    assert ("stops", "pod", "team/waiting") in rows(upgrade)


def test_counters_of_1_36_3_let_a_claim_start():
    """A recorded case: kube-scheduler of 1.36.2 finds no devices, that of 1.36.3 does."""
    cluster = load_cluster(REPRO / "counters-1363" / "cluster")
    upgrade = check(cluster, [REPRO / "counters-1363" / "claim.yaml"], release="1.36.2", upgrade="1.36.3")
    (change,) = upgrade.changes
    assert (change.turn.value, change.subject, change.rule) == ("starts", "ResourceClaim/c", "manifest-not-allocated")


@pytest.mark.parametrize("name", ROWS)
def test_each_rule_that_a_release_changes_is_found(tmp_path, name):
    row = ROWS[name]
    nodes = [an_object("Node", one, "v1") for one in ("n1", "n2")]
    classes = [an_object("DeviceClass", "gpu", spec=CLASS)]
    for file, documents in (("cluster", [*nodes, *classes, *row.objects]), ("manifest", [row.manifest])):
        (tmp_path / f"{file}.yaml").write_text(yaml.safe_dump_all(documents))
    start, target = row.releases
    cluster = load_cluster(tmp_path / "cluster.yaml")
    upgrade = check(cluster, [tmp_path / "manifest.yaml"], release=start, upgrade=target, now=True)
    turns = {(0, 1): ["stops"], (1, 0): ["starts"]}.get((row.before, row.after), [])
    assert [turn for turn, kind, _ in rows(upgrade) if kind in ("workload", "object")] == turns
    assert {change.since for change in upgrade.changes} <= {"1.37.0", "1.38"}


def test_the_release_is_the_first_with_the_answer_at_the_end():
    """All of one node's GPUs: another reason from 1.37.0 on, and it fits from 1.38 on."""
    upgrade = check(load_cluster("sample:trouble"), [INPUTS / "all-gpus.yaml"], release="1.36.2", upgrade="1.38")
    assert [(change.turn.value, change.since) for change in upgrade.changes] == [("starts", "1.38")]


def test_gates_of_both_releases_decide():
    cluster = load_cluster("sample:mig")
    start = KubernetesRelease("1.35", {"DRAPartitionableDevices": True})
    assert check(cluster, release=start, upgrade="1.36").changes == ()


def test_a_release_that_is_not_newer_is_refused_with_both_names():
    cluster = replace(load_cluster("sample:mig"), server_version="v1.37.1")
    with pytest.raises(InputError, match=r"1\.36\.3 is not newer than 1\.37\.1, where the upgrade of sample:mig"):
        check(cluster, upgrade="1.36")


def test_what_is_not_decided_in_time_is_no_change():
    upgrade = check(load_cluster("sample:eks-p4d"), release="1.34", upgrade="1.36", time_limit=1e-6)
    assert upgrade.undecided
    assert not [row for row in rows(upgrade) if row[1] != "pool"]
    assert upgrade.outcome == "stopped"


def test_a_cancelled_check_ends():
    class Set:
        def is_set(self) -> bool:
            return True

    cluster = load_cluster("sample:mig")
    releases = [cluster.target_release(one) for one in ("1.36", "1.37")]
    with pytest.raises(Cancelled):
        compare_releases(cluster, read_manifests([]), *releases, cancel=Set())  # type: ignore[arg-type]


EXITS = {
    "sample:trouble --release 1.36.2 --upgrade 1.36.3": 0,
    "sample:eks-p4d --release 1.34 --upgrade 1.36 --time-limit 0.000001": 2,
    "sample:eks-p4d --release 1.34 --upgrade 1.36 --time-limit 0.000001 --allow-unchecked": 0,
    "sample:trouble --upgrade 1.34": 2,
    "sample:trouble --upgrade 1.37 --fix": 2,
    "sample:trouble --upgrade 1.37 --baseline main": 2,
    "sample:trouble --upgrade 1.37 --rule rule.yaml": 2,
    "sample:trouble --upgrade 1.36.3 --release 1.36.2 --feature-gates DRADerivedAttributes=true": 2,
}


@pytest.mark.parametrize("words", EXITS)
def test_the_exit_status_says_whether_something_stops(words):
    assert main(["check", *words.split()]) == EXITS[words]


def test_something_that_stops_ends_with_1(busy, tmp_path, capsys):
    """The JSON has the rows; SARIF has an error for each that stops."""
    busy(rule({}))
    command = ["check", str(tmp_path / "cluster.yaml"), "--release", "1.36", "--upgrade", "1.37", "-o"]
    assert main([*command, "json"]) == 1
    changes = json.loads(capsys.readouterr().out)["changes"]
    assert main([*command, "sarif"]) == 1
    results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    stopped = [change for change in changes if change["change"] == "stops"]
    assert len([one for one in results if one["level"] == "error"]) == len(stopped) == 5

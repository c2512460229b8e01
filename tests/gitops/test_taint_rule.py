"""A DeviceTaintRule: which devices it taints, which pods it evicts, and where these can go."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import yaml
from msgspec import structs
from planner.running_fleets import DRIVER, V1, Running, cluster_of, objects_of, random_case, replayed

from dra_lab import KubernetesRelease, explain, load_cluster
from dra_lab.cli import main
from dra_lab.errors import InputError
from dra_lab.model.device import DeviceTaint
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.pod_reason import Explanation
from dra_lab.model.slices import DeviceTaintRule, DeviceTaintRuleSpec, DeviceTaintSelector

NODES = {"a1": 2, "b1": 2}
P1 = Running("p1", "a1", (0,))
TAINT = {"key": "example.com/fault", "value": "yes", "effect": "NoExecute"}
AGAIN = "kube-scheduler may give its next pod tainted devices"
SELECTS_A1 = {"driver": DRIVER, "pool": "a1"}


def document(selector: dict[str, str] | None = SELECTS_A1, **taint: str) -> dict[str, Any]:
    """Return a rule as a person writes it, for the devices of a1 unless told otherwise."""
    spec: dict[str, Any] = {"taint": {**TAINT, **taint}}
    if selector is not None:
        spec["deviceSelector"] = selector
    return {"apiVersion": V1, "kind": "DeviceTaintRule", "metadata": {"name": "fault"}, "spec": spec}


@pytest.fixture
def ask(tmp_path):
    """Return what a rule would do in a cluster with some pods."""

    def asked(pods, *more, rule=None, release="1.37", changed=lambda objects: None) -> Explanation:
        objects = objects_of(NODES, pods, *more)
        changed(objects)
        (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all(objects))
        (tmp_path / "rule.yaml").write_text(yaml.safe_dump(rule or document()))
        return explain(load_cluster(str(tmp_path / "cluster.yaml")), rule=tmp_path / "rule.yaml", release=release)

    return asked


def places(found: Explanation) -> dict[str, str]:
    """Return where each evicted pod goes, "" for nowhere."""
    return {move.pod: move.node_to for move in found.moves}


def claim_of(objects: list[dict[str, Any]]) -> dict[str, Any]:
    return next(one for one in objects if one["kind"] == "ResourceClaim")


def test_pods_of_tainted_devices_are_evicted_and_go_elsewhere(ask):
    found = ask([P1, Running("p2", "b1", (0,))])
    assert places(found) == {"team/p1": "b1"}
    assert (found.rule.devices, found.rule.in_use, found.rule.claims) == (2, 1, ("team/p1-gpus",))
    assert "It evicts 1 pod; it fits on b1." in str(found)


def test_a_pod_without_a_place_comes_first_with_the_reason(ask):
    found = ask([Running("big", "a1", (0, 1)), Running("p2", "b1", (0,))])
    assert places(found) == {"team/big": ""}
    assert "team/big has no place" in found.sentence


def test_a_pod_gets_another_device_of_its_node(ask):
    rule = document({**SELECTS_A1, "device": "gpu-0"})
    found = ask([P1, Running("p2", "b1", (0, 1))], rule=rule)
    assert [(move.node_to, move.devices[0].device.device) for move in found.moves] == [("a1", "gpu-1")]


@pytest.mark.parametrize("effect", ["NoSchedule", "None"])
def test_other_effects_evict_no_pod(ask, effect):
    found = ask([P1], rule=document(effect=effect))
    assert [(pod.pod, pod.evicted) for pod in found.rule.pods] == [("team/p1", False)]
    assert found.moves == ()
    assert ("New pods get these" in found.sentence) == (effect == "NoSchedule")


@pytest.mark.parametrize(
    ("selector", "release", "devices", "beginning"),
    [
        (None, "1.37.0", 4, "DeviceTaintRule fault has no deviceSelector, so in Kubernetes 1.37.0 kube-scheduler sees"),
        (None, "1.37.1", 0, "DeviceTaintRule fault has no deviceSelector, so it selects no device in Kubernetes 1.37"),
        ({}, "1.37.1", 4, "The deviceSelector of DeviceTaintRule fault is empty, so it taints all 4 devices."),
        ({"pool": "c1"}, "1.37.1", 0, "DeviceTaintRule fault selects no device of this cluster."),
    ],
)
def test_the_first_sentence_says_what_an_open_selector_selects(ask, selector, release, devices, beginning):
    """Without a selector no release evicts a pod, although up to 1.37.0 kube-scheduler sees the taint everywhere."""
    found = ask([P1], rule=document(selector), release=release)
    assert found.sentence.startswith(beginning)
    assert found.rule.devices == devices
    assert places(found) == ({"team/p1": ""} if selector == {} else {})


@pytest.mark.parametrize(
    ("release", "gate"),
    [
        (KubernetesRelease("1.36"), "DRADeviceTaintRules"),
        (KubernetesRelease("1.36", {"DRADeviceTaintRules": True}), ""),
        (KubernetesRelease("1.37", {"DRADeviceTaints": False}), "DRADeviceTaints"),
    ],
)
def test_a_rule_does_nothing_if_its_gate_is_off(ask, release, gate):
    found = ask([P1], release=release)
    assert (found.rule.gate, bool(found.moves)) == (gate, not gate)
    assert (f"does nothing in Kubernetes {release.version}" in found.sentence) == bool(gate)


@pytest.mark.parametrize(
    ("toleration", "seconds", "place", "again"),
    [
        ({"effect": "NoExecute"}, 0, None, False),
        ({"effect": "NoExecute", "tolerationSeconds": 300}, 300, "b1", True),
        ({"effect": "NoExecute", "tolerationSeconds": -5}, 0, "b1", True),
        ({}, 0, "b1", True),
        ({"effect": "NoSchedule"}, 0, "b1", False),
        ({"effect": "NoExecute", "key": "another"}, 0, "b1", False),
    ],
)
@pytest.mark.parametrize("allocated", [True, False])
def test_tolerations_of_the_claim_decide(ask, toleration, seconds, place, again, allocated):
    """Only the effect NoExecute counts for the eviction controller, and a pod that leaves gets no tainted device."""

    def tolerating(objects):
        claim, own = claim_of(objects), [{"key": TAINT["key"], "operator": "Exists", **toleration}]
        claim["spec"]["devices"]["requests"][0]["exactly"]["tolerations"] = own
        if allocated:
            claim["status"]["allocation"]["devices"]["results"][0]["tolerations"] = own

    found = ask([P1], changed=tolerating)
    assert places(found) == ({} if place is None else {"team/p1": place})
    assert [pod.toleration_seconds for pod in found.rule.pods] == [seconds]
    assert ("300 s after the taint" in str(found)) == (seconds == 300)
    assert (AGAIN in str(found)) == again


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ([Running("p1", "a1", (0,), owner="DaemonSet")], {}),
        ([Running("p1", "a1", (0,), owner="")], {"team/p1": ""}),
    ],
)
def test_pods_that_nothing_starts_elsewhere(ask, pods, expected):
    """As for a drain, pods of a DaemonSet have no move, and a pod without an owner does not come back."""
    found = ask(pods)
    assert places(found) == expected
    assert found.rule.pods[0].evicted
    assert ("pods of a DaemonSet start again on their own node only" in found.sentence) == (not expected)


def test_a_gang_moves_together_or_not_at_all(ask):
    """One of its two pods would have a place."""
    gang = {"metadata": {"labels": {"kueue.x-k8s.io/pod-group-name": "gang"}}}
    pods = [Running(f"g{gpu}", "a1", (gpu,), more=gang) for gpu in (0, 1)]
    assert places(ask([*pods, Running("p2", "b1", (0,))])) == {"team/g0": "", "team/g1": ""}
    assert places(ask(pods)) == {"team/g0": "b1", "team/g1": "b1"}


def test_pods_that_the_controller_leaves_alone(ask):
    def extended(objects):
        pod = next(one for one in objects if one["kind"] == "Pod")
        pod["spec"]["resourceClaims"] = []
        pod["status"] = {"phase": "Running", "extendedResourceClaimStatus": {"resourceClaimName": "p1-gpus"}}

    def unbound(objects):
        del next(one for one in objects if one["kind"] == "Pod")["spec"]["nodeName"]

    for changed, why in ((extended, "pods with extended resources are not evicted"), (unbound, "not bound to a node")):
        found = ask([P1], changed=changed)
        assert found.moves == ()
        assert why in found.sentence


@pytest.mark.parametrize("seed", range(60))
def test_random_clusters(tmp_path, seed):
    case = random_case(seed)
    pool = sorted(case.nodes)[seed % len(case.nodes)]
    selector = {"pool": pool} if seed % 2 else {"pool": pool, "device": "gpu-0"}
    rule = tmp_path / "rule.yaml"
    rule.write_text(yaml.safe_dump(document(selector)))
    found = explain(cluster_of(tmp_path, case.nodes, case.pods), rule=rule, release="1.37")
    evicted = [pod for pod in case.pods if pod.node == pool and (seed % 2 or 0 in pod.gpus)]
    assert {pod.pod for pod in found.rule.pods if pod.evicted} == {f"team/{pod.name}" for pod in evicted}
    expected = {f"team/{pod.name}": bool(pod.owner) for pod in evicted if pod.owner != "DaemonSet"}
    assert {move.pod for move in found.moves} == set(expected)
    assert all(expected[move.pod] for move in found.moves if move.node_to)
    placed = [structs.replace(move, stops_first=True) for move in found.moves if move.node_to]
    gone = set(expected) - {move.pod for move in placed}
    still = tuple(pod for pod in case.pods if f"team/{pod.name}" not in gone)
    assert replayed(replace(case, pods=still), placed) == []
    tainted = {(pool, f"gpu-{gpu}") for gpu in range(case.nodes[pool]) if seed % 2 or not gpu}
    assert not tainted & {(one.device.pool, one.device.device) for move in placed for one in move.devices}


def test_a_rule_replaces_the_one_of_its_name(ask):
    """The rule that is there taints the free node, and the new one opens it."""
    there = document({"pool": "b1"})
    assert places(ask([P1], there)) == {"team/p1": "b1"}
    assert places(ask([P1], {**there, "metadata": {"name": "another"}})) == {"team/p1": ""}


def test_a_rule_of_the_model_is_checked_too(ask):
    """The effect is none that the API server knows."""
    cluster = load_cluster("sample:h100-busy")
    spec = DeviceTaintRuleSpec(
        taint=DeviceTaint(key="example.com/fault", effect="NoExecute"),
        device_selector=DeviceTaintSelector(pool="dgx-13"),
    )
    rule = DeviceTaintRule(metadata=ObjectMeta(name="fault"), spec=spec)
    assert len(explain(cluster, rule=rule, release="1.37").moves) == 3
    with pytest.raises(InputError, match="leave out `pod`"):
        explain(cluster, pod="batch/eval-0", rule=rule)
    wrong = DeviceTaintRuleSpec(taint=DeviceTaint(key="example.com/fault", effect="Evict"))
    with pytest.raises(InputError, match=r"use one of None, NoExecute, NoSchedule.*Correct the rule"):
        explain(cluster, rule=DeviceTaintRule(metadata=ObjectMeta(name="fault"), spec=wrong))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (yaml.safe_dump(document()).replace("pool:", "pol:"), r"rule\.yaml:\d+, .*'pol'; did you mean 'pool'\? .*Corr"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", r"rule\.yaml:1, .*this is Pod, not a DeviceTaintRule\. G"),
        (yaml.safe_dump_all([document(), document()]), r"document 2.*this is a second DeviceTaintRule\. Give a file"),
        ("", r"rule\.yaml contains no object\. Give a file with one DeviceTaintRule"),
    ],
)
def test_errors_say_where_and_what_next(tmp_path, text, message):
    path = tmp_path / "rule.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        explain(load_cluster("sample:h100-busy"), rule=path)


def test_the_command_has_an_exit_status_and_json(tmp_path, capsys):
    path = str(tmp_path / "rule.yaml")
    for pool, status, outcome in (("dgx-14", 0, "fits"), ("dgx-13", 1, "does-not-fit")):
        (tmp_path / "rule.yaml").write_text(yaml.safe_dump(document({"pool": pool})))
        assert main(["check", "sample:h100-busy", "--rule", path, "--release", "1.37", "-o", "json"]) == status
        found = json.loads(capsys.readouterr().out)
        assert (found["kind"], found["outcome"], found["rule"]["devices"]) == ("Explanation", outcome, 16)
    for wrong in (["-o", "sarif"], ["--fix"], ["--baseline", "main"]):
        assert main(["check", "sample:h100-busy", "--rule", path, *wrong]) == 2
        assert "is for manifests; leave it out with --rule" in capsys.readouterr().err

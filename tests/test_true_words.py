"""Words of an answer that were false: each row is a question, what the answer says, and what it never says."""

from __future__ import annotations

import shlex

import pytest
from contradictions import of_text
from pending.dumps import AMD, claim, cluster, device_class, devices_of, node, request, spec_of, waiting, write

from dra_lab import load_cluster, make_plan
from dra_lab.cli import main
from dra_lab.manifests.yaml_text import dump_yaml

HERE = f'device.attributes["{AMD}"]'
ONE = spec_of(request())
WITH_CLAIM = [*cluster(), claim("held", ONE, on="node-a", devices=["gpu-0"], pods=("a",))]
CPUS = [
    device_class("dra.cpu"),
    node("Node-A"),
    devices_of(
        "Node-A", "dra.cpu", [{"name": f"numa-{n}", "capacity": {"dra.cpu/cpu": {"value": "112"}}} for n in "01"]
    ),
]
TOPOLOGY = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV12\t0-31\t0\nGPU1\tNV12\t X \t0-31\t0\n"


def _of(*requests, **fields):
    return spec_of(*requests, **fields)


PLANS = {
    "nothing matches": (WITH_CLAIM, _of(request(cel=f'{HERE}.model == "MI250"')), 'model is "MI300X"', "free"),
    "the quotes of a text": (WITH_CLAIM, _of(request(count=4, cel=f'{HERE}.model == "MI300X"')), "", "= MI300X"),
    "the plural of a request": (WITH_CLAIM, _of(request(count=4, cel=[f"!{HERE}.vf"])), "", "selectors"),
    "another model": (
        WITH_CLAIM,
        _of(request(count=4, cel=f'{HERE}.model == "H100"')),
        '"MI300X" on all 8',
        "MI300X GPU",
    ),
    "devices with many CPUs": (
        CPUS,
        _of(request("cpu", 4, "dra.cpu")),
        "4 dra.cpu devices; the whole cluster has 2",
        "CPUs",
    ),
    "a capacity": (
        WITH_CLAIM,
        _of(request(capacity={"requests": {"memory": "256Gi"}})),
        "256Gi of memory in one device, and devices have 192Gi",
        "is free",
    ),
    "use that is not known": (cluster(), _of(request(count=9)), "the whole cluster has 8", "are free"),
    "the case of a node": (
        [*CPUS, claim("held", ONE, on="Node-A", devices=["numa-0", "numa-1"], driver="dra.cpu", pods=("a",))],
        _of(request("cpu", 1, "dra.cpu"), request("more", 1, "dra.cpu", cel='device.attributes["dra.cpu"].x == 1')),
        "Node-A",
        "node-a",
    ),
}


@pytest.mark.parametrize("case", PLANS)
def test_a_plan_says_what_is_true(tmp_path, case, capsys):
    """The answer to a claim has the true words, and none of the false ones."""
    items, spec, said, never = PLANS[case]
    (tmp_path / "claim.yaml").write_text(dump_yaml(claim("mine", spec)))
    main(["explain", str(write(tmp_path, items)), "--claim", str(tmp_path / "claim.yaml")])
    out, err = capsys.readouterr()
    first = out.partition("\n")[0]
    assert (said in first, never in first, of_text(out + err)) == (True, False, [])


def test_now_is_not_said_where_nothing_is_in_use(tmp_path, capsys):
    """With the what-if change "idle", and in `check`, an answer does not say "now"."""
    dump, file = write(tmp_path, [*WITH_CLAIM, *waiting(ONE)]), tmp_path / "claim.yaml"
    file.write_text(dump_yaml(claim("mine", ONE)))
    for words in (f"plan {dump} --claim {file} --idle", f"check {dump} {file}"):
        main(shlex.split(words))
        out = capsys.readouterr().out
        assert ("Fits on 2 of 2 nodes." in out, of_text(out)) == (True, [])


def test_a_model_has_a_name_and_no_number(tmp_path, capsys):
    """A topology file that names no model gets the name of the vendor."""
    (tmp_path / "topo.txt").write_text(TOPOLOGY)
    main(["topology", str(tmp_path / "topo.txt")])
    out = capsys.readouterr().out
    assert ("NVIDIA GPU" in out, "10de" in out) == (True, False)


def test_a_fleet_names_the_request_that_no_node_can_serve(tmp_path, capsys):
    """The reason of a workload without a place names its request and constraint, as the plan of one pod does."""
    spec = _of(request(), request("chip", cls="chip.example.com"), same="resource.kubernetes.io/pcieRoot")
    (tmp_path / "claim.yaml").write_text(dump_yaml(claim("mine", spec)))
    main(["plan", str(write(tmp_path, WITH_CLAIM)), "--claim", str(tmp_path / "claim.yaml"), "--replicas", "2"])
    assert (
        "no device of request chip publishes the attribute resource.kubernetes.io/pcieRoot" in capsys.readouterr().out
    )


def test_a_pod_without_a_claim_to_place_has_its_state(tmp_path, capsys):
    """A pod whose claims are allocated may run on their node; that is the answer, and it exits 0."""
    (tmp_path / "pod.yaml").write_text(
        dump_yaml(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "second", "namespace": "team-a"},
                "spec": {
                    "containers": [{"name": "main", "image": "x", "resources": {"claims": [{"name": "c"}]}}],
                    "resourceClaims": [{"name": "c", "resourceClaimName": "held"}],
                },
            }
        )
    )
    status = main(["plan", str(write(tmp_path, WITH_CLAIM)), "--claim", str(tmp_path / "pod.yaml")])
    assert (status, "Its claim held is allocated already" in capsys.readouterr().out) == (0, True)


def test_python_says_the_same(tmp_path):
    """`make_plan` has the values of the attribute in its first reason."""
    spec = _of(request(cel=f'{HERE}.model == "MI250"'))
    read = load_cluster(write(tmp_path, [*WITH_CLAIM, claim("mine", spec)]))
    plan = make_plan(read, next(one for one in read.claims if one.metadata.name == "mine"))
    assert 'model is "MI300X" on all 8' in plan.shortfalls[0].message

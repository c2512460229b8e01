"""Snapshots under pseudonyms: nothing tells whose cluster it is, and every answer is the same up to the names."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace

import pytest
from checked_plans import checked_plan
from random_inventories import SKETCH, inventory

from dra_lab.cli import main
from dra_lab.model.claims import (
    ResourceClaim,
)
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import Node, ObjectMeta
from dra_lab.model.release import KubernetesRelease
from dra_lab.scheduler.first_fit import first_fit
from dra_lab.sketch.compile import compile_claim
from dra_lab.sources import load_cluster, load_texts
from dra_lab.sources.anonymise import anonymise, changed_selectors
from dra_lab.sources.snapshot_info import FILE
from dra_lab.sources.snapshots import make_snapshot
from dra_lab.topology.presets import ATTRIBUTES, PRESETS

RELEASE = KubernetesRelease("1.36")
KEPT_KINDS = ("value", "label", "number", "container", "podclaim")


def renaming(hidden):
    members = {**hidden.mapping.get("pool", {}), **hidden.mapping.get("node", {})}
    devices = hidden.mapping.get("device", {})
    return lambda d: DeviceID(d.driver, members.get(d.pool, d.pool), devices.get(f"{d.driver}/{d.device}", d.device))


def planned(cluster, sketch, name=lambda device: device, node=lambda node: node):
    """What matters of a plan: whether and where it fits, which devices, how good, and what else could be said."""
    plan = checked_plan(cluster, sketch, release=RELEASE)
    placed = [(p.request, name(p.device)) for p in plan.placements]
    goals = [(goal.goal, goal.value, goal.proven) for goal in plan.goals]
    nodes = [(tuple(node(n) for n in fit.members), fit.verdict, fit.fits_idle) for fit in plan.node_classes]
    return plan.status, node(plan.node), placed, goals, nodes


def taken(cluster, sketch, node_name, name=lambda device: device):
    claim = ResourceClaim(metadata=ObjectMeta(name="c"), spec=compile_claim(sketch, cluster, RELEASE).spec)
    verdict = first_fit(cluster, node_name, [claim], RELEASE, step_limit=20_000)
    results = [r for a in verdict.allocations or () for r in a.devices.results]
    return verdict.status, [(result.request, name(result.id)) for result in results]


@pytest.mark.parametrize("seed", range(12))
def test_random_clusters_are_planned_and_allocated_alike_under_pseudonyms(seed):
    """Also where names hold other names, pools and nodes are mixed, and selectors compare what was replaced."""
    cluster = inventory(random.Random(seed))
    hidden = anonymise(cluster)
    node = {**hidden.mapping["node"], "": ""}.__getitem__
    assert planned(hidden.cluster, SKETCH) == planned(cluster, SKETCH, renaming(hidden), node)
    for name in cluster.node_names:
        assert taken(hidden.cluster, SKETCH, node(name)) == taken(cluster, SKETCH, name, renaming(hidden))
    assert changed_selectors(cluster, hidden.cluster) == ()


@pytest.mark.parametrize("seed", range(30))
def test_nothing_that_was_replaced_is_left_anywhere(seed):
    """No name or identifier of the mapping stands in any file of the snapshot."""
    hidden = anonymise(inventory(random.Random(seed)))
    text = b"\n".join(make_snapshot(hidden.cluster, replaced=hidden.counts).files.values()).decode().lower()
    kinds = {kind: table for kind, table in hidden.mapping.items() if kind not in (*KEPT_KINDS, "device")}
    left = [(kind, old) for kind, table in kinds.items() for old in table if old.lower() in text]
    assert not left


@pytest.mark.parametrize("seed", range(30))
def test_pseudonyms_sort_as_the_names_do(seed):
    """Nodes among nodes, pools of a driver, slices, and devices of a pool: first fit goes by these orders."""
    cluster = inventory(random.Random(seed))
    hidden = anonymise(cluster)
    for kind in ("node", "slice"):
        assert sorted(hidden.mapping[kind].values()) == [hidden.mapping[kind][n] for n in sorted(hidden.mapping[kind])]
    ids = sorted(DeviceID(s.spec.driver, s.spec.pool.name, d.name) for s in cluster.slices for d in s.spec.devices)
    assert sorted(map(renaming(hidden), ids)) == [renaming(hidden)(device) for device in ids]


def test_the_same_cluster_has_the_same_pseudonyms():
    """Capturing twice gives the same bytes."""
    one, other = (anonymise(load_cluster("sample:eks-p4d")) for _ in range(2))
    assert make_snapshot(one.cluster, replaced=one.counts) == make_snapshot(other.cluster, replaced=other.counts)


def test_the_summary_of_an_anonymised_snapshot_names_nobody(tmp_path):
    """Neither the source's name nor the words of findings go along, only what was the matter."""
    cluster = replace(load_cluster("sample:mig"), name="context:prod-of-acme")
    hidden = anonymise(cluster)
    info = make_snapshot(hidden.cluster, replaced=hidden.counts).info
    assert info.source == "context:"
    assert all(note.message == "" for note in info.findings)


def test_a_node_named_like_a_kind_of_device_changes_no_device():
    """A short word is no name inside values that say what a device is."""
    cluster = load_cluster("sample:two-sockets")
    odd = replace(cluster, nodes=(*cluster.nodes, Node(metadata=ObjectMeta(name="gpu"))))
    types = [[d.attributes.get("type") for d in s.spec.devices] for s in anonymise(odd).cluster.slices]
    assert types == [[d.attributes.get("type") for d in s.spec.devices] for s in cluster.slices]


def test_the_mapping_is_written_only_when_asked_and_only_outside(tmp_path, capsys):
    """The mapping of names is never in the snapshot, and only its owner can read it."""
    out, mapping = tmp_path / "out", tmp_path / "who.json"
    assert main(["capture", "sample:mig", str(out), "--anonymise", "--mapping", str(out / "who.json")]) == 2
    assert not out.exists()
    assert main(["capture", "sample:mig", str(out), "--mapping", str(mapping)]) == 2
    assert main(["capture", "sample:mig", str(out), "--anonymise", "--mapping", str(mapping)]) == 0
    assert json.loads(mapping.read_text())["node"]
    assert mapping.stat().st_mode & 0o077 == 0


def test_what_is_replaced_is_named_in_the_plural(tmp_path, capsys):
    """Each number has the words of what it counts, not the name of a table."""
    main(["capture", "sample:eks-p4d", str(tmp_path / "out"), "--anonymise"])
    assert "8 names of ResourceSlices" in capsys.readouterr().out


def test_an_anonymised_snapshot_says_so(tmp_path):
    out = str(tmp_path / "out.tgz")
    assert main(["capture", "sample:mig", out, "--anonymise"]) == 0
    assert "snapshot-anonymised" in {finding.rule for finding in load_cluster(out).findings}


DRIVER = "nvme.example.com"
VENDOR = "gpu.nvidia.com"
HOST = "ip-10-20-0-11.acme.internal"


def world(
    attributes=(),
    *,
    driver=DRIVER,
    device="disk-0",
    labels=(),
    expression="true",
    value="",
    key="example.com/x",
    resource="a/b",
    host=HOST,
    condition="",
    message="",
):
    """A node with one device, one class and one claim; each argument is a place for something that may tell."""
    typed = {name: text if isinstance(text, dict) else {"int" if isinstance(text, int) else "string": text}
             for name, text in dict(attributes).items()}  # fmt: skip
    taint = {"key": key, "value": value, "effect": "NoSchedule"}
    binding = [condition] if condition else []
    published = {"name": device, "attributes": typed, "taints": [taint], "bindsToNode": True}
    published |= {"bindingConditions": binding, "bindingFailureConditions": binding and ["other.example.com/failed"]}
    result = {"request": "r", "driver": driver, "pool": host, "device": device, "bindingConditions": binding}
    told = {"type": condition or "Ready", "status": "True", "reason": message or "Fine", "message": message}
    held = {"driver": driver, "pool": host, "device": device, "conditions": [told]}
    pool = {"name": host, "generation": 1, "resourceSliceCount": 1}
    request = {"deviceClassName": "one", "tolerations": [{**taint, "operator": "Equal"}]}
    node = {"metadata": {"name": host, "labels": dict(labels)}, "status": {"allocatable": {resource: "1"}}}
    spec = {"driver": driver, "pool": pool, "nodeName": host, "devices": [published]}
    selectors = [{"cel": {"expression": expression}}]
    claim = {"devices": {"requests": [{"name": "r", "exactly": request}]}}
    status = {"allocation": {"devices": {"results": [result]}}, "devices": [held]}
    api = "resource.k8s.io/v1"
    items = [
        {"apiVersion": "v1", "kind": "Node", **node},
        {"apiVersion": api, "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec},
        {"apiVersion": api, "kind": "DeviceClass", "metadata": {"name": "one"}, "spec": {"selectors": selectors}},
        {
            "apiVersion": api,
            "kind": "ResourceClaim",
            "metadata": {"name": "c", "namespace": "n"},
            "spec": claim,
            "status": status,
        },
    ]
    return load_texts({"a.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": items})})


def files(hidden):
    """The files of the snapshot but its description, as text."""
    made = make_snapshot(hidden.cluster, replaced=hidden.counts).files
    return {name: content.decode() for name, content in made.items() if name != FILE}


def left(cluster, *secrets):
    """Which of these texts stand in the anonymised snapshot, in capitals or not."""
    text = "\n".join(files(anonymise(cluster)).values()).lower()
    return [secret for secret in secrets if secret.lower() in text]


MAC = "02:0f:ba:9a:78:11"


@pytest.mark.parametrize("form", [MAC, MAC.upper(), "02-0f-ba-9a-78-11", "020fba9a7811", "020f.ba9a.7811"])
def test_a_mac_is_replaced_in_every_notation(form):
    """In values, in names of devices and in selectors, where it stands in the usual notation anywhere."""
    device = f"nic-{form.lower().replace(':', '-').replace('.', '-')}"
    expression = f'device.attributes["{DRIVER}"].?model.orValue("") == "{form}"'
    cluster = world({"mac": MAC, "hw": form, "model": f"X {form}"}, device=device, expression=expression)
    assert left(cluster, MAC, "020fba9a7811", "02-0f-ba-9a-78-11", "020f.ba9a.7811", "020f-ba9a-7811") == []


def test_a_serial_in_the_name_of_its_device_is_replaced():
    """Names of devices are in small letters, serials are not."""
    cluster = world({"serial": "S4CKNF0M500123"}, device="nvme-s4cknf0m500123")
    assert left(cluster, "S4CKNF0M500123") == []


@pytest.mark.parametrize("host", ["gn1", "gn01", "gn01.acme.internal"])
def test_a_short_name_of_a_node_is_replaced_in_names_of_devices(host):
    """Machine rooms count their nodes: `gn01`."""
    cluster = world({"where": f"{host} rear", "model": "GN10"}, device=f"{host.partition('.')[0]}-disk-0", host=host)
    assert left(cluster, host.partition(".")[0] + "-", "gn01", "acme") == []


def test_a_node_that_is_called_after_its_model_leaves_the_model():
    """`h100`: the model and the selectors that ask for it stay as they are."""
    expression = f'device.attributes["{VENDOR}"].model.contains("H100")'
    hidden = anonymise(world({f"{VENDOR}/model": "NVIDIA H100 80GB"}, host="h100", expression=expression)).cluster
    assert hidden.classes[0].spec.selectors[0].cel.expression == expression
    assert hidden.slices[0].spec.devices[0].attributes[f"{VENDOR}/model"].string == "NVIDIA H100 80GB"
    assert hidden.nodes[0].name == "node-01"


UUID = "8a10b6f7-077c-d51f-48f0-eba64feb5e9f"


@pytest.mark.parametrize(
    ("value", "device", "part"),
    [
        (f"GPU-{UUID}", "gpu-8a10b6f7", "GPU-8a10b6f7"),
        ("10.20.0.11/24", "nic-10-20-0-11", "10.20.0."),
    ],
)
def test_a_part_of_an_identifier_is_replaced(value, device, part):
    """The beginning of a UUID or address, in a selector and in the name of its device."""
    expression = f'device.attributes["{DRIVER}"].address.startsWith("{part}")'
    cluster = world({"address": value}, device=device, expression=expression)
    assert left(cluster, part, "8a10b6f7", "10-20-0") == []


def test_the_number_of_a_project_is_replaced():
    """DRANET publishes it of GKE's networks, as a number; a selector compares it, and selects as before."""
    expression = f'device.attributes["{DRIVER}"].networkProjectNumber == 628944397724'
    cluster = world({"networkProjectNumber": 628944397724}, expression=expression)
    assert left(cluster, "628944397724") == []
    assert changed_selectors(cluster, anonymise(cluster).cluster) == ()


def test_words_in_taints_are_replaced_and_still_tolerated():
    """Value and key of a device's taint, and of the toleration that meets it, alike."""
    cluster = world(value="INC0012345-jdoe", key="acme.com/broken")
    assert left(cluster, "INC0012345", "jdoe", "acme.com") == []
    new = anonymise(cluster).cluster
    taint = new.slices[0].spec.devices[0].taints[0]
    (toleration,) = new.claims[0].spec.devices.requests[0].exactly.tolerations
    assert (taint.key, taint.value) == (toleration.key, toleration.value)


@pytest.mark.parametrize("call", ['startsWith("acme-pr")', 'contains("acme-prod")', 'matches("^acme-prod-[0-9]+$")'])
def test_a_part_of_a_name_in_a_selector_is_replaced_and_reported(call):
    """It tells whose cluster it is; that the selector decides otherwise now is a finding."""
    expression = f'device.attributes["{DRIVER}"].host.{call} // of acme'
    cluster = world({"host": "acme-prod-12"}, expression=expression)
    assert left(cluster, "acme") == []
    assert [f.rule for f in changed_selectors(cluster, anonymise(cluster).cluster)] == ["selector-changed"]


def test_a_part_of_a_value_that_stays_is_kept_in_selectors():
    """Models are compared by their parts, also where a node is called after them."""
    expression = f'device.attributes["{VENDOR}"].model.contains("PM1733") && device.driver.startsWith("nvme")'
    cluster = world({f"{VENDOR}/model": "SAMSUNG PM1733a", "host": "pm1733-nvme-box"}, expression=expression)
    hidden = anonymise(cluster).cluster
    assert changed_selectors(cluster, hidden) == ()
    assert hidden.classes[0].spec.selectors == cluster.classes[0].spec.selectors


SECRET = "Bigbank"
PLACES = {
    "a literal that matches nothing": {"expression": f'device.attributes["{VENDOR}"].model == "{SECRET} Edition"'},
    "a pattern that matches nothing": {"expression": f'device.driver.matches("^{SECRET}-.*")'},
    "a literal beyond ASCII": {"expression": f'device.driver == "Müller {SECRET}é"'},
    "the model of an unknown vendor": {"attributes": {"model": f"{SECRET} Edition"}, "driver": DRIVER},
    "the builder of a version": {"attributes": {"driverVersion": {"version": f"1.2.3-{SECRET}.4"}}},
    "the build of a version": {"attributes": {"driverVersion": {"version": f"1.2.3+{SECRET}"}}},
    "a version in a selector": {"expression": f'device.attributes["{VENDOR}"].v == semver("1.2.3-{SECRET}")'},
    "the type of a condition": {"condition": f"{SECRET}.example.com/Ready"},
    "the message of a condition": {"message": SECRET},
    "a label below a known domain": {"labels": {f"node.kubernetes.io/{SECRET}-hall": "1"}},
    "a subdomain of a known domain": {"labels": {f"{SECRET.lower()}.k8s.io/zone": "a"}},
    "a feature that people made up": {"labels": {f"feature.node.kubernetes.io/{SECRET}": "true"}},
    "a label of a known vendor": {"labels": {f"nvidia.com/gpu.{SECRET}": SECRET}},
}


@pytest.mark.parametrize("place", PLACES)
def test_what_is_not_known_to_be_harmless_is_replaced(place):
    assert left(world(**{"driver": VENDOR, **PLACES[place]}), SECRET) == []


def test_an_address_with_dashes_is_replaced():
    """An IP address in a name is one, though no value has it with dots."""
    labels = {"example.com/host": "ip-10-20-30-41.internal"}
    assert left(world({"model": "X 10-20-30-41"}, labels=labels), "10-20-30-41") == []


KEPT = [
    ({"attributes": {"productName": "NVIDIA H100"}}, "NVIDIA H100"),
    ({"attributes": {"driverVersion": {"version": "550.54.15"}}}, "550.54.15"),
    ({"attributes": {"driverVersion": {"version": "1.2.3-rc.1"}}}, "1.2.3-rc.1"),
    ({"labels": {"topology.kubernetes.io/zone": "a"}}, "topology.kubernetes.io/zone"),
    ({"labels": {"nvidia.com/gpu.product": "NVIDIA-H100"}}, '"nvidia.com/gpu.product":"NVIDIA-H100"'),
    ({"labels": {"node.kubernetes.io/instance-type": "p5.48xlarge"}}, "p5.48xlarge"),
    ({"labels": {"feature.node.kubernetes.io/cpu-cpuid.AVX512F": "true"}}, "cpu-cpuid.AVX512F"),
    ({"driver": DRIVER, "attributes": {"type": "gpu"}}, '"gpu"'),
    ({"expression": f'device.capacity["{VENDOR}"].memory.compareTo(quantity("80Gi")) >= 0'}, "80Gi"),
    ({"resource": "nvidia.com/gpu"}, "nvidia.com/gpu"),
]


@pytest.mark.parametrize(("places", "kept"), KEPT)
def test_what_is_harmless_stays(places, kept):
    """Planning needs models, versions, quantities and the keys that many clusters have."""
    text = "\n".join(files(anonymise(world(**{"driver": VENDOR, **places}))).values())
    assert kept in text.replace('": "', '":"')


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("network.topology.nvidia.com/spine", "acme-spine-3"),
        ("node-role.kubernetes.io/acme", ""),
        ("feature.node.kubernetes.io/custom-acme", "true"),
        ("nvidia.com/owner", "acme"),
        ("kubernetes.azure.com/cluster", "MC_acme"),
        ("acme.com/rack", "acme-r1"),
    ],
)
def test_labels_of_ones_own_are_replaced(key, value):
    """Names of switches, roles, owners: keys and values."""
    assert left(world(labels={key: value}), "acme") == []


@pytest.mark.parametrize("key", sorted({key for preset in PRESETS for key in preset.keys} - {*ATTRIBUTES}))
def test_a_label_of_the_fabric_keeps_its_key(key):
    """Its values are replaced alike on all nodes, so that the tree of racks and blocks stays the same."""
    cluster = world(labels={key: "acme-7"})
    (label,) = anonymise(cluster).cluster.nodes[0].metadata.labels.items()
    assert label[0] == key
    assert left(cluster, "acme") == []


def test_resources_of_ones_own_are_replaced():
    assert left(world(resource="acme.com/fpga"), "acme") == []


@pytest.mark.parametrize("seed", range(20))
def test_pseudonyms_of_pseudonyms_are_the_same(seed):
    """A snapshot captured again under pseudonyms is the same one, but for numbers of UIDs that were in names only."""
    once = anonymise(inventory(random.Random(seed)))
    twice = anonymise(once.cluster)
    uid = re.compile(r"00000000-0000-4000-8000-[0-9a-f]{12}")
    for name, text in files(once).items():
        assert uid.sub("uid", files(twice)[name]) == uid.sub("uid", text)
    assert files(anonymise(twice.cluster)) == files(twice)

"""Under pseudonyms: what people and machines are called in odd places and notations is not left either."""

from __future__ import annotations

import json
import random
import re

import pytest
from random_inventories import inventory

from dra_lab.sources import load_texts
from dra_lab.sources.anonymise import anonymise, changed_selectors
from dra_lab.sources.snapshot_info import FILE
from dra_lab.sources.snapshots import make_snapshot
from dra_lab.topology.presets import ATTRIBUTES, PRESETS

DRIVER = "nvme.example.com"
VENDOR = "gpu.nvidia.com"
HOST = "ip-10-20-0-11.acme.internal"


def world(
    attributes=(),
    *,
    device="disk-0",
    labels=(),
    expression="",
    value="",
    key="example.com/x",
    resource="a/b",
    host=HOST,
):
    """A node with one device, one class and one claim; each argument is a place for something that may tell."""
    strings = {name: {"int" if isinstance(text, int) else "string": text} for name, text in dict(attributes).items()}
    taint = {"key": key, "value": value, "effect": "NoSchedule"}
    published = {"name": device, "attributes": strings, "taints": [taint]}
    pool = {"name": host, "generation": 1, "resourceSliceCount": 1}
    request = {"deviceClassName": "one", "tolerations": [{**taint, "operator": "Equal"}]}
    node = {"metadata": {"name": host, "labels": dict(labels)}, "status": {"allocatable": {resource: "1"}}}
    spec = {"driver": DRIVER, "pool": pool, "nodeName": host, "devices": [published]}
    selectors = [{"cel": {"expression": expression or "true"}}]
    claim = {"devices": {"requests": [{"name": "r", "exactly": request}]}}
    api = "resource.k8s.io/v1"
    items = [
        {"apiVersion": "v1", "kind": "Node", **node},
        {"apiVersion": api, "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec},
        {"apiVersion": api, "kind": "DeviceClass", "metadata": {"name": "one"}, "spec": {"selectors": selectors}},
        {"apiVersion": api, "kind": "ResourceClaim", "metadata": {"name": "c", "namespace": "n"}, "spec": claim},
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


def test_labels_of_models_stay():
    """These labels name the accelerators of a node and the kind of node."""
    labels = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "node.kubernetes.io/instance-type": "p5.48xlarge"}
    assert anonymise(world(labels=labels)).cluster.nodes[0].metadata.labels == labels


def test_resources_of_ones_own_are_replaced():
    """Names of extended resources; those of many clusters stay."""
    assert left(world(resource="acme.com/fpga"), "acme") == []
    assert left(world(resource="nvidia.com/gpu"), "nvidia.com/gpu") == ["nvidia.com/gpu"]


@pytest.mark.parametrize("seed", range(20))
def test_pseudonyms_of_pseudonyms_are_the_same(seed):
    """A snapshot captured again under pseudonyms is the same one, but for numbers of UIDs that were in names only."""
    once = anonymise(inventory(random.Random(seed)))
    twice = anonymise(once.cluster)
    uid = re.compile(r"00000000-0000-4000-8000-[0-9a-f]{12}")
    for name, text in files(once).items():
        assert uid.sub("uid", files(twice)[name]) == uid.sub("uid", text)
    assert files(anonymise(twice.cluster)) == files(twice)

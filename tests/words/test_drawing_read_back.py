"""The drawing read back in plain words: counts, kinds, selectors, links of every kind and strength."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dra_lab.model.claims import (
    CELDeviceSelector,
    DeviceRequest,
    DeviceSelector,
    ExactDeviceRequest,
)
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.sources import load_cluster
from dra_lab.words.drawing_words import request_sentence, selector_words

GPU, NIC = "gpu.nvidia.com", "dranet"


@pytest.fixture(scope="module")
def cluster():
    return load_cluster("sample:eks-p4d")


def ask(name: str, device_class: str, count: int = 1, **members: object) -> DeviceRequest:
    return DeviceRequest(name=name, exactly=ExactDeviceRequest(device_class_name=device_class, count=count, **members))


def drawn(*links: Link, gpus: int = 2, nics: int = 2) -> ClaimSketch:
    return ClaimSketch(requests=(ask("gpu", GPU, gpus), ask("nic", NIC, nics)), links=links)


def test_a_preferred_pair_is_no_must(cluster):
    link = Link("pairs", ("gpu", "nic"), how=How.PAIRWISE, must=False)
    assert "each with its own NIC, if possible on the same PCIe root." in request_sentence(drawn(link), cluster)


@pytest.mark.parametrize(
    ("link", "words"),
    [
        (Link("a", ("gpu", "nic")), "All GPUs and NICs share one PCIe root."),
        (Link("a", ("gpu", "nic"), "numaNode", must=False), "If possible, all GPUs and NICs share one NUMA node."),
        (Link("a", ("gpu",), "socket", How.APART), "No two of the GPUs share a socket."),
        (Link("a", ("gpu", "nic"), "a.b/c"), "All GPUs and NICs share one value of a.b/c."),
    ],
)
def test_every_kind_of_link_has_its_sentence(cluster, link, words):
    assert request_sentence(drawn(link), cluster) == f"You ask for 2 A100-SXM4-40GB GPUs and 2 NICs. {words}"


def test_groups_of_unequal_counts_are_reported_with_their_counts(cluster):
    sentence = request_sentence(drawn(Link("a", ("gpu", "nic"), how=How.PAIRWISE), gpus=4), cluster)
    assert sentence.endswith("Every group of 2 GPUs and 1 NIC shares a PCIe root.")


def test_several_links_are_all_reported(cluster):
    links = (Link("a", ("gpu", "nic"), how=How.PAIRWISE), Link("b", ("gpu", "nic"), "numaNode"))
    sentence = request_sentence(drawn(*links), cluster)
    assert "each with its own NIC on the same PCIe root. All GPUs and NICs share one NUMA node." in sentence


def test_without_a_cluster_the_class_is_named():
    assert request_sentence(drawn()) == f"You ask for 2 devices of class {GPU} and 2 devices of class {NIC}."


def test_nothing_drawn_has_no_sentence(cluster):
    assert request_sentence(ClaimSketch(), cluster) == ""


def test_a_selector_that_is_not_simple_is_counted(cluster):
    selector = DeviceSelector(cel=CELDeviceSelector(expression='device.attributes["x"].a > 3'))
    sketch = replace(drawn(), requests=(ask("gpu", GPU, 2, selectors=(selector,)),))
    assert "that match" in request_sentence(sketch, cluster)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('device.attributes["dra.net"].rdma == true', "rdma"),
        ('has(device.attributes["a"].rdma) && device.attributes["a"].rdma == false', "no rdma"),
        ('device.attributes["gpu.nvidia.com"].productName == "H100"', 'productName = "H100"'),
        ('device.driver == "a"', ""),
    ],
)
def test_simple_selectors_are_reported_in_short(text, words):
    assert selector_words(text) == words

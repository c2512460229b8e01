"""A pod that kube-scheduler gives up does not fit: text, JSON and exit status of every command say so."""

from __future__ import annotations

import re

import pytest
import yaml
from small_manifests import device_class, pod, request, selector, template
from small_nodes import a_slice, gpu

from dra_lab.cli import main
from dra_lab.manifests.documents import encode

BIG = "device.attributes['gpu.nvidia.com'].size == 'big'"
TEMPLATE = template("big", request("gpu", "every", selector(BIG)))
CLASS = device_class("every", "device.driver == 'gpu.nvidia.com'")


def slices(*found):
    """Write slices and the class."""
    return "---\n".join(yaml.safe_dump(encode(one)) for one in found) + CLASS


@pytest.fixture
def files(tmp_path):
    """Return a cluster whose second node has a device without the attribute, the claim, and a pod with the claim."""
    big, bare = gpu(0, **{"gpu.nvidia.com/size": "big"}), gpu(1)
    one, two = a_slice("gpu.nvidia.com", big, node="a"), a_slice("gpu.nvidia.com", bare, node="b")
    (tmp_path / "cluster.yaml").write_text(slices(one, two))
    (tmp_path / "same.yaml").write_text(slices(a_slice("gpu.nvidia.com", big, bare, node="a")))
    (tmp_path / "claim.yaml").write_text(TEMPLATE)
    (tmp_path / "pod.yaml").write_text(TEMPLATE + pod("work", "big"))
    (tmp_path / "pinned.yaml").write_text(TEMPLATE + pod("work", "big", more=["nodeName: a"]))
    return tmp_path


@pytest.mark.parametrize("asked", ["claim", "pod"])
def test_draw_says_that_no_pod_starts(files, capsys, asked):
    """The page, the sentence and the exit status of `draw` are those of `plan`."""
    page = files / "page.html"
    command = ["draw", str(files / "cluster.yaml"), "--claim", str(files / f"{asked}.yaml"), "--file", str(page)]
    assert main(command) == 1
    said = "no pod starts with this manifest"
    assert said in capsys.readouterr().out
    assert said in page.read_text()


def test_a_search_that_never_gets_to_the_node_fits(files, capsys):
    """The pod names the good node itself, so that no search meets the other device."""
    assert main(["plan", str(files / "cluster.yaml"), "--claim", str(files / "pinned.yaml")]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("Fits on 1 of 2 nodes")
    assert not re.search(r"^error: ", shown.err, re.MULTILINE)


@pytest.mark.parametrize("command", [("plan", "--claim"), ("check",)], ids=lambda command: command[0])
def test_a_device_that_the_search_does_not_meet_is_a_warning_that_says_so(files, capsys, command):
    """The first device matches, so the search ends before the one on which the selector fails: both are said."""
    name, *option = command
    assert main([name, str(files / "same.yaml"), *option, str(files / "pod.yaml")]) == 0
    shown = capsys.readouterr()
    lines = "\n".join(shown).splitlines()
    (line,) = (line.removeprefix("  - ") for line in lines if "a selector fails on" in line)
    assert line.startswith("warning: ")
    assert "On the nodes as they are now, the search ends before it reaches such a device" in line

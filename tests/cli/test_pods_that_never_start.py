"""plan, check and plan of replicas give one answer for a pod that kube-scheduler gives no devices on any node."""

from __future__ import annotations

import re

import pytest
import yaml
from small_manifests import amount, claim, cpus, device_class, device_slice, pod, request, same, selector, template
from small_nodes import a_slice, gpu

from dra_lab.cli import main
from dra_lab.manifests.documents import encode

ROOT = "resource.kubernetes.io/pcieRoot"
NUMA = "resource.kubernetes.io/numaNode"
NOWHERE = "kube-scheduler finds no devices for this pod on any node, although an allocation exists"


def requests(cores: int = 10) -> list[str]:
    """Two requests for shares of CPUs."""
    return [request(name, "dra.cpu", amount("dra.cpu/cpu", n)) for name, n in (("one", cores), ("two", 10))]


@pytest.fixture
def answers(tmp_path, capsys):
    """Return a function: exit status and text of every command that answers for a claim."""

    def ask(attribute=ROOT, release="1.36", cores=10, constraints=(), value="{strings: [a, b]}"):
        devices = [cpus(f"cpus{n}", 64, f"{attribute}: {value}", f"{NUMA}: {{int: {n}}}") for n in (0, 1)]
        (tmp_path / "cluster.yaml").write_text(device_slice("dra.cpu", *devices))
        text = template("cpus", *requests(cores), constraints=constraints)
        (tmp_path / "claim.yaml").write_text(text)
        (tmp_path / "pod.yaml").write_text(text + pod("work", "cpus"))
        cluster, file, work = (str(tmp_path / f"{name}.yaml") for name in ("cluster", "claim", "pod"))
        commands = {
            "plan": ["plan", cluster, "--claim", file],
            "plan a pod": ["plan", cluster, "--claim", work],
            "plan replicas": ["plan", cluster, "--claim", file, "--replicas", "1"],
            "plan replicas of a pod": ["plan", cluster, "--claim", work, "--replicas", "1"],
            "check": ["check", cluster, file],
            "check a pod": ["check", cluster, work],
        }
        found = {}
        for name, command in commands.items():
            status = main([*command, "--release", release])
            found[name] = status, "\n".join(capsys.readouterr())
        return found

    return ask


@pytest.mark.some(1)
@pytest.mark.parametrize("attribute", [ROOT, "dra.cpu/roots"])
def test_a_constraint_over_lists_fits_where_kube_scheduler_compares_lists(answers, attribute):
    """kube-scheduler of 1.37 compares lists, so that every command exits 0."""
    found = answers(attribute, "1.37", constraints=[same(attribute)])
    assert {name: status for name, (status, _) in found.items()} == dict.fromkeys(found, 0)


@pytest.mark.parametrize("attribute", [ROOT, "dra.cpu/roots"])
def test_a_constraint_over_lists_does_not_fit_where_kube_scheduler_compares_none(answers, attribute):
    """kube-scheduler of 1.36 allocates nothing for such a claim as written: every command exits 1 and says so."""
    found = answers(attribute, constraints=[same(attribute)])
    seen = {name: (status, NOWHERE in text, "does not compare lists" in text) for name, (status, text) in found.items()}
    assert seen == dict.fromkeys(found, (1, True, True))


def test_a_request_that_only_its_parts_can_serve_does_not_fit_as_written(answers):
    """An export would write two requests of 50 CPUs; the claim of 100 CPUs as written gets no device of 64."""
    found = answers(cores=100)
    values = {name: (status, NOWHERE in text) for name, (status, text) in found.items()}
    assert values == dict.fromkeys(found, (1, True))


def test_pods_that_share_a_claim_over_lists_do_not_fit(answers, tmp_path, capsys):
    answers()
    shared = claim("cpus", *requests(), constraints=[same(ROOT)])
    pods = "".join(pod(f"work-{number}", "cpus", by="resourceClaimName") for number in range(2))
    (tmp_path / "pods.yaml").write_text(shared + pods)
    statuses = []
    for release in ("1.36", "1.37"):
        files = [str(tmp_path / f"{name}.yaml") for name in ("cluster", "pods")]
        statuses.append(main(["check", *files, "--release", release]))
    assert statuses == [1, 0], capsys.readouterr().out


def test_a_field_that_the_release_drops_is_reported_in_the_same_words(answers):
    """Kubernetes 1.34 has no amounts: API servers drop them, so that no answer may say what kube-scheduler does."""
    found = answers("dra.cpu/other", "1.34", value="{int: 1}")
    why = "Does not fit. Request one: capacity needs the feature gate DRAConsumableCapacity, which is off in 1.34"
    values = {name: (status, why in text, "gives up" in text) for name, (status, text) in found.items()}
    assert values == dict.fromkeys(found, (1, True, False))


BIG = "device.attributes['gpu.nvidia.com'].size == 'big'"
TEMPLATE = template("big", request("gpu", "every", selector(BIG)))
CLASS = device_class("every", "device.driver == 'gpu.nvidia.com'")


def slices(*found):
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

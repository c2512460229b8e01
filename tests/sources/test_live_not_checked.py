"""Without the right to read what an answer needs, every command reports "not checked" and exits with 2."""

from __future__ import annotations

import json

import pytest
from checked_plans import checked_fleet
from contradictions import of_command
from small_manifests import claim, pod, request, template

from dra_lab import how_many_more
from dra_lab.cli import main
from dra_lab.errors import InputError
from dra_lab.model.plan import PlanStatus
from dra_lab.model.workload import Workload
from dra_lab.session import read_sketch
from dra_lab.sources import load_cluster

GPU = request("gpu", "gpu.nvidia.com")
LACKS = ("resourceslices", "deviceclasses", "dra")
COMMANDS = {
    "plan": ("plan", "context:test", "--claim", "claim.yaml"),
    "json": ("plan", "context:test", "--claim", "claim.yaml", "-o", "json"),
    "pod": ("plan", "context:test", "--claim", "pod.yaml"),
    "replicas": ("plan", "context:test", "--claim", "claim.yaml", "--replicas", "2"),
    "fleet-json": ("plan", "context:test", "--claim", "claim.yaml", "--replicas", "2", "-o", "json"),
    "check": ("check", "context:test", "claim.yaml"),
    "check-pod": ("check", "context:test", "pod.yaml"),
    "export": ("export", "context:test", "--claim", "claim.yaml", "--dir", "out"),
    "export-replicas": ("export", "context:test", "--claim", "claim.yaml", "--replicas", "2", "--dir", "out"),
}


@pytest.fixture
def take(server, config, tmp_path, monkeypatch):
    """Write the files of a claim and a pod, and take a right, or DRA, from the user."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "claim.yaml").write_text(claim("one", GPU))
    (tmp_path / "pod.yaml").write_text(template("one", GPU) + pod("pod", "one"))

    def without(what):
        if what == "dra":
            server.versions = ()
        else:
            server.denied = {("admin", "list", what)}

    return without


@pytest.mark.some(10)
@pytest.mark.parametrize("lacking", LACKS)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_needs_what_may_not_be_read_says_not_checked(take, capsys, command, lacking):
    """Whether the claim fits is not known, so no statement says that it does, or that it does not."""
    take(lacking)
    status = main(COMMANDS[command])
    printed = capsys.readouterr()
    text = "".join(printed).lower()
    assert (status, of_command(COMMANDS[command][0], status, printed.out, printed.err)) == (2, [])
    assert "does not fit" not in text
    if "json" in command:
        assert json.loads(printed.out)["outcome"] == "not-checked"
    else:
        assert "not checked: " in text


def test_pods_without_end_are_not_counted_on_devices_that_may_not_be_read(take):
    take("resourceslices")
    cluster = load_cluster("context:test")
    with pytest.raises(InputError, match="not checked: "):
        how_many_more(cluster, Workload("one", (read_sketch("claim.yaml"),)))


def test_a_pod_that_selects_nodes_by_label_needs_their_labels(take, tmp_path, capsys):
    """Without the Nodes no label is known, so that no node seems to be admitted."""
    take("nodes")
    (tmp_path / "pod.yaml").write_text(template("one", GPU) + pod("pod", "one", more=("nodeSelector: {zone: a}",)))
    statuses = [main([*COMMANDS["pod"], *more]) for more in ((), ("--replicas", "2"))]
    assert [*statuses, main(COMMANDS["check-pod"])] == [2, 2, 2]


@pytest.mark.parametrize("lacking", ["nodes", "resourceclaims", "pods", "devicetaintrules"])
def test_what_the_claim_does_not_need_may_be_unread(take, capsys, lacking):
    """A claim that fits on devices that were read fits."""
    take(lacking)
    assert main(COMMANDS["plan"]) == 0


def test_a_fleet_without_slices_has_no_bound(take):
    take("resourceslices")
    plan = checked_fleet(load_cluster("context:test"), [Workload("one", (read_sketch("claim.yaml"),), replicas=2)])
    assert (plan.status, plan.proven) == (PlanStatus.NOT_CHECKED, False)


@pytest.mark.parametrize("more", [(), ("--anonymise",)])
def test_a_snapshot_remembers_what_was_not_read(take, capsys, more):
    """A plan on the captured cluster is not checked either."""
    take("resourceslices")
    main(["capture", "context:test", "kept", *more])
    assert main(["plan", "kept", "--claim", "claim.yaml"]) == 2


def test_the_page_of_a_plan_that_is_not_checked_has_no_best(take, tmp_path):
    """No allocation was looked for, so that none is the best so far."""
    take("resourceslices")
    main(["draw", "context:test", "--claim", "claim.yaml", "--file", "page.html"])
    assert "best so far" not in (tmp_path / "page.html").read_text()

"""The public API: its names, and that importing it imports nothing heavy."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

import dra_lab

NAMES = [
    "KUBECTL",
    "AddedNodes",
    "AllocationResult",
    "CELDeviceSelector",
    "ClaimCanvas",
    "ClaimSketch",
    "Cluster",
    "ClusterBar",
    "DeviceAllocationResult",
    "DeviceID",
    "DeviceRequest",
    "DeviceRequestAllocationResult",
    "DeviceSelector",
    "DraLabError",
    "ExactDeviceRequest",
    "Explanation",
    "Finding",
    "FleetPlan",
    "Gang",
    "GangChoice",
    "GangFiles",
    "GangGroup",
    "GangPlan",
    "GangRegret",
    "GangReplay",
    "HardwareView",
    "Hierarchy",
    "How",
    "KubernetesRelease",
    "Lab",
    "Lesson",
    "Link",
    "NewDomains",
    "NodeType",
    "ObjectMeta",
    "Plan",
    "PlanView",
    "PodReason",
    "ReadGang",
    "ResourceClaim",
    "ResourceClaimStatus",
    "Scenario",
    "Session",
    "Wanted",
    "Workload",
    "added_frame",
    "asks",
    "check_cluster",
    "claims_of",
    "class_overview",
    "conflicts_frame",
    "cost_chart",
    "devices_frame",
    "explain",
    "export",
    "findings_frame",
    "fits_chart",
    "funnel_frame",
    "gang_choices",
    "gang_files",
    "gang_regret",
    "gang_verdicts",
    "goals_frame",
    "graph_frame",
    "graph_page",
    "hardware_svg",
    "hierarchies",
    "hierarchy_findings",
    "how_many_more",
    "how_many_more_gangs",
    "keep_names",
    "largest_job",
    "lessons",
    "load_cluster",
    "make_cluster",
    "make_plan",
    "manifest",
    "manifest_yaml",
    "migrate",
    "multiple",
    "nodes_frame",
    "nodes_to_add",
    "open_lesson",
    "pin_plan",
    "plan_fleet",
    "plan_gangs",
    "plan_scenarios",
    "pod_drawing",
    "provisioning_request",
    "read_gangs",
    "read_inventory",
    "read_manifests",
    "read_sketch",
    "read_workload",
    "regret_chart",
    "regret_frame",
    "relaxations_frame",
    "replay_kueue",
    "replay_plan",
    "replay_pod_group",
    "replicas_frame",
    "samples",
    "scarcity_frame",
    "scenarios_chart",
    "scenarios_frame",
    "shortfalls_frame",
    "stranded",
    "trace_gang",
    "utilisation_chart",
    "verdicts_frame",
    "when_idle",
    "with_more_nodes",
    "with_overlay",
    "within_search_budget",
    "without_nodes",
]


def test_a_new_public_name_is_a_conscious_change():
    """The public API has these names and no others, sorted."""
    assert dra_lab.__all__ == NAMES


def test_every_public_name_opens():
    """Each name is found in its room and says what it is."""
    for name in dra_lab.__all__:
        assert getattr(dra_lab, name).__doc__, name


def test_an_unknown_name_is_an_attribute_error():
    """A misspelt name raises the error that Python raises."""
    assert not hasattr(dra_lab, "load_clutser")


def test_everything_on_the_front_door_is_shown_somewhere():
    """Every public name stands in a notebook, in the README or on a page of the documentation."""
    root = dra_lab.__path__[0] + "/.."
    texts = ""
    for pattern in ("notebooks/**/*.ipynb", "README.md", "docs/**/*.md"):
        for path in sorted(Path(root).glob(pattern)):
            texts += path.read_text(encoding="utf-8")
    assert [name for name in NAMES if name not in texts] == []


@pytest.mark.parametrize("name", ["claims_of", "pod_drawing"])
def test_the_example_of_a_public_function_runs(name):
    """It gives what its docstring says."""
    example = doctest.DocTestFinder().find(getattr(dra_lab, name), name)[0]
    assert doctest.DocTestRunner().run(example).failed == 0

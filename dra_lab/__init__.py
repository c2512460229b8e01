"""A planner for Kubernetes Dynamic Resource Allocation, in Jupyter.

The names below are the public API. Each is imported when it is first used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dra_lab.model.printing import print_with
from dra_lab.version import __version__ as __version__

if TYPE_CHECKING:
    from dra_lab.checks.cluster_checks import check_cluster
    from dra_lab.course.class_overview import class_overview
    from dra_lab.course.lesson_run import open_lesson
    from dra_lab.course.lesson_text import lessons
    from dra_lab.errors import DraLabError
    from dra_lab.exports.bundle import Wanted
    from dra_lab.exports.gangs.gang_files import GangFiles, gang_files
    from dra_lab.exports.gangs.provisioning_request import provisioning_request
    from dra_lab.exports.manifests import manifest_yaml
    from dra_lab.exports.workload_file import read_workload
    from dra_lab.findings import Finding
    from dra_lab.gitops.folder import read_manifests
    from dra_lab.gitops.gangs_of_file import ReadGang, read_gangs
    from dra_lab.gitops.keep_names import keep_names
    from dra_lab.gitops.migration import migrate
    from dra_lab.gitops.pending import explain
    from dra_lab.model.allocation import (
        AllocationResult,
        DeviceAllocationResult,
        DeviceRequestAllocationResult,
        ResourceClaimStatus,
    )
    from dra_lab.model.claims import (
        CELDeviceSelector,
        DeviceRequest,
        DeviceSelector,
        ExactDeviceRequest,
        ResourceClaim,
    )
    from dra_lab.model.cluster import Cluster
    from dra_lab.model.fleet import FleetPlan, Workload
    from dra_lab.model.gang import Gang, GangGroup, GangPlan
    from dra_lab.model.gang_replay import GangReplay
    from dra_lab.model.hierarchy import Hierarchy
    from dra_lab.model.names import DeviceID
    from dra_lab.model.node_type import AddedNodes, NewDomains, NodeType
    from dra_lab.model.nodes import ObjectMeta
    from dra_lab.model.plan import Plan
    from dra_lab.model.pod_reason import Explanation, PodReason
    from dra_lab.model.release import KubernetesRelease
    from dra_lab.model.sketch import ClaimSketch, How, Link, asks, claims_of, pod_drawing
    from dra_lab.model.what_if import when_idle, with_more_nodes, without_nodes
    from dra_lab.pictures.charts import cost_chart, fits_chart, regret_chart, scenarios_chart, utilisation_chart
    from dra_lab.pictures.graph_page import graph_frame, graph_page
    from dra_lab.pictures.hardware import hardware_svg
    from dra_lab.pinning.gang_choices import GangChoice, gang_choices
    from dra_lab.pinning.pin_plan import pin_plan
    from dra_lab.pinning.plan_replay import replay_plan
    from dra_lab.pinning.replay_gang import replay_kueue, replay_pod_group
    from dra_lab.pinning.search_budget import within_search_budget
    from dra_lab.planner import make_plan
    from dra_lab.planner.fleet import how_many_more, largest_job, multiple, plan_fleet, stranded
    from dra_lab.planner.gangs import gang_verdicts, how_many_more_gangs, nodes_to_add, plan_gangs
    from dra_lab.planner.scenarios import Scenario, plan_scenarios
    from dra_lab.session import Session, read_sketch
    from dra_lab.session.outputs import export, manifest
    from dra_lab.sources import KUBECTL, load_cluster
    from dra_lab.sources.foreign import make_cluster, read_inventory
    from dra_lab.sources.samples import samples
    from dra_lab.topology.hierarchies import hierarchies, hierarchy_findings
    from dra_lab.widgets.claim_canvas import ClaimCanvas
    from dra_lab.widgets.cluster_bar import ClusterBar
    from dra_lab.widgets.hardware_view import HardwareView
    from dra_lab.widgets.lab import Lab
    from dra_lab.widgets.lesson import Lesson
    from dra_lab.widgets.plan_view import PlanView
    from dra_lab.words.added_document import added_frame
    from dra_lab.words.fleet_frames import replicas_frame, scenarios_frame
    from dra_lab.words.frames import (
        conflicts_frame,
        devices_frame,
        findings_frame,
        funnel_frame,
        goals_frame,
        nodes_frame,
        regret_frame,
        relaxations_frame,
        scarcity_frame,
        shortfalls_frame,
    )
    from dra_lab.words.gang_verdicts_document import verdicts_frame

_HOME = {
    "AddedNodes": "dra_lab.model.node_type",
    "AllocationResult": "dra_lab.model.allocation",
    "CELDeviceSelector": "dra_lab.model.claims",
    "ClaimCanvas": "dra_lab.widgets.claim_canvas",
    "ClaimSketch": "dra_lab.model.sketch",
    "Cluster": "dra_lab.model.cluster",
    "ClusterBar": "dra_lab.widgets.cluster_bar",
    "DeviceAllocationResult": "dra_lab.model.allocation",
    "DeviceID": "dra_lab.model.names",
    "DeviceRequest": "dra_lab.model.claims",
    "DeviceRequestAllocationResult": "dra_lab.model.allocation",
    "DeviceSelector": "dra_lab.model.claims",
    "DraLabError": "dra_lab.errors",
    "ExactDeviceRequest": "dra_lab.model.claims",
    "Explanation": "dra_lab.model.pod_reason",
    "Finding": "dra_lab.findings",
    "FleetPlan": "dra_lab.model.fleet",
    "Gang": "dra_lab.model.gang",
    "GangChoice": "dra_lab.pinning.gang_choices",
    "GangFiles": "dra_lab.exports.gangs.gang_files",
    "GangGroup": "dra_lab.model.gang",
    "GangPlan": "dra_lab.model.gang",
    "GangReplay": "dra_lab.model.gang_replay",
    "HardwareView": "dra_lab.widgets.hardware_view",
    "Hierarchy": "dra_lab.model.hierarchy",
    "How": "dra_lab.model.sketch",
    "KUBECTL": "dra_lab.sources",
    "KubernetesRelease": "dra_lab.model.release",
    "Lab": "dra_lab.widgets.lab",
    "Lesson": "dra_lab.widgets.lesson",
    "Link": "dra_lab.model.sketch",
    "NewDomains": "dra_lab.model.node_type",
    "NodeType": "dra_lab.model.node_type",
    "ObjectMeta": "dra_lab.model.nodes",
    "Plan": "dra_lab.model.plan",
    "PlanView": "dra_lab.widgets.plan_view",
    "PodReason": "dra_lab.model.pod_reason",
    "ReadGang": "dra_lab.gitops.gangs_of_file",
    "ResourceClaim": "dra_lab.model.claims",
    "ResourceClaimStatus": "dra_lab.model.allocation",
    "Scenario": "dra_lab.planner.scenarios",
    "Session": "dra_lab.session",
    "Wanted": "dra_lab.exports.bundle",
    "Workload": "dra_lab.model.fleet",
    "added_frame": "dra_lab.words.added_document",
    "asks": "dra_lab.model.sketch",
    "check_cluster": "dra_lab.checks.cluster_checks",
    "claims_of": "dra_lab.model.sketch",
    "conflicts_frame": "dra_lab.words.frames",
    "class_overview": "dra_lab.course.class_overview",
    "cost_chart": "dra_lab.pictures.charts",
    "devices_frame": "dra_lab.words.frames",
    "explain": "dra_lab.gitops.pending",
    "export": "dra_lab.session.outputs",
    "findings_frame": "dra_lab.words.frames",
    "fits_chart": "dra_lab.pictures.charts",
    "funnel_frame": "dra_lab.words.frames",
    "gang_choices": "dra_lab.pinning.gang_choices",
    "gang_files": "dra_lab.exports.gangs.gang_files",
    "gang_verdicts": "dra_lab.planner.gangs",
    "goals_frame": "dra_lab.words.frames",
    "graph_frame": "dra_lab.pictures.graph_page",
    "graph_page": "dra_lab.pictures.graph_page",
    "hardware_svg": "dra_lab.pictures.hardware",
    "hierarchies": "dra_lab.topology.hierarchies",
    "hierarchy_findings": "dra_lab.topology.hierarchies",
    "how_many_more": "dra_lab.planner.fleet",
    "how_many_more_gangs": "dra_lab.planner.gangs",
    "keep_names": "dra_lab.gitops.keep_names",
    "largest_job": "dra_lab.planner.fleet",
    "lessons": "dra_lab.course.lesson_text",
    "load_cluster": "dra_lab.sources",
    "make_cluster": "dra_lab.sources.foreign",
    "make_plan": "dra_lab.planner",
    "manifest": "dra_lab.session.outputs",
    "manifest_yaml": "dra_lab.exports.manifests",
    "migrate": "dra_lab.gitops.migration",
    "multiple": "dra_lab.planner.fleet",
    "nodes_frame": "dra_lab.words.frames",
    "nodes_to_add": "dra_lab.planner.gangs",
    "open_lesson": "dra_lab.course.lesson_run",
    "pin_plan": "dra_lab.pinning.pin_plan",
    "plan_fleet": "dra_lab.planner.fleet",
    "plan_gangs": "dra_lab.planner.gangs",
    "plan_scenarios": "dra_lab.planner.scenarios",
    "pod_drawing": "dra_lab.model.sketch",
    "provisioning_request": "dra_lab.exports.gangs.provisioning_request",
    "read_gangs": "dra_lab.gitops.gangs_of_file",
    "read_inventory": "dra_lab.sources.foreign",
    "read_manifests": "dra_lab.gitops.folder",
    "read_sketch": "dra_lab.session",
    "read_workload": "dra_lab.exports.workload_file",
    "regret_chart": "dra_lab.pictures.charts",
    "regret_frame": "dra_lab.words.frames",
    "relaxations_frame": "dra_lab.words.frames",
    "replay_kueue": "dra_lab.pinning.replay_gang",
    "replay_plan": "dra_lab.pinning.plan_replay",
    "replay_pod_group": "dra_lab.pinning.replay_gang",
    "replicas_frame": "dra_lab.words.fleet_frames",
    "samples": "dra_lab.sources",
    "scarcity_frame": "dra_lab.words.frames",
    "scenarios_chart": "dra_lab.pictures.charts",
    "scenarios_frame": "dra_lab.words.fleet_frames",
    "shortfalls_frame": "dra_lab.words.frames",
    "stranded": "dra_lab.planner.fleet",
    "utilisation_chart": "dra_lab.pictures.charts",
    "verdicts_frame": "dra_lab.words.gang_verdicts_document",
    "when_idle": "dra_lab.model.what_if",
    "with_more_nodes": "dra_lab.model.what_if",
    "within_search_budget": "dra_lab.pinning.search_budget",
    "without_nodes": "dra_lab.model.what_if",
}

__all__ = [
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
    "utilisation_chart",
    "verdicts_frame",
    "when_idle",
    "with_more_nodes",
    "within_search_budget",
    "without_nodes",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its module when it is first used."""
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'dra_lab' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public API."""
    return sorted([*__all__, "__version__"])


def _in_words(value: object) -> str:
    from dra_lab.words.shown import in_words

    return in_words(value)


def _teach_notebook() -> None:
    """Register the formatters of our results with a running IPython, once for all that shows results."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    if shell is not None:
        from dra_lab.words.shown import teach

        teach(shell)


print_with(_in_words)
_teach_notebook()

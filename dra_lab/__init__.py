"""A planning desk for Kubernetes Dynamic Resource Allocation, in Jupyter.

Nothing heavy is imported before it is used; the names below are the front door.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dra_lab.model.told import tell_with
from dra_lab.version import __version__ as __version__

if TYPE_CHECKING:
    from dra_lab.errors import DraLabError
    from dra_lab.findings import Finding
    from dra_lab.model.cluster import Cluster
    from dra_lab.model.fleet import FleetPlan, Workload
    from dra_lab.model.names import DeviceID
    from dra_lab.model.plan import Plan
    from dra_lab.model.release import KubernetesRelease
    from dra_lab.model.sketch import ClaimSketch, Link, claims_of, pod_drawing
    from dra_lab.pictures.graph_page import graph_page
    from dra_lab.pictures.hardware import hardware_svg
    from dra_lab.planner import make_plan
    from dra_lab.planner.fleet import how_many_more, plan_fleet
    from dra_lab.session import Session, read_sketch
    from dra_lab.sources import load_cluster
    from dra_lab.sources.foreign import make_cluster, read_inventory, with_overlay
    from dra_lab.sources.samples import samples
    from dra_lab.widgets.claim_canvas import ClaimCanvas
    from dra_lab.widgets.cluster_bar import ClusterBar
    from dra_lab.widgets.hardware_view import HardwareView
    from dra_lab.widgets.lab import Lab
    from dra_lab.widgets.plan_view import PlanView

_HOME = {
    "ClaimCanvas": "dra_lab.widgets.claim_canvas",
    "ClaimSketch": "dra_lab.model.sketch",
    "Cluster": "dra_lab.model.cluster",
    "ClusterBar": "dra_lab.widgets.cluster_bar",
    "DeviceID": "dra_lab.model.names",
    "DraLabError": "dra_lab.errors",
    "Finding": "dra_lab.findings",
    "FleetPlan": "dra_lab.model.fleet",
    "HardwareView": "dra_lab.widgets.hardware_view",
    "KubernetesRelease": "dra_lab.model.release",
    "Lab": "dra_lab.widgets.lab",
    "Link": "dra_lab.model.sketch",
    "Plan": "dra_lab.model.plan",
    "PlanView": "dra_lab.widgets.plan_view",
    "Session": "dra_lab.session",
    "Workload": "dra_lab.model.fleet",
    "claims_of": "dra_lab.model.sketch",
    "graph_page": "dra_lab.pictures.graph_page",
    "hardware_svg": "dra_lab.pictures.hardware",
    "how_many_more": "dra_lab.planner.fleet",
    "load_cluster": "dra_lab.sources",
    "make_cluster": "dra_lab.sources.foreign",
    "make_plan": "dra_lab.planner",
    "plan_fleet": "dra_lab.planner.fleet",
    "pod_drawing": "dra_lab.model.sketch",
    "read_inventory": "dra_lab.sources.foreign",
    "read_sketch": "dra_lab.session",
    "samples": "dra_lab.sources",
    "with_overlay": "dra_lab.sources.foreign",
}

__all__ = [
    "ClaimCanvas",
    "ClaimSketch",
    "Cluster",
    "ClusterBar",
    "DeviceID",
    "DraLabError",
    "Finding",
    "FleetPlan",
    "HardwareView",
    "KubernetesRelease",
    "Lab",
    "Link",
    "Plan",
    "PlanView",
    "Session",
    "Workload",
    "claims_of",
    "graph_page",
    "hardware_svg",
    "how_many_more",
    "load_cluster",
    "make_cluster",
    "make_plan",
    "plan_fleet",
    "pod_drawing",
    "read_inventory",
    "read_sketch",
    "samples",
    "with_overlay",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its room when it is first used."""
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'dra_lab' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the front door."""
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


tell_with(_in_words)
_teach_notebook()

"""The files that a person may add to an export: one row of `EXTRA_FILES` for the command line and the Export sheet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from dra_lab.errors import InputError
from dra_lab.exports.readme import fleet_readme, readme_text
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import FleetPlan
from dra_lab.model.plan import Plan
from dra_lab.model.sketch import ClaimSketch
from dra_lab.pictures.hardware import hardware_svg
from dra_lab.pinning.pin_plan import PinnedPlan
from dra_lab.pinning.replay_result import Replay
from dra_lab.sketch.manifest_target import Target


@dataclass(frozen=True)
class Exported:
    """An export to which files are added: the names of its `files` so far, and its plan, None if it was not planned.

    `drawn` is the drawing of the claim, None for a fleet.
    """

    cluster: Cluster
    target: Target
    files: Sequence[str]
    plan: Plan | FleetPlan | None = None
    drawn: ClaimSketch | None = None
    replay: Replay | None = None
    pinned_plan: PinnedPlan | None = None


@dataclass(frozen=True)
class ExtraFiles:
    """Files that the option of this name adds: what they are, also of a fleet if that is less, and their texts."""

    words: str
    make: Callable[[Exported], Mapping[str, str]]
    of_fleet: str = ""


def extra_texts(wanted: Sequence[str], export: Exported) -> dict[str, str]:
    """Return the texts of the wanted extra files by name, in the order of `EXTRA_FILES`.

    Raises InputError for a name that is not in `EXTRA_FILES`.
    """
    if unknown := next((name for name in wanted if name not in EXTRA_FILES), None):
        raise InputError(f"there are no extra files {unknown!r}; use {', '.join(EXTRA_FILES)}")
    texts: dict[str, str] = {}
    for name, extra in EXTRA_FILES.items():
        if name in wanted:
            texts |= extra.make(replace(export, files=(*export.files, *texts)))
    return texts


def _report(export: Exported) -> dict[str, str]:
    plan, files = export.plan, export.files
    if isinstance(plan, FleetPlan):
        readme = fleet_readme(plan, export.target, files, replay=export.replay, pinned_plan=export.pinned_plan)
        return {"README.md": readme}
    assert export.drawn is not None
    texts = {}
    if plan is not None and plan.node in export.cluster.node_by_name:
        texts["picture.svg"] = hardware_svg(export.cluster, plan.node, plan=plan)
    texts["README.md"] = readme_text(
        export.drawn,
        export.cluster,
        export.target,
        [*files, *texts],
        plan=plan,
        replay=export.replay,
        pinned_plan=export.pinned_plan,
    )
    return texts


EXTRA_FILES: Mapping[str, ExtraFiles] = {
    "report": ExtraFiles("README and picture of the plan", _report, of_fleet="README"),
}
"""Every choice of extra files; the report is the last one, because it lists the others."""

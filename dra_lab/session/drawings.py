"""What files ask for, as drawings: a drawing's own file, a claim, a template, an example of a sample."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dra_lab.errors import ManifestError
from dra_lab.findings import Severity
from dra_lab.model.release import RELEASES, KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, Drawing
from dra_lab.sources import read_claim
from dra_lab.sources.samples import PREFIX

PLAN_FILE = ".dralab.yaml"
"""How the name of a plan file ends."""


def read_sketch(source: str | Path) -> ClaimSketch:
    """Return what a file asks for: a drawing's file, a ResourceClaim, a ResourceClaimTemplate, `sample:NAME/EXAMPLE`.

    Raises SourceError, ManifestError or SketchError with file, line and path.
    """
    return read_claim(source, drawing_of, refuse_claim).sketch


def read_plan_file(source: str | Path) -> Drawing | None:
    """Return the drawing of a plan file with its node, release and goals; None for any other file.

    Raises SourceError or SketchError with file, line and path.
    """
    if not str(source).startswith(PREFIX) and not str(source).endswith(PLAN_FILE):
        return None
    return read_claim(source, drawing_of, refuse_claim)


def refuse_claim(text: str, source: str, document: int) -> None:
    """Raise ManifestError, with file, line and path, for a claim that the API server of no release would take."""
    from dra_lab.checks.documents import check_text

    for finding in check_text(text, source, KubernetesRelease(RELEASES[-1])):
        if finding.severity is Severity.ERROR and finding.origin is not None and finding.origin.document == document:
            raise ManifestError(finding.message, origin=finding.origin)


def drawing_of(spec: Any, name: str) -> Drawing:
    """Return the drawing of a claim's spec."""
    from dra_lab.authoring.read_back import sketch_of

    return Drawing(sketch=sketch_of(spec, name))

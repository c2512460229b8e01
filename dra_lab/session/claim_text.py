"""The claim of a session as text that a person may edit, and the way back from the text into the drawing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dra_lab.authoring.edited_claim import taken_over
from dra_lab.checks.documents import check_text
from dra_lab.errors import DraLabError, ManifestError
from dra_lab.findings import Origin, Severity
from dra_lab.manifests.drawings import decode_drawing
from dra_lab.manifests.yaml_text import YamlDocument, load_yaml
from dra_lab.session.drawables import CLAIM_KINDS, Drawable, Drawables, decoded_claim, drawables
from dra_lab.session.outputs import manifest
from dra_lab.sources import load_cluster

if TYPE_CHECKING:
    from dra_lab.gitops.corrections import Correction
    from dra_lab.session.session import Session

_SAMPLE = "sample:"
_BETWEEN = re.compile(r"^---\n", re.MULTILINE)
"""What stands between documents; a selector may have such a line too, but further to the right."""


def claim_text(session: Session) -> str:
    """Return the claim's document of the session's manifests as YAML, with the letters of the canvas as comments."""
    return claim_document(manifest(session).text)


def claim_document(text: str) -> str:
    """Return the claim's document of written manifests, "" where there is none."""
    for part in _BETWEEN.split(text):
        if any(f"\nkind: {kind}\n" in f"\n{part}" for kind in CLAIM_KINDS):
            return part
    return ""


def edit_claim(session: Session, text: str) -> bool:
    """Take an edited claim over into the drawing as one undo step; return False where it says nothing new.

    The drawing keeps what the edit left alone. Raises ManifestError with the line for text that is no YAML, holds no
    claim, more than one or something beside it, or that the API server would refuse, and SketchError for what cannot
    be drawn; the drawing then stays as it was.
    """
    document = _claim_of(text)
    for finding in check_text(text, "", session.release):
        if finding.severity is Severity.ERROR:
            raise ManifestError(f"{finding.message}", origin=finding.origin)
    name, spec = decoded_claim(document)
    sketch = taken_over(session.sketch, spec, session.cluster, session.release)
    if name and name != _written_name(session):
        sketch = replace(sketch, name=name)
    if sketch == session.sketch:
        return False
    session.edit(sketch)
    return True


def fixed_claim(session: Session, text: str) -> tuple[str, tuple[Correction, ...]]:
    """Return a claim's text with the corrections that have one sensible reading in the session's cluster, and those."""
    from dra_lab.gitops.corrections import corrected

    return corrected(text, "", session.cluster, session.release)


def is_drawn_text(text: str) -> bool:
    """Say whether a text is a drawing, a ResourceClaim or a ResourceClaimTemplate alone, to be opened on the canvas."""
    try:
        found = drawables({"": text})
    except DraLabError:
        return True  # one that is wrong: opening it says where
    return found is not None


def open_text(session: Session, text: str, source: str = "") -> str:
    """Make a drawing or claim, given as text, the session's drawing; return what of the text it does not show, or "".

    One undo step. A claim in KYAML is shown as KYAML. What the canvas cannot show of a claim is kept and stands in its
    YAML. The first of several claims is shown; the others stay in their file, which is not written. Raises
    ManifestError or SketchError with file and line; the present drawing then stays.
    """
    found = drawables({source: text})
    if found is None or not found.found:
        _claim_of(text)
        raise ManifestError("there is no ResourceClaimTemplate or ResourceClaim in the text", origin=Origin(source))
    open_drawable(session, found.found[0])
    return _others(found, source)


def open_drawable(session: Session, found: Drawable) -> None:
    """Show a drawing that was found in a text, as one undo step. Raises SketchError; the present drawing then stays."""
    session.open(found.drawing)
    session.in_kyaml = found.in_kyaml


def open_page(session: Session, drawing: str, source: str = "") -> str:
    """Open the plan file of a plan's page with the shipped cluster that it names; return what is missing, or "".

    Another cluster than a shipped one is not read: a page may come from anybody. Raises SketchError or ManifestError;
    the present drawing then stays.
    """
    plan = decode_drawing(drawing, source)
    other = plan.cluster and plan.cluster != session.cluster.name
    cluster = load_cluster(plan.cluster) if other and plan.cluster.startswith(_SAMPLE) else None
    session.open(plan, cluster)
    if not other or cluster is not None:
        return ""
    return (
        f"{source or 'The page'} was planned on {plan.cluster}, which is not loaded. "
        f"Its drawing is now planned on {session.cluster.name}. Load {plan.cluster} to see the same answer"
    )


def _others(found: Drawables, source: str) -> str:
    names = [one.drawing.sketch.name for one in found.found]
    if len(names) == 1:
        return " ".join(found.notes)
    where = source or "The text"
    return (
        f"{where} holds {len(names)} claims, and the canvas shows one at a time: {names[0]}. Left as they are in the "
        f"file: {', '.join(names[1:])}. All claims of a pod together: dra-lab plan CLUSTER --claim FILE"
    )


def _written_name(session: Session) -> str:
    from dra_lab.authoring.names import object_name

    return object_name(session.sketch.name)


def _claim_of(text: str) -> YamlDocument:
    documents = [d for d in load_yaml(text) if d.value is not None]
    found = [d for d in documents if isinstance(d.value, dict) and d.value.get("kind") in CLAIM_KINDS]
    if len(found) != 1:
        what = "no ResourceClaimTemplate or ResourceClaim" if not found else f"{len(found)} claims"
        raise ManifestError(f"there is {what} in the text; keep one", origin=Origin(line=1))
    for other in documents:
        if other is not found[0]:
            kind = other.value.get("kind") if isinstance(other.value, dict) else None
            what = f"of kind {kind}" if isinstance(kind, str) and kind else "without a kind"
            message = f"this document {what[:80]} is not the claim, and only the claim is kept; move it to its own file"
            raise ManifestError(message, origin=Origin(line=other.line()))
    return found[0]

"""The claim of a session as text that a person may edit, and the way back from the text into the drawing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dra_lab.checks.document_checks import check_text
from dra_lab.errors import ManifestError
from dra_lab.findings import Origin, Severity
from dra_lab.gitops.folder import Document, objects_of
from dra_lab.gitops.references import CLAIM_KINDS, written_claim
from dra_lab.manifests.file_text import expanded
from dra_lab.manifests.plan_files import decode_drawing
from dra_lab.manifests.yaml_text import YamlDocument, load_yaml, value_at
from dra_lab.model.cluster import Cluster
from dra_lab.model.sketch import ClaimSketch, Drawing, claims_of, pod_drawing
from dra_lab.session.drawables import EXAMPLE, Drawable, pod_claims
from dra_lab.session.outputs import manifest
from dra_lab.sketch.object_names import claim_objects, object_name
from dra_lab.sketch.read_back import sketch_of, taken_over
from dra_lab.sources import load_cluster, load_texts
from dra_lab.sources.samples import is_shipped

if TYPE_CHECKING:
    from dra_lab.gitops.corrections import Correction
    from dra_lab.session.session import Session

_BETWEEN = re.compile(r"^---\n", re.MULTILINE)
"""The separator of documents; a selector may have such a line too, but further to the right."""


def claim_text(session: Session) -> str:
    """Return the claims of the session's manifests as YAML, with the letters of the canvas as comments."""
    return claim_document(manifest(session).text)


def claim_document(text: str) -> str:
    """Return the claims' documents of written manifests, "" where there is none."""
    parts = _BETWEEN.split(text)
    found = [part for part in parts if any(f"\nkind: {kind}\n" in f"\n{part}" for kind in CLAIM_KINDS)]
    return "---\n".join(found)


def edit_claim(session: Session, text: str) -> bool:
    """Take edited claims over into the drawing as one undo step; return False where they say nothing new.

    Several claims are those of one pod, named as the pod names them if it is in the text. The drawing keeps what the
    edit left alone. Raises ManifestError with the line for text that is not YAML, contains no claim or something beside
    them, or that the API server would refuse. Raises SketchError for what cannot be drawn. The drawing then stays as it
    was.
    """
    documents, pod = _claims_in(text)
    for finding in check_text(text, "", session.release):
        if finding.severity is Severity.ERROR:
            raise ManifestError(f"{finding.message}", origin=finding.origin)
    sketch = _one_edited(session, documents[0]) if len(documents) == 1 else _pod_edited(session, documents, pod)
    if sketch == session.sketch:
        return False
    session.edit(sketch)
    return True


def _one_edited(session: Session, document: Document) -> ClaimSketch:
    name, spec = _name(document), written_claim(document).spec
    known = _by_object(session)
    before = known.get(name) or next(iter(known.values()))
    sketch = taken_over(before, spec, session.cluster, session.release)
    return replace(sketch, name=name) if name and (name not in known or session.sketch.claims) else sketch


def _pod_edited(session: Session, documents: list[Document], pod: YamlDocument | None) -> ClaimSketch:
    known, own = _by_object(session), object_name(session.sketch.name)
    entries: dict[tuple[str, str], list[str]] = {}
    for entry, key in (pod_claims(pod) if pod is not None else {}).items():
        entries.setdefault(key, []).append(entry)
    parts: dict[str, ClaimSketch] = {}
    for document in documents:
        name, spec = _name(document), written_claim(document).spec
        before = known.get(name)
        short = name.removeprefix(f"{own}-") or name
        drawn = before.name if before is not None and session.sketch.claims else short if before is None else name
        for claim in entries.get((document.kind, name)) or [object_name(drawn)]:
            if claim in parts:
                origin = Origin(line=document.line("metadata.name"))
                raise ManifestError(f"two claims are called {claim}; rename one", origin=origin)
            part = (
                sketch_of(spec, claim) if before is None else taken_over(before, spec, session.cluster, session.release)
            )
            parts[claim] = replace(part, name=claim)
    named = session.sketch.name
    if pod is not None:
        named = str(value_at(pod.value, "metadata.name") or named).removesuffix(EXAMPLE)
    return pod_drawing(named, parts.values())


def _name(document: Document) -> str:
    return str(value_at(document.value, "metadata.name") or "")


def _by_object(session: Session) -> dict[str, ClaimSketch]:
    """Return the drawn claims by the names of their templates."""
    return dict(zip(claim_objects(session.sketch), claims_of(session.sketch), strict=True))


def fixed_claim(session: Session, text: str) -> tuple[str, tuple[Correction, ...]]:
    """Return a claim's text with the corrections that have one sensible reading in the session's cluster, and those."""
    from dra_lab.gitops.corrections import corrected

    return corrected(text, "", session.cluster, session.release)


def open_drawable(session: Session, found: Drawable) -> str:
    """Show a drawing that was found in a text, as one undo step; return what is missing for it, or "".

    A plan file opens as a whole, on the loaded cluster. Raises SketchError; the present drawing then stays.
    """
    session.open(found.drawing, whole=found.is_plan)
    return _not_loaded(session, found.drawing, found.detail) if found.is_plan else ""


def read_page(text: str, present: str, source: str) -> tuple[Drawing, Cluster | None] | None:
    """Return the plan file of a plan's page and the cluster that it carries or names, None for the `present` one.

    Returns None for a text that is no such page. If the page names a cluster, only a shipped one is read, because a
    page may come from anyone. Raises SketchError, ManifestError or SourceError.
    """
    from dra_lab.pictures.report import plan_in

    page = plan_in(text)
    if page is None:
        return None
    plan = decode_drawing(page.drawing, source)
    if not plan.cluster or plan.cluster == present:
        return plan, None
    if is_shipped(plan.cluster):
        return plan, load_cluster(plan.cluster)
    if not page.snapshot:
        return plan, None
    packed = load_texts({f"{source}.tar.gz": page.snapshot})
    # a name that cannot be taken for that of a running cluster
    name = f"{plan.cluster.removeprefix('context:')} (from {source})"
    return plan, packed.with_objects(name=name)


def open_page(session: Session, plan: Drawing, cluster: Cluster | None, source: str) -> str:
    """Open what `read_page` returned; return what is missing, or "". Raises SketchError; the present drawing stays."""
    session.open(plan, cluster, whole=True)
    return _not_loaded(session, plan, source) if cluster is None else ""


def cluster_to_read(session: Session, drawing: Drawing) -> str:
    """Return the cluster that is to be read for a plan file, "" for none: a sample, or a file that is there.

    A running cluster is not read without being asked for.
    """
    name = drawing.cluster
    if not name or name == session.snapshot.name:
        return ""
    return name if is_shipped(name) or (":" not in name and expanded(Path(name)).exists()) else ""


def _not_loaded(session: Session, plan: Drawing, source: str) -> str:
    """Return that the cluster of a plan file is not the one that is loaded, "" if it is."""
    if not plan.cluster or plan.cluster == session.snapshot.name:
        return ""
    return (
        f"{source[:1].upper()}{source[1:]} was planned on {plan.cluster}, which is not loaded. "
        f"Its drawing is now planned on {session.snapshot.name}. Load {plan.cluster} to see the same answer"
    )


def _claims_in(text: str) -> tuple[list[Document], YamlDocument | None]:
    """Return the claims of a text, and the pod that uses them. Raises ManifestError for none, or what else it holds."""
    documents = [d for d in load_yaml(text) if d.value is not None]
    found = [d for d in documents if isinstance(d.value, dict) and d.value.get("kind") in CLAIM_KINDS]
    if not found:
        raise ManifestError(
            "there is no ResourceClaimTemplate or ResourceClaim in the text; keep one", origin=Origin(line=1)
        )
    pod = next((d for d in documents if pod_claims(d)), None)
    for other in documents:
        if other not in found and other is not pod:
            kind = other.value.get("kind") if isinstance(other.value, dict) else None
            what = f"of kind {kind}" if isinstance(kind, str) and kind else "without a kind"
            message = f"this document {what[:80]} is not the claim, and only the claim is kept; move it to its own file"
            raise ManifestError(message, origin=Origin(line=other.line()))
    return [claim for document in found for claim in objects_of(document, "")], pod

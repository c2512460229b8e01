"""What files ask for, as drawings: a drawing's own file, a claim, a template, an example of a sample."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dra_lab.errors import ManifestError, SourceError
from dra_lab.findings import Origin, Severity
from dra_lab.manifests.plan_files import encode_drawing
from dra_lab.model.release import NEWEST_FINAL, KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, Drawing
from dra_lab.sources import read_claim, read_drawing, write_drawing
from dra_lab.sources.samples import PREFIX

PLAN_FILE = ".dralab.yaml"
"""How the name of a plan file ends."""


def read_sketch(source: str | Path) -> ClaimSketch:
    """Return what a file requests, as a drawing.

    Args:
        source: A drawing's file, a ResourceClaim, a ResourceClaimTemplate, or `sample:NAME/EXAMPLE`. A file or folder
            with a pod or workload is one drawing with all claims of the pod.

    Returns:
        The drawing.

    Raises:
        SourceError: The file cannot be read.
        ManifestError: A document is broken, with file, line and path.
        SketchError: The drawing is inconsistent.

    Example:
        >>> from dra_lab import read_sketch
        >>> [link.name for link in read_sketch("sample:two-sockets/lesson").links]
        ['one-numa']
    """
    pod = _pod_at(source)
    return pod if pod is not None else read_claim(source, drawing_of, refuse_claims).sketch


def _pod_at(source: str | Path) -> ClaimSketch | None:
    """Return the drawing of the only pod of a file or folder, None if there is no pod with its claims."""
    from dra_lab.session.drawables import drawables, has_pod, texts_at

    texts = {} if str(source).startswith(PREFIX) else texts_at(str(source))
    if not has_pod(texts):
        return None
    for name, text in texts.items():
        refuse_claims(text, name)
    found = drawables(texts)
    pods = [one for one in found.found if one.is_pod] if found is not None else []
    if len(pods) > 1:
        message = f"it holds {len(pods)} pods ({', '.join(one.label for one in pods)}); give a file with one"
        raise SourceError(message, origin=Origin(str(source)))
    return pods[0].drawing.sketch if pods else None


def read_plan_file(source: str | Path) -> Drawing | None:
    """Return the drawing of a plan file with its node, release and goals; None for any other file.

    Raises SourceError or SketchError with file, line and path.
    """
    if not str(source).startswith(PREFIX) and not str(source).endswith(PLAN_FILE):
        return None
    return read_claim(source, drawing_of, refuse_claims)


def refuse_claims(text: str, source: str, document: int | None = None) -> None:
    """Raise ManifestError, with file, line and path, for what the API server of no release would take of a text."""
    from dra_lab.checks.document_checks import check_text

    for finding in check_text(text, source, KubernetesRelease(NEWEST_FINAL)):
        if finding.severity is not Severity.ERROR or finding.origin is None:
            continue
        if document is None or finding.origin.document == document:
            raise ManifestError(finding.message, origin=finding.origin)


def drawing_of(spec: Any, name: str) -> Drawing:
    """Return the drawing of a claim's spec."""
    from dra_lab.sketch.read_back import sketch_of

    return Drawing(sketch=sketch_of(spec, name))


class DrawingFile:
    """A file that holds one drawing, and what it held when we last read or wrote it."""

    def __init__(self, path: Path) -> None:
        """Name the file; nothing is read yet."""
        self.path = path
        self._seen = self._content()

    def read(self) -> Drawing | None:
        """Return the file's drawing, None when there is no file. Raises SourceError or SketchError."""
        self._seen = self._content()
        return read_drawing(self.path) if self._seen is not None else None

    def write(self, drawing: Drawing) -> bool:
        """Write the drawing; returns False, and writes nothing, when the file changed since. Raises ExportError."""
        text = encode_drawing(drawing).encode()
        if text == self._content():
            self._seen = text
            return True
        if self.changed_on_disk():
            return False
        self.overwrite(drawing)
        return True

    def overwrite(self, drawing: Drawing) -> None:
        """Write the drawing whatever the file holds. Raises ExportError."""
        write_drawing(self.path, drawing)
        self._seen = self._content()

    def changed_on_disk(self) -> bool:
        """Say whether the file holds something else than when we last read or wrote it."""
        return self._content() != self._seen

    def _content(self) -> bytes | None:
        try:
            return self.path.read_bytes()
        except OSError:
            return None

"""The drawing's file: text to Drawing and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from dra_lab.errors import InputError, ManifestError, SketchError
from dra_lab.findings import Origin
from dra_lab.manifests.typed import convert
from dra_lab.manifests.yaml_text import dump_yaml, load_yaml
from dra_lab.model.plan import goal_order
from dra_lab.model.release import DEFAULT_RELEASE, KubernetesRelease
from dra_lab.model.sketch import DRAWING_VERSION, Drawing, check_sketch

_HEADER = "# A drawing of dra_lab: requests, links, layout. Edit it here or on the canvas.\n"


def is_drawing(value: Any) -> bool:
    """Say whether a plain document is a drawing and not a Kubernetes object."""
    return isinstance(value, dict) and value.get("kind") == "Drawing"


def decode_drawing(text: str, source: str = "") -> Drawing:
    """Return the drawing of a file's text; an empty text is an empty drawing.

    Raises SketchError with file, line and path when it is broken, of an unknown version or inconsistent.
    """
    try:
        documents = list(load_yaml(text, source))
    except ManifestError as error:
        raise SketchError(error.message, origin=error.origin) from None
    if not documents:
        return Drawing()
    if len(documents) > 1:
        raise SketchError("a drawing's file holds one document", origin=Origin(source, 2, line=documents[1].line()))
    return drawing_of(documents[0].value, source, documents[0].line)


def drawing_of(value: Any, source: str, line: Any = None) -> Drawing:
    """Return the drawing of a plain document. `line` maps a path to a line, where the text is known."""
    origin = Origin(source, line=line() if line else 0)
    if not is_drawing(value):
        raise SketchError("this is no drawing (kind: Drawing)", origin=origin)
    if value.get("apiVersion") != DRAWING_VERSION:
        version = value.get("apiVersion")
        message = f"apiVersion {version!r} of the drawing is not known; this dra_lab reads {DRAWING_VERSION}"
        raise SketchError(message, origin=origin)
    try:
        drawing = convert(value, Drawing, origin)
    except ManifestError as error:
        place = error.origin or origin
        where = Origin(source, path=place.path, line=line(place.path) if line else 0)
        raise SketchError(error.message, origin=where) from None
    try:
        check_sketch(drawing.sketch)
    except SketchError as error:
        raise SketchError(error.message, origin=Origin(source, path="sketch")) from None
    _check_settings(drawing, source, line)
    return drawing


def _check_settings(drawing: Drawing, source: str, line: Any) -> None:
    """Raise SketchError at the field for a release or goal that is not known."""
    checks: dict[str, Callable[[], object]] = {
        "release": lambda: KubernetesRelease(drawing.release or DEFAULT_RELEASE),
        "goals": lambda: goal_order(drawing.goals),
    }
    for path, check in checks.items():
        try:
            check()
        except InputError as error:
            place = Origin(source, path=path, line=line(path) if line else 0)
            raise SketchError(f"{error.message}; correct it, or remove the line", origin=place) from None


def encode_drawing(drawing: Drawing) -> str:
    """Return the text of a drawing's file; the same drawing gives the same text."""
    plain: dict[str, Any] = msgspec.to_builtins(drawing)
    return _HEADER + dump_yaml({"apiVersion": DRAWING_VERSION, "kind": "Drawing", **plain})

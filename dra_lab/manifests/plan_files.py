"""The drawing's file: text to Drawing and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from dra_lab.errors import InputError, ManifestError, SketchError, did_you_mean
from dra_lab.findings import Origin
from dra_lab.manifests.typed import convert
from dra_lab.manifests.yaml_text import dump_yaml, load_yaml
from dra_lab.model.goals import goal_order
from dra_lab.model.layers import check_layer
from dra_lab.model.release import DEFAULT_RELEASE, KubernetesRelease
from dra_lab.model.sketch import DRAWING_VERSION, ClaimSketch, Drawing, Kept, pod_drawing
from dra_lab.model.sketch_rules import check_pods, check_same, check_sketch

FIRST_VERSION = "dra-lab/v1"
"""The version of files with one drawing."""

_ADDED = ("workloads", "editing", "layers", "addable", "movable", "kept", "view")
_SETTINGS = ("release", "goals")
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
        raise SketchError(
            "the file of a drawing contains one document", origin=Origin(source, 2, line=documents[1].line())
        )
    return drawing_of(documents[0].value, source, documents[0].line)


def drawing_of(value: Any, source: str, line: Any = None) -> Drawing:
    """Return the drawing of a plain document. `line` maps a path to a line, where the text is known."""
    origin = Origin(source, line=line() if line else 0)
    if not is_drawing(value):
        raise SketchError("this is not a drawing (kind: Drawing)", origin=origin)
    _check_version(value, source, line)
    try:
        drawing = convert({**_without_spare(value), "apiVersion": DRAWING_VERSION}, Drawing, origin)
    except ManifestError as error:
        place = error.origin or origin
        where = Origin(source, path=place.path, line=line(place.path) if line else 0)
        raise SketchError(error.message, origin=where) from None
    for path, check in _checks(drawing).items():
        try:
            check()
        except InputError as error:
            place = Origin(source, path=path, line=line(path) if line else 0)
            advice = "; correct it, or remove the line" if path in _SETTINGS else ""
            raise SketchError(f"{error.message}{advice}", origin=place) from None
    return with_edited(drawing)


def _without_spare(value: dict[str, Any]) -> dict[str, Any]:
    """Return a plain drawing without the spare nodes that files of earlier versions ask for."""
    addable = value.get("addable")
    if not isinstance(addable, dict):
        return value
    return {**value, "addable": {name: one for name, one in addable.items() if name != "spare"}}


def with_edited(drawing: Drawing) -> Drawing:
    """Return the drawing with the claims of the workload that is edited as its sketch."""
    edited = (pod_drawing(drawing.sketch.name, pod.claims) for pod in drawing.workloads if pod.pod == drawing.editing)
    return replace(drawing, sketch=next(edited, drawing.sketch))


def _check_version(value: dict[str, Any], source: str, line: Any) -> None:
    """Raise SketchError for a version that is not read, and for fields that the version of the file does not have."""
    version = value.get("apiVersion")
    if version == FIRST_VERSION:
        for name in (name for name in _ADDED if name in value):
            place = Origin(source, path=name, line=line(name) if line else 0)
            raise SketchError(f"{FIRST_VERSION} has no field {name!r}; write {DRAWING_VERSION}", origin=place)
    elif version != DRAWING_VERSION:
        known = f"{DRAWING_VERSION} and {FIRST_VERSION}"
        message = f"apiVersion {version!r} of the drawing is not supported; this dra-lab reads {known}"
        raise SketchError(message, origin=Origin(source, line=line() if line else 0))


def _checks(drawing: Drawing) -> Mapping[str, Callable[[], object]]:
    """Return what must hold, by the path of the field that is wrong if it does not."""
    checks: dict[str, Callable[[], object]] = {
        "sketch": partial(check_sketch, drawing.sketch),
        "release": partial(KubernetesRelease, drawing.release or DEFAULT_RELEASE),
        "goals": partial(goal_order, drawing.goals),
    }
    checks |= {
        f"workloads[{number}].gang.same": partial(check_same, pod) for number, pod in enumerate(drawing.workloads)
    }
    checks |= {
        f"workloads[{number}]": partial(check_pods, drawing.workloads[: number + 1])
        for number in range(len(drawing.workloads))
    }
    checks["editing"] = partial(_check_editing, drawing)
    checks |= {f"layers[{number}]": partial(check_layer, layer) for number, layer in enumerate(drawing.layers)}
    for number, kept in enumerate(drawing.kept):
        checks[f"kept[{number}]"] = partial(_check_kept, kept, drawing.kept[:number])
    return checks


def _check_editing(drawing: Drawing) -> None:
    found = [pod for pod in drawing.workloads if pod.pod == drawing.editing]
    if drawing.editing and not found:
        names = [pod.pod for pod in drawing.workloads]
        raise SketchError(f"there is no workload {drawing.editing!r}{did_you_mean(drawing.editing, names)}")


def _check_kept(kept: Kept, before: Sequence[Kept]) -> None:
    if not kept.name or any(kept.name == other.name for other in before):
        raise SketchError(f"two kept plans are named {kept.name!r}" if kept.name else "a kept plan needs a name")
    check_sketch(kept.sketch)
    check_pods(kept.workloads)
    for layer in kept.layers:
        check_layer(layer)


def encode_drawing(drawing: Drawing) -> str:
    """Return the text of a drawing's file; the same drawing has the same text.

    The claims of the workload that is edited are written once, with their workload.
    """
    if drawing.editing:
        kept = ClaimSketch(name=drawing.sketch.name) if drawing.sketch.claims else ClaimSketch()
        drawing = replace(drawing, sketch=kept)
    plain: dict[str, Any] = msgspec.to_builtins(drawing)
    return _HEADER + dump_yaml({"apiVersion": DRAWING_VERSION, "kind": "Drawing", **plain})

"""Drawings and claims from files: a drawing's file, a ResourceClaim or a ResourceClaimTemplate."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from dra_lab.errors import ExportError, ManifestError, SourceError
from dra_lab.findings import Origin
from dra_lab.manifests.documents import decode_object, hub_document, is_read
from dra_lab.manifests.file_text import expanded, open_to_others, read_bytes, utf8_text
from dra_lab.manifests.plan_files import decode_drawing, drawing_of, encode_drawing, is_drawing
from dra_lab.manifests.yaml_text import load_yaml
from dra_lab.model.claims import ResourceClaim, ResourceClaimSpec, ResourceClaimTemplate
from dra_lab.model.device import RESOURCE_V1
from dra_lab.model.sketch import Drawing
from dra_lab.sources.samples import PREFIX, example_path

MAX_DRAWING_BYTES = 4 * 2**20


def read_drawing(path: Path) -> Drawing:
    """Return the drawing in a file. Raises SourceError when it cannot be read, SketchError when it is broken."""
    return decode_drawing(_text(path), str(path))


def write_drawing(path: Path, drawing: Drawing) -> None:
    """Write a drawing's file as a whole, under another name first. Raises ExportError."""
    write_whole(path, encode_drawing(drawing))


def write_whole(path: Path, text: str, *, private: bool = False) -> None:
    """Write text to a file so that there is the old file or the new file, never a mixture. Raises ExportError.

    A `private` file may be read by its owner only.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        put_whole(path, text.encode(), 0o600 if private else open_to_others(0o666))
    except OSError as error:
        raise ExportError(f"{str(path)!r} cannot be written: {error.strerror or error}") from None


def put_whole(path: Path, data: bytes, mode: int) -> None:
    """Write a file under another name first, with the rights `mode`. Raises OSError."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_claim(
    source: str | Path,
    from_spec: Callable[[ResourceClaimSpec, str], Drawing],
    check: Callable[[str, str, int], None] | None = None,
) -> Drawing:
    """Return what a file asks for: a drawing as it is, a ResourceClaim or ResourceClaimTemplate through `from_spec`.

    `check` is given the text, the file's name and the number of a claim's document, and raises what is wrong with it.
    `source` may be `sample:NAME/EXAMPLE`. Raises SourceError, ManifestError or SketchError with file, line and path;
    a field that the API does not know is an error, as a person wrote it.
    """
    path = example_path(source) if isinstance(source, str) and source.startswith(PREFIX) else Path(source)
    text = _text(path)
    documents = list(load_yaml(text, str(path)))
    for document in documents:
        value = document.value
        if is_drawing(value):
            return drawing_of(value, str(path), document.line)
        kind = value.get("kind") if isinstance(value, dict) else None
        if kind not in ("ResourceClaim", "ResourceClaimTemplate"):
            continue
        origin = Origin(str(path), document.number, str(kind), line=document.line())
        if not is_read(kind, value.get("apiVersion")):
            message = f"apiVersion {value.get('apiVersion')!r} of {kind} is not supported; write it as {RESOURCE_V1}"
            raise ManifestError(message, origin=origin)
        model = ResourceClaim if kind == "ResourceClaim" else ResourceClaimTemplate
        try:
            claim = decode_object(hub_document(value, kind), model, origin)
        except ManifestError as error:
            place = error.origin or origin
            where = Origin(place.source, place.document, place.object, place.path, document.line(place.path))
            raise ManifestError(error.message, origin=where) from None
        if check is not None:
            check(text, str(path), document.number)
        spec = claim.spec if kind == "ResourceClaim" else claim.spec.spec
        return from_spec(spec, claim.metadata.name or "claim")
    message = "it contains no ResourceClaim, ResourceClaimTemplate or drawing"
    raise SourceError(message, origin=Origin(str(path)))


def _text(path: Path) -> str:
    try:
        return utf8_text(read_bytes(expanded(path), MAX_DRAWING_BYTES), str(path))
    except ManifestError as error:
        raise SourceError(error.message, origin=error.origin) from None
    except SourceError as error:
        advice = "give a file with a drawing or claim, or sample:NAME/EXAMPLE (see dra-lab samples)"
        raise SourceError(f"{error.message}; {advice}") from None

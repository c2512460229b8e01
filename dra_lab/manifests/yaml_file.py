"""A person's YAML or JSON file with a few values changed: everything else stays as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from dra_lab.errors import ManifestError
from dra_lab.findings import Origin
from dra_lab.manifests.yaml_edits import Edit, EditableDocument, NotInTextError, apply_edits
from dra_lab.manifests.yaml_text import YamlDocument, load_yaml, value_at
from dra_lab.model.decoding import json_value


class YamlFile:
    """The documents of a YAML or JSON text, to be changed in place and written again.

    `values` are the documents by their number, from 1; empty and broken ones count and are left out.
    """

    def __init__(self, text: str, source: str = "") -> None:
        """Parse a text."""
        self._text, self._source = text, source
        self.values = {document.number: _own(document.value) for document in _readable(text)}

    def at(self, document: int, path: str) -> Any:
        """Return what is at a path of a document, None where there is nothing."""
        return value_at(self.values[document], path)

    def text(self) -> str:
        """Return the text with the present values; JSON has its indentation.

        Raises ManifestError for a value that cannot be changed in place.
        """
        indent = _json_indent(self._text)
        if indent is not None:
            return json.dumps(self.values[1], indent=indent or None, ensure_ascii=False) + "\n"
        edits: list[Edit] = []
        documents = _readable(self._text)
        for document in documents:
            edits += self._edits(document)
        after = apply_edits(self._text, edits)
        found = {document.number: document.value for document in _readable(after)}
        for document in documents:
            if found.get(document.number) != self.values[document.number]:
                raise self._refusal(document)
        return after

    def _edits(self, document: YamlDocument) -> list[Edit]:
        try:
            editable = EditableDocument(self._text, document)
            return _changes(editable, (), document.value, self.values[document.number])
        except NotInTextError:
            raise self._refusal(document) from None

    def _refusal(self, document: YamlDocument) -> ManifestError:
        message = "it cannot be changed in place: an anchor (&) shares a value, or a key stands on the line of another"
        return ManifestError(f"{message}. Write the value out first", origin=Origin(self._source, document.number))


def _changes(document: EditableDocument, path: tuple[str | int, ...], old: Any, new: Any) -> list[Edit]:
    """Return the edits that make a value another one; only what differs changes."""
    if old == new:
        return []
    kept = isinstance(old, Mapping) and isinstance(new, Mapping) and [key for key in old if key in new]
    if kept or (new and isinstance(new, Mapping) and document.is_block(path)):
        inside = [edit for key in kept or () for edit in _changes(document, (*path, key), old[key], new[key])]
        more = {key: value for key, value in new.items() if key not in old}
        return inside + document.entries(path, old.keys() - new.keys(), more)
    if isinstance(old, list) and isinstance(new, list) and old and len(new) >= len(old):
        pairs = enumerate(zip(old, new, strict=False))
        edits = [edit for index, pair in pairs for edit in _changes(document, (*path, index), *pair)]
        return edits + [edit for item in new[len(old) :] for edit in document.appended(path, item)]
    return document.rewritten(path, new)


def _readable(text: str) -> list[YamlDocument]:
    """Return the documents of a text that can be read."""
    return list(load_yaml(text, broken=lambda _: None))


def _own(value: Any) -> Any:
    """Return a value of which no part is another part too, as aliases make it."""
    if isinstance(value, Mapping):
        return {key: _own(item) for key, item in value.items()}
    return [_own(item) for item in value] if isinstance(value, list) else value


def _json_indent(text: str) -> int | None:
    """Return by how much the lines of a JSON text are indented, 0 for a single line, None for what is no JSON."""
    try:
        json_value(text)
    except (ValueError, RecursionError):
        return None
    inner = re.search(r"\n( +)\S", text)
    return len(inner[1]) if inner else 0

"""A person's YAML or JSON file with a few values changed: everything else stays as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from dra_lab.errors import ManifestError
from dra_lab.findings import Origin
from dra_lab.gitops.folder import SUFFIXES
from dra_lab.manifests.file_text import STANDARD_INPUT
from dra_lab.manifests.kyaml import dump_kyaml, is_kyaml
from dra_lab.manifests.yaml_edits import with_values
from dra_lab.manifests.yaml_text import dump_yaml, load_yaml
from dra_lab.model.decoding import json_value

_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


class YamlFile:
    """The documents of a text, to be changed in place and written again."""

    def __init__(self, text: str, source: str = "") -> None:
        """Parse a text. Raises ManifestError when it is no YAML."""
        self._text, self._source = text, source
        self._numbered = {document.number: _own(document.value) for document in load_yaml(text, source)}
        self._json = _json_indent(text)

    def at(self, document: int, path: str) -> Any:
        """Return what is at a path of a document (from 1, empty ones count). Raises KeyError or IndexError."""
        value = self._numbered[document]
        for index, key in _STEP.findall(path):
            value = value[int(index)] if index else value[key]
        return value

    def text(self) -> str:
        """Return the documents as text, with JSON on one line where it was on one.

        Raises ManifestError for a value that cannot be changed in place.
        """
        values = [*self._numbered.values()]
        if self._json is not None:
            return json.dumps(values[0], indent=self._json or None, ensure_ascii=False) + "\n"
        try:
            return with_values(self._text, values)
        except ManifestError as error:
            number = error.origin.document if error.origin is not None else 0
            raise ManifestError(error.message, origin=Origin(self._source, number)) from None

    def dump(self, value: Any) -> str:
        """Return another document in the form of this file, as far as it is YAML: in flow style beside KYAML."""
        return dump_kyaml(value) if is_kyaml(self._text) else dump_yaml(value)


def changed_name(source: str, taken: Collection[str]) -> str:
    """Return the name of a changed file: its own, behind as many of its folders as make it another name."""
    path = Path(source if source != STANDARD_INPUT else "workloads.yaml")
    name = path.name if path.suffix.lower() in SUFFIXES else f"{path.name}.yaml"
    above = [part for part in path.parent.parts if part.strip("./")]
    while name in taken:
        name = f"{above.pop() if above else 'more'}-{name}"
    return name


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


def remove_keys(parent: Any, name: str, keys: frozenset[str]) -> None:
    """Remove keys from the mapping `parent[name]`, and that mapping where nothing is left in it."""
    found = parent.get(name)
    if not isinstance(found, dict):
        return
    for key in [key for key in found if key in keys]:
        del found[key]
    if not found:
        del parent[name]

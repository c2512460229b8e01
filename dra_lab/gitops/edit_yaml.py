"""A person's YAML file with a few values changed: comments, order and quotes stay."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.constructor import RoundTripConstructor
from ruamel.yaml.error import YAMLError

from dra_lab.errors import ManifestError
from dra_lab.findings import Origin
from dra_lab.manifests.kyaml import dump_kyaml, is_kyaml
from dra_lab.manifests.yaml_edits import with_values
from dra_lab.manifests.yaml_text import comments_above, dump_yaml, load_yaml
from dra_lab.model.decoding import json_value

_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_INDENTED_ITEM = re.compile(r"^( *)[^\s#-][^\n]*:[ ]*(?:#[^\n]*)?\n(?:[ ]*#[^\n]*\n|[ ]*\n)*( *)- ", re.MULTILINE)


class _LastKey(RoundTripConstructor):
    """Reads the last value of a key that is there twice, as kubectl does."""

    def check_mapping_key(self, *_: Any) -> bool:
        return True


class YamlFile:
    """The documents of a text, to be changed in place and written again."""

    def __init__(self, text: str, source: str = "") -> None:
        """Parse a text, whose line ends stay as they are. Raises ManifestError when it is no YAML."""
        self._kyaml = text if is_kyaml(text) else ""
        if self._kyaml:
            self._numbered = {document.number: document.value for document in load_yaml(text, source)}
            return
        self._windows = "\r\n" in text
        text = text.replace("\r\n", "\n")
        self._head = comments_above(text)
        text = text[len(self._head) :]
        self._yaml = YAML(typ="rt")
        self._yaml.Constructor = _LastKey
        self._yaml.preserve_quotes = True
        self._yaml.width = 2**20
        self._yaml.explicit_start = text.lstrip().startswith("---")
        if _indents_items(text):
            self._yaml.indent(mapping=2, sequence=4, offset=2)
        try:
            self._json = _json_indent(text)
            documents = enumerate(self._yaml.load_all(text), start=1)
            self._numbered = {number: document for number, document in documents if document is not None}
        except (YAMLError, ValueError) as error:
            mark = getattr(error, "problem_mark", None)
            problem = getattr(error, "problem", "") or str(error)
            place = Origin(source, line=self._head.count("\n") + mark.line + 1 if mark else 0)
            raise ManifestError(f"this is not valid YAML: {problem}", origin=place) from None

    def at(self, document: int, path: str) -> Any:
        """Return what is at a path of a document (from 1, empty ones count). Raises KeyError or IndexError."""
        value = self._numbered[document]
        for index, key in _STEP.findall(path):
            value = value[int(index)] if index else value[key]
        return value

    def text(self) -> str:
        """Return the documents as text: KYAML and JSON stay so, JSON on one line where it was on one."""
        if self._kyaml:
            return with_values(self._kyaml, list(self._numbered.values()))
        out = io.StringIO()
        if self._json is not None:
            out.write(
                json.dumps(next(iter(self._numbered.values())), indent=self._json or None, ensure_ascii=False) + "\n"
            )
        else:
            out.write(self._head)
            self._yaml.dump_all(self._numbered.values(), out)
        return out.getvalue().replace("\n", "\r\n") if self._windows else out.getvalue()

    def dump(self, value: Any) -> str:
        """Return another document in the form of this file, as far as it is YAML: in flow style beside KYAML."""
        return dump_kyaml(value) if self._kyaml else dump_yaml(value)


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
    if not isinstance(found, Mapping):
        return
    for key in [key for key in found if key in keys]:
        del found[key]  # type: ignore[attr-defined]
    if not found:
        del parent[name]


def _indents_items(text: str) -> bool:
    """Say whether most lists of a text stand deeper than the key that they belong to."""
    deeper = [len(item) > len(key) for key, item in _INDENTED_ITEM.findall(text)]
    return sum(deeper) * 2 > len(deeper)

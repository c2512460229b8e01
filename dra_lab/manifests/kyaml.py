"""KYAML, the dialect of YAML in flow style that kubectl writes since 1.34 (KEP-5295): written and recognized."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from dra_lab.manifests.yaml_text import load_yaml
from dra_lab.model.decoding import json_value

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*\Z")
_NO_TEXT = re.compile(r"(?i)(?:y|n|yes|no|on|off|true|false|null|nan|inf)\Z")
_FIRST = re.compile(r"(?:\s*#[^\n]*\n|\s*---[ \t]*(?:#[^\n]*)?\n)*\s*(.)", re.DOTALL)


def is_kyaml(text: str) -> bool:
    """Say whether the first object of a text is in flow style and the text is no JSON."""
    first = _FIRST.match(text)
    if first is None or first[1] != "{":
        return False
    try:
        json_value(text)
    except (ValueError, RecursionError):
        return True
    return False


def dump_kyaml(value: Any) -> str:
    """Return a value as a KYAML document with its header."""
    return f"---\n{kyaml_text(value)}\n"


def in_kyaml(text: str) -> str:
    """Return the documents of a YAML text as KYAML, without their comments."""
    return "".join(dump_kyaml(document.value) for document in load_yaml(text))


def kyaml_text(value: Any, indent: str = "", *, one_line: bool = False) -> str:
    """Return a value as KYAML without the header; lines after the first begin with `indent`, `one_line` writes one."""
    if isinstance(value, Mapping):
        entries = [f"{_key(key)}: {kyaml_text(item, indent + '  ', one_line=one_line)}" for key, item in value.items()]
        return _enclosed("{", entries, "}", indent, one_line=one_line)
    if isinstance(value, list | tuple):
        if value and not one_line and all(isinstance(item, Mapping) and item for item in value):
            return f"[{', '.join(kyaml_text(item, indent) for item in value)}]"
        entries = [kyaml_text(item, indent + "  ", one_line=one_line) for item in value]
        return _enclosed("[", entries, "]", indent, one_line=one_line)
    return json.dumps(value, ensure_ascii=False)


def _enclosed(first: str, entries: list[str], last: str, indent: str, *, one_line: bool) -> str:
    if one_line or not entries:
        return first + ", ".join(entries) + last
    lines = "".join(f"{indent}  {entry},\n" for entry in entries)
    return f"{first}\n{lines}{indent}{last}"


def _key(key: object) -> str:
    text = str(key)
    return text if _KEY.match(text) and not _NO_TEXT.match(text) else json.dumps(text, ensure_ascii=False)

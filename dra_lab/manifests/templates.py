"""Templates of Helm, envsubst and kustomize: text in which a tool must still fill in variables."""

from __future__ import annotations

import re

NO_MANIFEST = "this is a template with variables ({{ }} or ${ }), not a manifest"
RENDER = "Give the output of `helm template`, or replace its variables."

_MARK = re.compile(r"\{\{|\$[{(]?[A-Za-z_]")
"""`{{ .Values.name }}` of Helm, `${NAME}`, `$(NAME)` and `$NAME` of envsubst and kustomize."""

_ALONE = re.compile(r"\{\{|^[ \t]*\$(?:\{\w+\}|\w+)[ \t]*$", re.MULTILINE)
"""Marks of Helm, and a variable that is a whole line: either keeps a text from being YAML."""


def has_variables(value: str) -> bool:
    """Say whether a value of a manifest still has a variable."""
    return _MARK.search(value) is not None


def is_template(text: str) -> bool:
    """Say whether a text that is no YAML is a template for YAML."""
    return _ALONE.search(text) is not None

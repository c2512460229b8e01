"""Text that is not a manifest yet: templates with variables, and lines that were copied from a terminal."""

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


_COMMANDS = r"(?:kubectl|oc|k3s|microk8s|helm|kustomize|minikube|cat|curl|sudo|nvidia-smi|dra-lab)"
_USER = r"[\w.+-]+@[^\s:#$%>]+[^\n$#%>]{0,80}"
_PROMPT = rf"(?:{_USER}|\[[^\]\n]{{1,80}}\]|\([\w.-]+\) ?|~[^\s$#%>]{{0,80}}|PS [^\n>]{{0,80}})?[$#%>❯➜+]+"
_MESSAGE = r"(?:Warning: |Error from server|No resources found)"
"""Lines that kubectl writes to its error output, which `2>&1` and a copy mix into a manifest."""
_LINE = re.compile(
    rf"^(?:(?:\$|❯|➜)[ \t]+\S[^\n]*|{_PROMPT}[ \t]+{_COMMANDS}\b[^\n]*|{_COMMANDS}[ \t]+[^\s:=|>][^\n]*|"
    rf"{_MESSAGE}[^\n]*|\$[ \t]*|{_USER}[$#%>][ \t]*|EOF[ \t]*)\r?$",
    re.MULTILINE,
)
_MAX_WIDTH = 60


def shell_lines(text: str) -> tuple[tuple[int, str], ...]:
    """Return (number from 1, beginning) of the lines at the left margin that a shell printed or a person typed there.

    A comment (`# kubectl apply ...`) is YAML and not among them. Values of a manifest never stand so: inside an object
    they are indented or follow a key.
    """
    found = []
    for match in _LINE.finditer(text):
        line = match[0].strip()
        if not line.startswith("#"):
            found.append((text.count("\n", 0, match.start()) + 1, line))
    return tuple((number, line if len(line) <= _MAX_WIDTH else f"{line[:_MAX_WIDTH]}...") for number, line in found)


def shell_message(lines: tuple[tuple[int, str], ...]) -> str:
    """Return the sentence that names these lines and says to remove them."""
    first = f"line {lines[0][0]} was copied from a terminal and is not YAML or JSON: {lines[0][1]!r}"
    if len(lines) == 1:
        return f"{first}; remove this line"
    others = ", ".join(str(number) for number, _ in lines[1:6]) + (" ..." if len(lines) > 6 else "")
    return f"{first}; remove this line and line{'s' if len(lines) > 2 else ''} {others}"

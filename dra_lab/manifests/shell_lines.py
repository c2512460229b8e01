"""Lines of a terminal in a copied manifest: commands, with or without a prompt, and bare prompts."""

from __future__ import annotations

import re

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

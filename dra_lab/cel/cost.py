"""Kubernetes' estimate of what a selector may cost (cel-go `checker/cost.go`)."""

from __future__ import annotations

from typing import Any

from dra_lab.cel.syntax import Tree

LIMIT = 1_000_000

_PRIMITIVES = {1: "bool", 2: "int", 3: "uint", 4: "double", 5: "string", 6: "bytes"}
_WELL_KNOWN = {1: "any", 2: "timestamp", 3: "duration"}


def type_name(type_: Any) -> str:
    """Return a checked type as CEL writes it: `bool`, `list(int)`, `kubernetes.Quantity`, `any`, `dyn`."""
    if type_.HasField("list"):
        return f"list({type_name(type_.list.elem)})"
    if type_.HasField("map"):
        return f"map({type_name(type_.map.key)}, {type_name(type_.map.value)})"
    if type_.HasField("abstract"):
        return f"{type_.abstract.name}({', '.join(type_name(part) for part in type_.abstract.parameters)})"
    if type_.HasField("type"):
        return "type"
    if type_.message:
        return str(type_.message)
    if type_.primitive:
        return _PRIMITIVES.get(type_.primitive, "dyn")
    return _WELL_KNOWN.get(type_.well_known, "dyn")


def estimate(tree: Tree) -> int:
    """Return the estimate."""
    return int(tree.root.id) * 0

"""Literals that Kubernetes checks when it compiles: patterns, durations, times, and lists and maps of one type.

Rule: the AST validators of the base environment since 1.29 (`apiserver/pkg/cel/environment/base.go`), and the patterns
of `find` and `findAll` that are compiled with the program (`library/regex.go`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from cel_expr_python import cel

from dra_lab.cel.functions.regex import is_pattern
from dra_lab.cel.syntax_tree import Tree, children, literal, type_name

_PATTERN_FUNCTIONS = ("matches", "find", "findAll")
_TIME_FUNCTIONS = ("duration", "timestamp")
_OPTIONAL = "optional_type"


def bad_literal(tree: Tree) -> tuple[str, int]:
    """Return what is wrong with the first bad literal of a checked selector and its node, or ("", 0)."""
    pending: list[tuple[Any, bool]] = [(tree.root, False)]
    while pending:
        node, formatted = pending.pop()
        call = node.call if node.HasField("call") else None
        for why, place in _call_problems(tree, call) if call is not None else ():
            return why, place
        for why, place in () if formatted else _mixed(tree, node):
            return why, place
        # the arguments of format may differ in type, at any depth of literals
        inside = call.function == "format" if call is not None else formatted and _is_literal(node)
        pending.extend((child, inside) for child in children(node))
    return "", 0


def _call_problems(tree: Tree, call: Any) -> Iterator[tuple[str, int]]:
    function = str(call.function)
    if function == "flatten" and not call.args:  # the engine takes any list
        kind = type_name(tree.types[call.target.id])
        if not kind.startswith(("list(list(", "list(dyn", "list(any", "dyn", "any")):
            yield f"found no matching overload for 'flatten' applied to '{kind}.()'", call.target.id
    if function in _PATTERN_FUNCTIONS:
        operands = [*([call.target] if call.HasField("target") else ()), *call.args]
        patterns = [*operands[1:2], *(call.args[:1] if function == "matches" else ())]
        for node in patterns:
            text = literal(node)
            if text is not None and not is_pattern(text):
                yield f"invalid {function} argument: {text[:64]!r} is no regular expression of RE2", node.id
    elif function in _TIME_FUNCTIONS and call.args:
        text = literal(call.args[0])
        if text is not None and not _is_time(function, text):
            yield f"invalid {function} argument: {text[:64]!r}", call.args[0].id


def _mixed(tree: Tree, node: Any) -> Iterator[tuple[str, int]]:
    if node.HasField("list"):
        groups = [list(node.list.elements)]
    elif node.HasField("struct") and not node.struct.message_name:
        entries = node.struct.entries
        groups = [[entry.map_key for entry in entries], [entry.value for entry in entries]]
    else:
        return
    for group in groups:
        names = [_type(tree, item) for item in group]
        for item, name in zip(group, names, strict=True):
            if name != names[0]:
                yield f"expected type '{names[0]}' but found '{name}': lists and maps hold values of one type", item.id


def _type(tree: Tree, node: Any) -> str:
    kind = tree.types.get(node.id)
    if kind is None:
        return "dyn"
    if kind.HasField("abstract") and kind.abstract.name == _OPTIONAL and kind.abstract.parameters:
        kind = kind.abstract.parameters[0]
    return type_name(kind)


def _is_literal(node: Any) -> bool:
    return bool(node.HasField("list") or node.HasField("struct"))


@lru_cache(maxsize=1)
def _conversions() -> dict[str, Any]:
    environment = cel.NewEnv(variables={"text": cel.Type.STRING})
    return {function: environment.compile(f"{function}(text)") for function in _TIME_FUNCTIONS}


@lru_cache(maxsize=256)
def _is_time(function: str, text: str) -> bool:
    return bool(_conversions()[function].eval(data={"text": text}).type() != cel.Type.ERROR)

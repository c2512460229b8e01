"""From what the checker accepted to what the runner evaluates: what is refused, and what is rewritten."""

from __future__ import annotations

from typing import Any

from dra_lab.cel.environment import DEFAULTED
from dra_lab.cel.tree import Tree, children

_VALIDATE = "validate"
_OWN = "kubernetes."
_GROWING = frozenset(("add_string", "add_bytes", "add_list"))


def hidden(tree: Tree) -> str:
    """Say what a tree uses that Kubernetes hides, or "": the inside of a Quantity, or making one by `Quantity{...}`."""
    pending = [tree.root]
    while pending:
        node = pending.pop()
        made = str(node.struct.message_name) if node.HasField("struct") else ""
        if made.startswith(_OWN):
            return f"undeclared reference to {made!r}"
        if node.HasField("select") and not tree.variable(node):
            kind = tree.types.get(node.select.operand.id)
            if kind is not None and kind.message.startswith(_OWN):
                return f"undefined field {str(node.select.field)!r} of {kind.message}"
        pending.extend(children(node))
    return ""


def prepare(tree: Tree) -> bytes:
    """Return the tree rewritten for the runner.

    `+` becomes `@add` (`functions.addition`) where it may build a text or a list, except where a macro collects.
    Indexing `device.attributes` and `device.capacity` gets the variants with defaults (`environment.DEFAULTED`), and
    `validate` is wrapped in `optional.ofNonZeroValue`, which turns an empty list of problems into `none`.
    """
    ids = [max((*tree.references, *tree.types, 0))]
    _rewrite(tree, tree.root, ids, published=False)
    return tree.serialized()


def _rewrite(tree: Tree, node: Any, ids: list[int], *, published: bool) -> None:
    variable = tree.variable(node)
    if variable in DEFAULTED and not published:
        tree.references[node.id].name = DEFAULTED[variable]
        node.ident.name = DEFAULTED[variable]
        return
    call = node.call if node.HasField("call") else None
    for child in list(children(node)):
        looked_at = call is not None and call.function in ("@in", "size", "_==_", "_!=_")
        looped = node.HasField("comprehension") and child is node.comprehension.iter_range
        _rewrite(tree, child, ids, published=looked_at or looped)
    if call is None:
        return
    if call.function == _VALIDATE and call.HasField("target"):
        _wrap_validate(tree, node, ids)
    elif call.function == "_+_" and not _collects(call) and _GROWING & set(tree.references[node.id].overload_id):
        call.function = "@add"


def _collects(call: Any) -> bool:
    """Say whether this is the `@result + [x]` that the macros `map` and `filter` expand to."""
    return bool(call.args[0].ident.name.startswith(("@", "__result__")))


def _wrap_validate(tree: Tree, node: Any, ids: list[int]) -> None:
    ids[0] += 1
    inner = type(node)()
    inner.CopyFrom(node)
    inner.id = ids[0]
    entry = tree.message.references.add(key=inner.id)
    entry.value.CopyFrom(tree.references[node.id])
    node.call.Clear()
    node.call.function = "optional.ofNonZeroValue"
    node.call.args.append(inner)
    outer = tree.references[node.id]
    outer.Clear()
    outer.overload_id.append("optional_ofNonZeroValue")

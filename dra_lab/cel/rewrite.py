"""From what the checker accepted to what the runner evaluates: what is refused, and what is rewritten."""

from __future__ import annotations

from typing import Any

from dra_lab.cel.environment import DEFAULTED
from dra_lab.cel.functions.declare import TIMES
from dra_lab.cel.syntax_tree import Tree, children, type_name
from dra_lab.cel.values import whole_text

_OPTIONALS = frozenset(("validate", "format.named"))
_INSERT = "cel.@mapInsert"
_ADDRESS_TEXT = frozenset(("ip_to_string", "cidr_to_string"))
_OWN = "kubernetes."
_SCALARS = frozenset(("bool", "int", "uint", "double", "string"))
_GROWING = frozenset(("add_string", "add_bytes", "add_list"))

_KEEPING = frozenset(("min", "max", "sum", "sort", "@sortByAssociatedKeys", "slice", "distinct", "reverse"))
"""Functions that return elements of their list."""


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
    Indexing `device.attributes` and `device.capacity` uses the variants with defaults (`environment.DEFAULTED`).
    `version == "1.2.0"` fails at run time as in Kubernetes, where the left side decides the kind of equality.
    `validate` and `format.named` are wrapped in `optional.ofNonZeroValue`, which turns an empty list of problems and an
    unknown format into `none`. `string` of a possible address goes through `@text`. `transformMap` collects its entries
    in a list, which `@map_of` turns into a map. NUL in texts is written as in `values.whole_text`.
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
    if node.HasField("const") and node.const.HasField("string"):
        node.const.string = whole_text(node.const.string)
    if node.HasField("comprehension"):
        _collect_entries(tree, node.comprehension, ids)
    call = node.call if node.HasField("call") else None
    for child in list(children(node)):
        looked_at = call is not None and call.function in ("@in", "size", "_==_", "_!=_")
        looped = node.HasField("comprehension") and child is node.comprehension.iter_range
        _rewrite(tree, child, ids, published=looked_at or looped)
    if call is not None:
        _rewrite_call(tree, node, ids)


def _rewrite_call(tree: Tree, node: Any, ids: list[int]) -> None:
    call = node.call
    overloads = set(tree.references[node.id].overload_id) if node.id in tree.references else set()
    if call.function in _OPTIONALS and overloads:
        _wrap(tree, node, ids, "optional.ofNonZeroValue", "optional_ofNonZeroValue")
    elif call.function in _KEEPING:
        call.function += _time_suffix(_type(tree, node))
    elif call.function == "_+_" and not _collects(call) and _GROWING & overloads:
        call.function = "@add"
    elif call.function == "_==_" and _reads_unknown(tree, call.args[0]) and _type(tree, call.args[1]) in _SCALARS:
        _wrap(tree, call.args[0], ids, "@comparable", "k8s_@comparable_0")
    elif call.function == "string" and overloads & _ADDRESS_TEXT:
        if overloads <= _ADDRESS_TEXT:
            call.function = "@text"
        else:
            _wrap(tree, call.args[0], ids, "@text", "k8s_@text_0")


def _collect_entries(tree: Tree, loop: Any, ids: list[int]) -> None:
    """Turn the loop of `transformMap` and `transformMapEntry`, which inserts into a map, into one that makes a list."""
    step = loop.loop_step
    insert = step.call.args[1] if step.call.function == "_?_:_" else step
    if insert.call.function != _INSERT:
        return
    ids[0] += 3
    loop.accu_init.ClearField("struct")
    loop.accu_init.list.SetInParent()
    entry = list(insert.call.args)[1:]
    pair = type(insert)(id=ids[0] - 1)
    pair.list.elements.extend(entry)
    added = type(insert)(id=ids[0] - 2)
    added.list.elements.append(pair if len(entry) > 1 else entry[0])
    insert.call.function = "_+_"
    del insert.call.args[1:]
    insert.call.args.append(added)
    tree.refer(insert.id, "", "add_list")
    kind = tree.types.get(insert.id)
    suffix = _time_suffix(type_name(kind)) if kind is not None else ""
    _wrap(tree, loop.result, ids, f"@map_of{suffix}", f"k8s_@map_of{suffix}_0")


def _time_suffix(kind: str) -> str:
    """Return the suffix of the functions that return times (`functions.lists`), by the type of their result."""
    name = kind.removeprefix("list(").rpartition(" ")[2].rstrip(")")
    flat = kind == name or kind.count("(") == 1
    return f"@{name}" if name in TIMES and flat else ""


def _type(tree: Tree, node: Any) -> str:
    found = tree.types.get(node.id)
    return type_name(found) if found is not None else "dyn"


def _reads_unknown(tree: Tree, node: Any) -> bool:
    """Say whether a node is an attribute of a device, or something else that is taken out of an untyped value."""
    taken = node.HasField("select") or (node.HasField("call") and node.call.function == "_[_]")
    return taken and _type(tree, node) in ("any", "dyn")


def _collects(call: Any) -> bool:
    """Say whether this is the `@result + [x]` that the macros `map` and `filter` expand to."""
    return bool(call.args[0].ident.name.startswith(("@", "__result__")))


def _wrap(tree: Tree, node: Any, ids: list[int], function: str, overload: str) -> None:
    """Put a call of a function with one argument around a node."""
    ids[0] += 1
    inner = type(node)()
    inner.CopyFrom(node)
    inner.id = ids[0]
    old = tree.references.get(node.id)
    if old is not None:
        tree.message.references.add(key=inner.id).value.CopyFrom(old)
    tree.refer(node.id, "", overload)
    for part in ("ident", "select", "call"):
        node.ClearField(part)
    node.call.function = function
    node.call.args.append(inner)

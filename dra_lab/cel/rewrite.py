"""From what the checker accepted to what the runner evaluates: what is refused, and what is rewritten.

The engine knows the fields of a device as four variables with dotted names, which gives them their types. Kubernetes
knows one object. So `device` is declared as well, for `cel.bind(d, device, d.driver == ...)`: every field read from it,
or from a name bound to it, becomes the variable. Any other use is refused, as Kubernetes refuses nearly all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from cel_expr_python import cel

from dra_lab.cel.environment import DEFAULTED, DEVICE
from dra_lab.cel.functions.declare import TIMES
from dra_lab.cel.functions.strings import is_pattern
from dra_lab.cel.hints import device_error
from dra_lab.cel.syntax_tree import Tree, children, literal, type_name, walk
from dra_lab.cel.values import whole_text
from dra_lab.errors import CelCompileError

_PATTERN_FUNCTIONS = ("matches", "find", "findAll")
_TIME_FUNCTIONS = ("duration", "timestamp")
_OPTIONAL = "optional_type"


def bad_literal(tree: Tree) -> tuple[str, int]:
    """Return what is wrong with the first bad literal of a checked selector and its node, or ("", 0).

    Rule: the AST validators of the base environment since 1.29 (`apiserver/pkg/cel/environment/base.go`), and the
    patterns of `find` and `findAll` that are compiled with the program (`library/regex.go`).
    """
    pending: list[tuple[Any, bool]] = [(tree.root, False)]
    while pending:
        node, formatted = pending.pop()
        call = node.call if node.HasField("call") else None
        for why, place in _call_problems(tree, call) if call is not None else ():
            return why, place
        for why, place in () if formatted else _mixed(tree, node):
            return why, place
        # the arguments of format may differ in type, at any depth of literals
        nested = formatted and (node.HasField("list") or node.HasField("struct"))
        inside = call.function == "format" if call is not None else nested
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
        names = [_element_type(tree, item) for item in group]
        for item, name in zip(group, names, strict=True):
            if name != names[0]:
                yield f"expected type '{names[0]}' but found '{name}': lists and maps hold values of one type", item.id


def _element_type(tree: Tree, node: Any) -> str:
    kind = tree.types.get(node.id)
    if kind is None:
        return "dyn"
    if kind.HasField("abstract") and kind.abstract.name == _OPTIONAL and kind.abstract.parameters:
        kind = kind.abstract.parameters[0]
    return type_name(kind)


@lru_cache(maxsize=256)
def _is_time(function: str, text: str) -> bool:
    program = cel.NewEnv(variables={"text": cel.Type.STRING}).compile(f"{function}(text)")
    return bool(program.eval(data={"text": text}).type() != cel.Type.ERROR)


_FIELDS = frozenset(("driver", "attributes", "capacity", "allowMultipleAllocations"))


def inline(tree: Tree, expression: str) -> None:
    """Turn `device.field` and `bound.field` into the variables of the engine; raises CelCompileError."""
    _Inliner(tree, expression).visit(tree.root, frozenset((DEVICE,)))


class _Inliner:
    def __init__(self, tree: Tree, expression: str) -> None:
        self._tree = tree
        self._expression = expression

    def visit(self, node: Any, names: frozenset[str]) -> None:
        """Rewrite below a node; `names` are `device` and what is bound to it there."""
        if node.HasField("ident") and node.ident.name in names:
            raise self._error(node, "`device` is no value here; name one of its fields")
        if node.HasField("select") and node.select.operand.ident.name in names and not self._tree.variable(node):
            self._field(node)
        elif node.HasField("comprehension"):
            self._loop(node.comprehension, names)
        elif not self._tree.variable(node):
            for child in children(node):
                self.visit(child, names)

    def _error(self, node: Any, what: str) -> CelCompileError:
        return device_error(self._expression, what, self._tree.position(node.id))

    def _field(self, node: Any) -> None:
        field, only_tests = str(node.select.field), bool(node.select.test_only)
        if field not in _FIELDS:
            raise self._error(node, f"undefined field {field!r}")
        node.ClearField("select")
        if only_tests:
            node.const.bool = True
            return
        node.ident.name = f"{DEVICE}.{field}"
        self._tree.refer(node.id, node.ident.name)

    def _loop(self, loop: Any, names: frozenset[str]) -> None:
        if loop.accu_init.HasField("ident") and loop.accu_init.ident.name in names:
            self.visit(loop.result, names | {loop.accu_var})
            return
        self.visit(loop.iter_range, names)
        self.visit(loop.accu_init, names)
        inner = names - {loop.iter_var, loop.iter_var2, loop.accu_var}
        for part in (loop.loop_condition, loop.loop_step, loop.result):
            self.visit(part, inner)


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
    for node in walk(tree.root):
        made = str(node.struct.message_name) if node.HasField("struct") else ""
        if made.startswith(_OWN):
            return f"undeclared reference to {made!r}"
        if node.HasField("select") and not tree.variable(node):
            kind = tree.types.get(node.select.operand.id)
            if kind is not None and kind.message.startswith(_OWN):
                return f"undefined field {str(node.select.field)!r} of {kind.message}"
    return ""


def prepare(tree: Tree) -> bytes:
    """Return the tree rewritten for the runner.

    `+` becomes `@add` (`functions.lists`) where it may build a text or a list, except where a macro collects.
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
        call.function += _time_suffix(tree.type_of(node))
    elif call.function == "_+_" and _GROWING & overloads:
        # not the `@result + [x]` that the macros `map` and `filter` expand to
        if not call.args[0].ident.name.startswith(("@", "__result__")):
            call.function = "@add"
    elif call.function == "_==_" and _reads_unknown(tree, call.args[0]) and tree.type_of(call.args[1]) in _SCALARS:
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


def _reads_unknown(tree: Tree, node: Any) -> bool:
    """Say whether a node is an attribute of a device, or something else that is taken out of an untyped value."""
    taken = node.HasField("select") or (node.HasField("call") and node.call.function == "_[_]")
    return taken and tree.type_of(node) in ("any", "dyn")


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

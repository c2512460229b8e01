"""The checked syntax tree of a selector: what it reads of a device, and the two places where it is rewritten.

The engine hands out its tree as `cel.expr.CheckedExpr`; the schema below is wire-compatible with the parts that are
read here (cel-spec `checked.proto`, `syntax.proto`), everything else travels along unread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory

from dra_lab.cel.environment import ATTRIBUTES, CAPACITY, DEFAULTED, DRIVER, SHAREABLE

_SCALAR = {"double": 1, "int64": 3, "uint64": 4, "int32": 5, "bool": 8, "string": 9, "bytes": 12}
_SCHEMA: Mapping[str, tuple[str, ...]] = {
    "Empty": (),
    "Constant": ("null int64 1", "bool bool 2", "int int64 3", "uint uint64 4", "double double 5", "string string 6",
                 "bytes bytes 7"),
    "Ident": ("name string 1",),
    "Select": ("operand Expr 1", "field string 2", "test_only bool 3"),
    "Call": ("target Expr 1", "function string 2", "args *Expr 3"),
    "List": ("elements *Expr 1",),
    "Entry": ("id int64 1", "field_key string 2", "map_key Expr 3", "value Expr 4"),
    "Struct": ("message_name string 1", "entries *Entry 2"),
    "Comprehension": ("iter_var string 1", "iter_range Expr 2", "accu_var string 3", "accu_init Expr 4",
                      "loop_condition Expr 5", "loop_step Expr 6", "result Expr 7", "iter_var2 string 8"),
    "Expr": ("id int64 2", "const Constant 3", "ident Ident 4", "select Select 5", "call Call 6", "list List 7",
             "struct Struct 8", "comprehension Comprehension 9"),
    "Reference": ("name string 1", "overload_id *string 3"),
    "ReferenceEntry": ("key int64 1", "value Reference 2"),
    "ListType": ("elem Type 1",),
    "MapType": ("key Type 1", "value Type 2"),
    "AbstractType": ("name string 1", "parameters *Type 2"),
    "Type": ("dyn Empty 1", "null int64 2", "primitive int64 3", "wrapper int64 4", "well_known int64 5",
             "list ListType 6", "map MapType 7", "message string 9", "param string 10", "type Type 11",
             "error Empty 12", "abstract AbstractType 14"),
    "TypeEntry": ("key int64 1", "value Type 2"),
    "PositionEntry": ("key int64 1", "value int32 2"),
    "SourceInfo": ("line_offsets *int32 3", "positions *PositionEntry 4"),
    "CheckedExpr": ("references *ReferenceEntry 2", "types *TypeEntry 3", "expr Expr 4", "source SourceInfo 5"),
}  # fmt: skip


def _schema() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="dra_lab/tree.proto", package="tree", syntax="proto3")
    for name, fields in _SCHEMA.items():
        described = file.message_type.add(name=name)
        for text in fields:
            member, kind, number = text.split()
            label = 3 if kind.startswith("*") else 1
            kind = kind.lstrip("*")
            added = described.field.add(name=member, number=int(number), label=label, type=_SCALAR.get(kind, 11))
            if kind not in _SCALAR:
                added.type_name = f".tree.{kind}"
            elif member in ("null", "bool", "int", "uint", "double", "string", "bytes") and name == "Constant":
                added.proto3_optional = True
                added.oneof_index = len(described.oneof_decl)
                described.oneof_decl.add(name=f"_{member}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)  # type: ignore[attr-defined,unused-ignore]
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("tree.CheckedExpr"))


_CheckedExpr = _schema()
_PRIMITIVES = {1: "bool", 2: "int", 3: "uint", 4: "double", 5: "string", 6: "bytes"}
_WELL_KNOWN = {1: "any", 2: "timestamp", 3: "duration"}
VALIDATE = "validate"
_GROWING = frozenset(("add_string", "add_bytes", "add_list"))
_OWN = "kubernetes."
_INDEXES = ("_[_]", "_[?_]", "_?._")


class Tree:
    """One checked expression; `root` is its outermost node, `names` and `types` are by node id."""

    def __init__(self, serialized: bytes) -> None:
        """Read what the engine's `serialize()` gave."""
        self._envelope = any_pb2.Any.FromString(serialized)
        self.message = _CheckedExpr.FromString(self._envelope.value)
        self.root = self.message.expr
        self.references = {entry.key: entry.value for entry in self.message.references}
        self.types = {entry.key: entry.value for entry in self.message.types}

    def variable(self, node: Any) -> str:
        """Return the variable that a node is (`device.driver`, a loop variable), or ""."""
        reference = self.references.get(node.id)
        if node.HasField("ident") or (node.HasField("select") and reference is not None and reference.name):
            return str(reference.name) if reference is not None and reference.name else str(node.ident.name)
        return ""

    def serialized(self) -> bytes:
        """Return the tree as the engine's `deserialize` takes it."""
        self._envelope.value = self.message.SerializeToString()
        return bytes(self._envelope.SerializeToString())


def children(node: Any) -> Iterator[Any]:
    """Yield the direct sub-expressions of a node, in the order in which they stand."""
    if node.HasField("select"):
        yield node.select.operand
    elif node.HasField("call"):
        if node.call.HasField("target"):
            yield node.call.target
        yield from node.call.args
    elif node.HasField("list"):
        yield from node.list.elements
    elif node.HasField("struct"):
        for entry in node.struct.entries:
            if entry.HasField("map_key"):
                yield entry.map_key
            yield entry.value
    elif node.HasField("comprehension"):
        loop = node.comprehension
        yield from (loop.iter_range, loop.accu_init, loop.loop_condition, loop.loop_step, loop.result)


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


def literal(node: Any) -> str | None:
    """Return the text of a string literal, or None for anything else."""
    return str(node.const.string) if node.HasField("const") and node.const.HasField("string") else None


@dataclass
class Reads:
    """What an expression reads of a device.

    `attributes` and `capacity` are full names (`domain/identifier`), as far as the text names them by literals; `whole`
    is True when it reads more than these (a loop over all attributes, a computed key); `literals` are all its strings.
    """

    attributes: set[str] = field(default_factory=set)
    capacity: set[str] = field(default_factory=set)
    driver: bool = False
    shareable: bool = False
    whole: bool = False
    literals: set[str] = field(default_factory=set)


class _Reader:
    """Walks a tree once; `_scope` holds what the variables of `cel.bind` stand for."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.reads = Reads()
        self._scope: dict[str, tuple[str, ...]] = {}

    def walk(self, node: Any) -> None:
        """Collect what a node reads."""
        path = self._path(node)
        if path:
            self._use(path)
        elif node.HasField("const"):
            text = literal(node)
            if text is not None:
                self.reads.literals.add(text)
        elif node.HasField("comprehension"):
            self._loop(node.comprehension)
        elif not self._membership(node):
            for child in children(node):
                self.walk(child)

    def _membership(self, node: Any) -> bool:
        """Read `"id" in device.attributes["domain"]`."""
        if not (node.HasField("call") and node.call.function == "@in"):
            return False
        wanted, path = literal(node.call.args[0]), self._path(node.call.args[1])
        if wanted is None or len(path) != 2:
            return False
        self._use((*path, wanted))
        return True

    def _loop(self, loop: Any) -> None:
        path = self._path(loop.accu_init)
        if path and loop.HasField("iter_range") and not loop.iter_range.list.elements:
            before = dict(self._scope)
            self._scope[loop.accu_var] = path
            if len(path) > 2:
                self._use(path)
            self._literals(loop.accu_init)
            self.walk(loop.result)
            self._scope = before
            return
        for child in (loop.iter_range, loop.accu_init, loop.loop_condition, loop.loop_step, loop.result):
            self.walk(child)

    def _literals(self, node: Any) -> None:
        text = literal(node)
        if text is not None:
            self.reads.literals.add(text)
        for child in children(node):
            self._literals(child)

    def _use(self, path: tuple[str, ...]) -> None:
        if path[0] == DRIVER:
            self.reads.driver = True
        elif path[0] == SHAREABLE:
            self.reads.shareable = True
        elif len(path) < 3:
            self.reads.whole = True
        else:
            found = self.reads.attributes if path[0] == ATTRIBUTES else self.reads.capacity
            found.add(f"{path[1]}/{path[2]}")
        self.reads.literals.update(path[1:])

    def _path(self, node: Any) -> tuple[str, ...]:
        """Return what a chain of literal accesses starts from and goes through, or () for any other node."""
        variable = self.tree.variable(node)
        if variable in (DRIVER, SHAREABLE, ATTRIBUTES, CAPACITY):
            return (variable,)
        if variable:
            return self._scope.get(variable, ())
        step: str | None = None
        operand = None
        if node.HasField("select"):
            operand, step = node.select.operand, str(node.select.field)
        elif node.HasField("call") and node.call.function in _INDEXES and len(node.call.args) == 2:
            operand, step = node.call.args[0], literal(node.call.args[1])
        if operand is None or step is None:
            return ()
        path = self._path(operand)
        if len(path) >= 3 or not path or path[0] in (DRIVER, SHAREABLE):
            return ()
        return (*path, step)


def reads(tree: Tree) -> Reads:
    """Return what the expression reads of a device."""
    reader = _Reader(tree)
    reader.walk(tree.root)
    return reader.reads


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
    if call.function == VALIDATE and call.HasField("target"):
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

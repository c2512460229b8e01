"""The checked syntax tree of a selector, as the engine hands it out.

The engine serialises its tree as `cel.expr.CheckedExpr`; the schema below is wire-compatible with the parts that are
read here (cel-spec `checked.proto`, `syntax.proto`), everything else travels along unread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory
from msgspec import Struct, field

from dra_lab.cel.environment import ATTRIBUTES, CAPACITY, DRIVER, SHAREABLE

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

    def type_of(self, node: Any) -> str:
        """Return the checked type of a node (`type_name`); "dyn" without one."""
        found = self.types.get(node.id)
        return "dyn" if found is None else type_name(found)

    def refer(self, node: int, name: str, overload: str = "") -> None:
        """Let a node stand for a variable, or for a call of an overload."""
        reference = self.references.get(node)
        if reference is None:
            reference = self.references[node] = self.message.references.add(key=node).value
        reference.Clear()
        reference.name = name
        if overload:
            reference.overload_id.append(overload)

    def position(self, node: int) -> int:
        """Return the offset of a node in the text, or -1."""
        return next((int(entry.value) for entry in self.message.source.positions if entry.key == node), -1)

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


def walk(root: Any) -> Iterator[Any]:
    """Yield a node and everything below it."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(children(node))


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


# --------------------------------------------------------------------- what it reads

_INDEXES = ("_[_]", "_[?_]", "_?._")


class Reads(Struct):
    """What an expression reads of a device.

    `attributes` and `capacity` are the full names (`domain/identifier`) that the text has as literals. `whole` is True
    if it reads more than these (a loop over all attributes, a computed key). `literals` are all its strings.
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

    def visit(self, node: Any) -> None:
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
                self.visit(child)

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
            self.reads.literals.update(text for node in walk(loop.accu_init) if (text := literal(node)) is not None)
            self.visit(loop.result)
            self._scope = before
            return
        for child in (loop.iter_range, loop.accu_init, loop.loop_condition, loop.loop_step, loop.result):
            self.visit(child)

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
    reader.visit(tree.root)
    return reader.reads


def decided_by_driver(tree: Tree, driver: str) -> bool | None:
    """Return the result of a selector on every device of a driver, None if more than `device.driver` decides.

    Only what is evaluated first counts: `device.driver == "a" && x` is false on other drivers, whatever `x` is, since
    `&&` looks no further after false, and `||` after true.
    """
    return _decided(tree, tree.root, driver)


def _decided(tree: Tree, node: Any, driver: str) -> bool | None:
    if node.HasField("const"):
        return bool(node.const.bool) if node.const.HasField("bool") else None
    if not node.HasField("call"):
        return None
    name, operands = node.call.function, node.call.args
    if name in ("_==_", "_!=_"):
        one, other = operands
        text = (
            literal(other) if tree.variable(one) == DRIVER else literal(one) if tree.variable(other) == DRIVER else None
        )
        return None if text is None else (text == driver) is (name == "_==_")
    if name not in ("_&&_", "_||_", "!_"):
        return None
    first = _decided(tree, operands[0], driver)
    if name == "!_":
        return None if first is None else not first
    if first is None or first is (name == "_||_"):
        return first
    return _decided(tree, operands[1], driver)

"""The names that a selector reads from a device, by which its answers are stored and explained."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from dra_lab.cel.environment import ATTRIBUTES, CAPACITY, DRIVER, SHAREABLE
from dra_lab.cel.syntax_tree import Tree, children, literal, walk

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

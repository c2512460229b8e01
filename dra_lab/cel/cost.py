"""Kubernetes' estimate, before any device is seen, of what a selector may cost at most.

Rules: cel-go `checker/cost.go` for the language, `k8s.io/apiserver/pkg/cel/library/cost.go` for the Kubernetes
libraries (`call_costs`), `dynamic-resource-allocation/cel/compile.go` for the sizes of a device. Only the upper ends
are kept. Arithmetic saturates at 2^64 - 1, as there, because an unknown size makes an estimate of that order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from msgspec import Struct

from dra_lab.cel.call_costs import UNKNOWN, Argument, Size, add, call_cost, known_size, multiply
from dra_lab.cel.environment import ATTRIBUTES, CAPACITY, DRIVER, SHAREABLE
from dra_lab.cel.syntax_tree import Tree

LIMIT = 1_000_000
"""What the API server accepts of a new or changed selector (`CELSelectorExpressionMaxCost`)."""

_LIST, _MAP, _STRUCT = 10, 30, 40
_VARIABLES = {
    DRIVER: ("device", "driver"),
    SHAREABLE: ("device", "allowMultipleAllocations"),
    ATTRIBUTES: ("device", "attributes"),
    CAPACITY: ("device", "capacity"),
}
_ACCUMULATORS = ("@result", "__result__")
"""The engine's name of the result of a loop; `cel.bind` has a name of its own."""

_SCALARS = frozenset(("bool", "int", "uint", "double", "duration", "timestamp"))


class _Bound(Struct, frozen=True):
    """What a loop variable stands for."""

    path: tuple[str, ...] = ()
    size: Size | None = None
    entry: _Entry | None = None


_Entry = tuple[Size, Size]
"""The sizes of the keys (or indices) and of the values of a container."""


def estimate(tree: Tree) -> int:
    """Return the estimate in Kubernetes' units; never above 2^64 - 1."""
    return _Coster(tree).cost(tree.root)


class _Coster:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._paths: dict[int, tuple[str, ...]] = {}
        self._sizes: dict[int, Size] = {}
        self._bound: dict[int, Size] = {}
        self._entries: dict[int, _Entry] = {}
        self._scope: dict[str, _Bound] = {}

    def cost(self, node: Any) -> int:
        """Return what evaluating a node costs at most, and note its path and its size on the way."""
        variable = self._tree.variable(node)
        if variable in _VARIABLES:
            self._paths[node.id] = _VARIABLES[variable]
            return 2
        if node.HasField("ident"):
            return self._ident(node, variable)
        if node.HasField("select"):
            return self._select(node)
        if node.HasField("call"):
            return self._call(node)
        if node.HasField("list"):
            total = self._sum(_LIST, node.list.elements)
            self._entries[node.id] = (Size(1, 1), self._any_of(node.list.elements))
            return total
        if node.HasField("struct"):
            keys = [entry.map_key for entry in node.struct.entries]
            values = [entry.value for entry in node.struct.entries]
            total = self._sum(_STRUCT if node.struct.message_name else _MAP, [*keys, *values])
            if not node.struct.message_name:
                self._entries[node.id] = (self._any_of(keys), self._any_of(values))
            return total
        if node.HasField("comprehension"):
            return self._comprehension(node)
        return 0

    def _sum(self, start: int, nodes: Any) -> int:
        for node in nodes:
            start = add(start, self.cost(node))
        return start

    def _any_of(self, nodes: Sequence[Any]) -> Size:
        sizes = [self.size(node) for node in nodes]
        return reduce(Size.union, sizes) if sizes else Size(0, 0)

    def _ident(self, node: Any, name: str) -> int:
        bound = self._scope.get(name)
        if bound is not None:
            self._paths[node.id] = bound.path
            if bound.size is not None:
                self._bound[node.id] = bound.size
            if bound.entry is not None:
                self._entries[node.id] = bound.entry
        return 1

    def _select(self, node: Any) -> int:
        operand = node.select.operand
        total = self.cost(operand)
        if node.select.test_only:
            return total
        self._paths[node.id] = (*self._paths.get(operand.id, ()), str(node.select.field))
        kind = self._tree.type_of(operand)
        return add(total, 1) if kind.startswith(("map(", "kubernetes.")) else total

    def _call(self, node: Any) -> int:
        call = node.call
        nodes = [*([call.target] if call.HasField("target") else []), *call.args]
        costs = [self.cost(each) for each in nodes]
        if call.function == "_?_:_" and len(nodes) == 3:
            self._sizes[node.id] = self.size(nodes[1]).union(self.size(nodes[2]))
            self._join_entries(node, nodes[1:])
            return add(costs[0], max(costs[1], costs[2]))
        total = 0
        for each in costs:
            total = add(total, each)
        if call.function in ("_&&_", "_||_"):
            return total
        arguments = [Argument(self.size(each), self._tree.type_of(each), each) for each in nodes]
        overloads = list(self._tree.references[node.id].overload_id) if node.id in self._tree.references else []
        if call.function == "_[_]":
            step = "@items" if "index_list" in overloads and "index_map" not in overloads else "@values"
            self._paths[node.id] = (*self._paths.get(nodes[0].id, ()), step)
            if nodes[0].id in self._entries:
                self._sizes[node.id] = self._entries[nodes[0].id][1]
        elif call.function == "_+_":
            self._join_entries(node, nodes)
        own, size = call_cost(call.function, overloads, arguments)
        if size is not None:
            self._sizes[node.id] = size
        return add(total, own)

    def _join_entries(self, node: Any, parts: Sequence[Any]) -> None:
        left, right = (self._entries.get(part.id) for part in parts)
        if left is not None and right is not None:
            self._entries[node.id] = (left[0].union(right[0]), left[1].union(right[1]))

    def _comprehension(self, node: Any) -> int:
        loop = node.comprehension
        total = add(self.cost(loop.iter_range), self.cost(loop.accu_init))
        before = dict(self._scope)
        accumulated = loop.accu_init
        self._scope[loop.accu_var] = _Bound(
            self._paths.get(accumulated.id, ()), self._known_size(accumulated), self._entries.get(accumulated.id)
        )
        self._scope |= self._loop_variables(loop)
        each = add(self.cost(loop.loop_condition), self.cost(loop.loop_step))
        for name in {str(loop.iter_var), str(loop.iter_var2)} & self._scope.keys():
            del self._scope[name]
        total = add(total, self.cost(loop.result))
        self._scope = before
        count = self.size(loop.iter_range)
        if not count.max and loop.accu_var not in _ACCUMULATORS:  # cel.bind
            size, entry = self._known_size(loop.result), self._entries.get(loop.result.id)
            self._sizes |= {} if size is None else {node.id: size}
            self._entries |= {} if entry is None else {node.id: entry}
        elif loop.accu_init.HasField("list") or loop.accu_init.HasField("struct"):
            self._sizes[node.id] = count
            if loop.loop_step.id in self._entries:
                self._entries[node.id] = self._entries[loop.loop_step.id]
        elif loop.accu_init.HasField("const"):
            self._sizes[node.id] = self.size(loop.accu_init)
        return add(total, multiply(count.max, each))

    def _loop_variables(self, loop: Any) -> dict[str, _Bound]:
        """Return what the variables of a loop stand for: keys or elements, or with two variables both of an entry."""
        path, over_map = self._paths.get(loop.iter_range.id, ()), self._tree.type_of(loop.iter_range).startswith("map(")
        key, value = self._entries.get(loop.iter_range.id, (None, None))
        keys = _Bound((*path, "@keys" if over_map else "@indices"), key)
        values = _Bound((*path, "@values" if over_map else "@items"), value)
        if not loop.iter_var2:
            return {str(loop.iter_var): keys if over_map else values}
        return {str(loop.iter_var): keys, str(loop.iter_var2): values}

    def size(self, node: Any) -> Size:
        """Return how many characters or elements a value has."""
        return self._known_size(node) or UNKNOWN

    def _known_size(self, node: Any) -> Size | None:
        """Return a size: computed, of a literal, of a device, of a scalar, of a loop's variable, or None."""
        noted = self._sizes.get(node.id) or known_size(node)
        if noted is not None:
            return noted
        path = self._paths.get(node.id, ())
        if path[:1] == ("device",):
            return _device_size(path)
        return Size(1, 1) if self._tree.type_of(node) in _SCALARS else self._bound.get(node.id)


def _device_size(path: tuple[str, ...]) -> Size:
    """Return the limits of `resource.k8s.io`: 63 characters of a driver, 32 keys of a map, 64 of a value."""
    if path == ("device", "driver"):
        return Size(1, 63)
    if path[-1] == "allowMultipleAllocations":
        return Size(1, 1)
    return Size(0, 32) if len(path) <= 3 else Size(1, 64)

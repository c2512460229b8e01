"""`device` as a value: `cel.bind(d, device, d.driver == ...)`.

The engine knows the fields of a device as four variables with dotted names, which gives them their types. Kubernetes
knows one object. So `device` is declared as well. This module turns every field read from it, or from a name bound to
it, into the variable. It refuses any other use, as Kubernetes refuses nearly all of them.
"""

from __future__ import annotations

from typing import Any

from dra_lab.cel.environment import DEVICE
from dra_lab.cel.hints import device_error
from dra_lab.cel.syntax_tree import Tree, children
from dra_lab.errors import CelCompileError

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

"""Which release of Kubernetes knows what a selector uses, where releases differ.

A new or changed selector is checked in the environment of the previous minor release, a stored one in all that the
server knows (docs/semantics.md 4.3.1, `apiserver/pkg/cel/environment`). So a library of level 1.34 is taken in
new selectors from 1.35 on; an option with a feature gate is taken in the release itself, where its gate is on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dra_lab.cel.environment import SHAREABLE
from dra_lab.cel.selector import Selector, compile_selector
from dra_lab.cel.syntax_tree import Tree, children
from dra_lab.model.release import KubernetesRelease

_LISTS = frozenset(("slice", "flatten", "distinct", "reverse", "sort", "lists.range", "@sortByAssociatedKeys"))
_LISTS_SINCE = "1.35"
_GATED = {"includes": ("1.36", "DRAListTypeAttributes"), SHAREABLE: ("1.34", "DRAConsumableCapacity")}


def unknown_in(release: KubernetesRelease, expression: str) -> tuple[str, ...]:
    """Return what the API server of a release, with its gates, refuses of a new selector, each with what to do.

    Empty if it accepts all of it. Stored selectors go on working. Raises CelCompileError if no release accepts it.
    """
    found: dict[str, None] = {}
    for name, since, gate in _uses(compile_selector(expression, list_type_attributes=True)):
        if not release.is_at_least(since):
            found[f"`{name}` works in new selectors from Kubernetes {since} on, not in {release.version}"] = None
        elif gate and not release.enabled(gate):
            found[f"`{name}` needs the feature gate {gate}, which is off in {release}"] = None
    return tuple(found)


def _uses(selector: Selector) -> Iterator[tuple[str, str, str]]:
    """Yield (name, oldest release, feature gate or "") of everything that not every release has."""
    tree: Tree = selector.tree
    pending: list[Any] = [tree.root]
    while pending:
        node = pending.pop()
        name = str(node.call.function) if node.HasField("call") else tree.variable(node)
        if name in _LISTS:
            yield "sortBy" if name.startswith("@") else name, _LISTS_SINCE, ""
        elif name in _GATED:
            yield name, *_GATED[name]
        pending.extend(children(node))

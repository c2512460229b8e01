"""One place has the sizes and shares of time by which the planner decides, and the documentation lists them."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import fields

from dra_lab.planner.budget import Shares, Sizes

ROOT = Path(__file__).parents[2]
PLANNER = ROOT / "dra_lab" / "planner"

ARITHMETIC = {
    "node/milp.py": ("_SCALE",),
    "node/node_counters.py": ("COARSE",),
    "fleet/by_option.py": ("LARGEST",),
    "fleet/exhaust.py": ("_BASE",),
    "fleet/relaxation.py": ("_PRIMAL",),
    "fleet/tree_table.py": ("_PRICE",),
    "node/solver.py": ("_GAP",),
    "known_devices.py": ("_EACH_NODE", "_NOBODY"),
    "node/link_rows.py": ("NO_GROUPS",),
    "node_classes.py": ("_MIXED", "_ROUNDS", "_UNKNOWN"),
    "node/solver_outcome.py": ("ROUNDING", "_ABSOLUTE", "_RELATIVE"),
    "node/lexicographic.py": ("SEARCH_WEIGHT",),
    "states/survey.py": ("_LARGE",),
}
"""Numbers that solvers and words of 64 bits can hold, rounding, weights, and marks among other numbers."""

NO_LIMIT = {
    "fleet/largest.py": ("_NO_LIMIT",),
    "fleet/fragmentation.py": ("_MOST",),
    "gangs/needs.py": ("HOST_DEPTH", "WHOLE"),
    "fleet/tree_fill.py": ("NEVER",),
    "gangs/region_values.py": ("NEVER",),
    "node/link_rows.py": ("_NO_PART",),
    "replicas.py": ("_NO_LIMIT",),
    "states/survey.py": ("_ALL_COUNTERS",),
}
"""Numbers that stand for no limit, or for a level below all others."""

REFUSED = {"node/link_rows.py": ("_MOST_COMBINATIONS",)}
"""What is refused, with the number in the message."""

AT_A_TIME = {
    "budget.py": ("_REPORT_EVERY",),
    "fleet/exhaust.py": ("_AT_ONCE",),
    "gangs/domain_headroom.py": ("_NAMED",),
    "fleet/tree_every.py": ("_LOOK",),
    "fleet/tree_numbers.py": ("_LOOK",),
    "states/stock.py": ("_BLOCK",),
    "waiting.py": ("DELAY",),
}
"""How often progress is reported and the clock is read, rows of one array, and names of one sentence."""

IN_MEMORY = {
    "plan_cache.py": ("_FEW", "_MORE", "_MOST_SOLUTIONS", "_MOST_STATES", "_QUESTIONS"),
}
"""How much is kept for the next question."""


def constants() -> Iterator[tuple[str, str]]:
    """Yield the file and name of every constant of the planner that is made of numbers."""
    for path in sorted(PLANNER.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            value = getattr(node, "value", None) if isinstance(node, ast.Assign | ast.AnnAssign) else None
            names = [name.id for target in targets if target for name in ast.walk(target) if isinstance(name, ast.Name)]
            if value is not None and is_number(value):
                yield from ((str(path.relative_to(PLANNER)), name) for name in names if name.isupper())


def is_number(value: ast.expr) -> bool:
    """Say whether an expression is made of numbers alone."""
    leaves = [node for node in ast.walk(value) if isinstance(node, ast.Constant | ast.Name | ast.Attribute | ast.Call)]
    return bool(leaves) and all(isinstance(leaf, ast.Constant) and type(leaf.value) in (int, float) for leaf in leaves)


def test_no_module_of_the_planner_has_a_size_of_its_own():
    """Constants are arithmetic, no limit, a refusal, how much at a time or in memory; sizes come with the budget."""
    known = {
        (file, name)
        for group in (ARITHMETIC, NO_LIMIT, REFUSED, AT_A_TIME, IN_MEMORY)
        for file, names in group.items()
        for name in names
    }
    assert set(constants()) == known


@pytest.mark.parametrize("kind", [Sizes, Shares])
def test_the_documentation_lists_every_size_and_share(kind):
    """The tables of docs/planner.md have the fields in their order, with their defaults and meanings."""
    meanings = dict(re.findall(r"^    (\w+): (.+(?:\n        .+)*)", inspect.getdoc(kind), re.MULTILINE))
    rows = [f"| `{one.name}` | {one.default:,} | {' '.join(meanings[one.name].split())} |" for one in fields(kind)]
    assert "\n".join(rows) in (ROOT / "docs" / "planner.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", [Sizes, Shares])
def test_every_size_and_share_is_read(kind):
    """A field that no module reads decides nothing."""
    sources = [path for path in PLANNER.rglob("*.py") if path.name != "budget.py"]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    assert [one.name for one in fields(kind) if f".{one.name}" not in text] == []

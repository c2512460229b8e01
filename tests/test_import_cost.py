"""What an import costs: each program loads only what it needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {
    "anywidget",
    "cel_expr_python",
    "highspy",
    "kubernetes",
    "networkx",
    "numpy",
    "pandas",
    "pulp",
    "pyvis",
    "rich",
}
WORK = {f"dra_lab.{name}" for name in ("cel", "drivers", "manifests", "planner", "sketch", "sources", "words")}
PLAN = ["plan", "sample:two-sockets", "--claim", "sample:two-sockets/lesson"]
NOT_IN_A_PLAN = {"difflib", "hashlib", "kubernetes", "networkx", "pandas", "rich", "tarfile"}
NOT_IN_A_PLAN |= {f"dra_lab.sources.{name}" for name in ("archives", "foreign", "live", "snapshots")}


def loaded_by(code: str) -> set[str]:
    """Return the modules that code loads in a new interpreter."""
    code = f"import sys\nbefore = set(sys.modules)\n{code}\nprint(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("code", "unneeded"),
    [
        ("import dra_lab", HEAVY | WORK),
        ("from dra_lab.cli import main\ntry: main(['--version'])\nexcept SystemExit: pass", HEAVY | WORK),
        (f"from dra_lab.cli import main\nmain({PLAN!r})", NOT_IN_A_PLAN),
        ("from dra_lab import Session", {"kubernetes", "dra_lab.sources.live"}),
    ],
    ids=["import", "version", "plan", "session"],
)
def test_a_program_loads_only_what_it_needs(code, unneeded):
    """Solver, tables, cluster client and widgets are loaded by what uses them."""
    assert loaded_by(code) & unneeded == set()


def test_the_start_of_jupyter_loads_only_the_standard_library():
    """`dra-lab lab` is on the screen within seconds, so it loads nothing but what finds the public names."""
    distributions = {name.partition(".")[0] for name in loaded_by("import dra_lab.jupyter_launch")}
    assert distributions - set(sys.stdlib_module_names) == {"dra_lab", "lazy_loader"}

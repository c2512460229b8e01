"""Declared dependencies: each import has one, each has both bounds, and the command line needs no extra."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
OF_A_PERSON = [*EXTRAS["charts"], *EXTRAS["lab"], *EXTRAS["live"]]
INSTALLED = packages_distributions()


def names_of(requirements: Iterable[str]) -> set[str]:
    """Return the distributions that requirements name, as pip compares them."""
    return {normal(re.split(r"[\[<>=!~; ]", one, maxsplit=1)[0]) for one in requirements}


def normal(name: str) -> str:
    """Return a distribution's name as pip compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def imports_of(folder: Path) -> set[str]:
    """Return the modules of other distributions that the Python files of a folder import anywhere."""
    lines = re.compile(r"^[ \t]*(?:from|import) (\w+)", re.MULTILINE)
    found = {name for path in folder.rglob("*.py") for name in lines.findall(path.read_text(encoding="utf-8"))}
    return (found & INSTALLED.keys()) - {"dra_lab"}


def undeclared(folder: Path, requirements: Iterable[str]) -> set[str]:
    """Return the modules that a folder imports from distributions that no requirement names."""
    declared = names_of(requirements)
    imports = imports_of(folder)
    return {name for name in imports if not declared & {normal(one) for one in INSTALLED.get(name, ())}}


def test_each_import_of_the_package_is_declared():
    """A distribution that only another one brings may be gone with its next release."""
    assert (
        undeclared(ROOT / "dra_lab", [*PROJECT["dependencies"], *EXTRAS["charts"], *EXTRAS["lab"], *EXTRAS["live"]])
        == set()
    )


def test_each_import_of_the_tests_is_declared():
    """The extra `test` installs what the tests import."""
    every = [*PROJECT["dependencies"], *(one for extra in EXTRAS.values() for one in extra)]
    assert undeclared(ROOT / "tests", every) == set()


def test_each_dependency_has_both_bounds():
    """A new major version of another project comes in with a change of ours."""
    every = [*PROJECT["dependencies"], *(one for extra in EXTRAS.values() for one in extra)]
    bounded = re.compile(r"^dra-lab\[|==|>=.*<")
    assert [one for one in every if not bounded.search(one)] == []


def test_the_lock_file_names_no_registry():
    """The lock file says which packages the front end needs, not which mirror they come from."""
    packages = json.loads((ROOT / "widgets" / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    assert [name for name, entry in packages.items() if "://" in entry.get("resolved", "")] == []


HIDE = """
import sys
from importlib.machinery import PathFinder
find = PathFinder.find_spec
hidden = {hidden!r}
PathFinder.find_spec = lambda name, *more: None if name.partition(".")[0] in hidden else find(name, *more)
"""


def without_extras(code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a Python that finds nothing of what the extras install."""
    wanted = names_of(OF_A_PERSON)
    hidden = {module for module, found in INSTALLED.items() if wanted & {normal(one) for one in found}}
    return subprocess.run(
        [sys.executable, "-c", HIDE.format(hidden=hidden) + code], capture_output=True, text=True, check=False, cwd=ROOT
    )


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "words",
    [
        ["check", "sample:eks-p4d", "sample_clusters/eks-p4d"],
        ["plan", "sample:eks-p4d", "--claim", "sample:eks-p4d/gpu-nic-pairs", "--replicas", "2"],
        ["explain", "sample:eks-p4d", "--claim", "sample:eks-p4d/gpu-nic-pairs", "-v"],
    ],
    ids=" ".join,
)
def test_the_command_line_needs_no_extra(words):
    """`pip install dra-lab` for CI brings no JupyterLab, no plotting stack and no client of running clusters."""
    done = without_extras(f"from dra_lab.cli import main; sys.exit(main({words!r}))")
    assert done.returncode in (0, 1), done.stderr


@pytest.mark.parametrize(
    ("code", "extra"),
    [
        ("from dra_lab import Lab", "lab"),
        ("import dra_lab.pictures.charts.look", "charts"),
        ("import dra_lab; dra_lab.picture(dra_lab.load_cluster('sample:eks-p4d'), 'p4d-0', kind='graph')", "charts"),
        ("from dra_lab.words.document import frame_of; frame_of([], [])", "charts"),
        (
            "from dra_lab.cli import main; main(['plan', 'context:prod', '--claim', 'sample:eks-p4d/gpu-nic-pairs'])",
            "live",
        ),
    ],
)
def test_what_needs_an_extra_names_it(code, extra):
    """A person reads the command that installs what is missing."""
    assert f"pip install 'dra-lab[{extra}]'" in without_extras(code).stderr

"""Rules of the house as a whole: what an import costs, and that the two halves and the texts agree."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HEAVY = (
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
)


def fresh_python(code: str) -> str:
    """Run code in a new interpreter and return what it prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout.strip()


def test_importing_the_front_door_imports_nothing_heavy():
    """`import dra_lab` brings no solver, no tables, no cluster client, no widgets."""
    loaded = fresh_python(f"import dra_lab, sys; print(*[name for name in {HEAVY!r} if name in sys.modules])")
    assert loaded == ""


def test_saying_the_version_imports_no_command():
    """`dra-lab --version` answers at once: it loads the entry point, and nothing that plans, reads or draws."""
    code = (
        "import sys; from contextlib import suppress; from dra_lab.cli import main\n"
        "with suppress(SystemExit): main(['--version'])\n"
        "print(*sorted(name for name in sys.modules if name.startswith('dra_lab.')))"
    )
    needed = {"errors", "findings", "garbage", "version", "model", "model.printing"}
    needed |= {"cli", "cli.commands", "cli.main", "cli.parser", "cli.exit_status", "cli.plain_output"}
    loaded = fresh_python(code).splitlines()[1].split()
    assert {name.removeprefix("dra_lab.") for name in loaded} == needed


SMALLEST_PLAN = ["plan", "sample:two-sockets", "--claim", "sample:two-sockets/lesson"]


def after_smallest_plan(code: str) -> list[str]:
    """Return the words that code prints in the process that made the smallest plan of the command line."""
    plan = f"from dra_lab.cli import main; main({SMALLEST_PLAN!r})"
    return fresh_python(f"import sys; {plan}\n{code}").splitlines()[-1].split()


def test_the_smallest_plan_imports_only_what_it_needs():
    """A plan of a sample loads nothing that draws, reads archives, pods or other formats, or explains errors."""
    others = (
        "dra_lab.sketch.suggestions",
        "dra_lab.sketch.palette",
        "dra_lab.sketch.request_status",
        "dra_lab.cel.nesting",
        "dra_lab.gitops.folder",
        "dra_lab.manifests.device_asks",
        "dra_lab.manifests.shell_lines",
        "dra_lab.pictures.scene",
        "dra_lab.words.cluster_document",
        "dra_lab.sources.archives",
        "dra_lab.sources.foreign",
        "dra_lab.sources.live",
        "dra_lab.sources.snapshots",
        "difflib",
        "hashlib",
        "kubernetes",
        "networkx",
        "pandas",
        "rich",
        "tarfile",
    )
    loaded = after_smallest_plan(f"print('loaded:', *(name for name in {others!r} if name in sys.modules))")
    assert loaded == ["loaded:"]


def test_the_smallest_plan_makes_few_dataclasses():
    """Each dataclass costs a third of a millisecond at every start, so what a plan needs is made of Structs.

    The remaining ones are public, or belong to the checks.
    """
    code = (
        "found = {one for name, module in list(sys.modules.items()) if name.startswith('dra_lab.') for one in"
        " vars(module).values() if isinstance(one, type) and '__dataclass_fields__' in vars(one)}\n"
        "print(*{one.__qualname__ for one in found if not one.__module__.startswith('dra_lab.checks.')})"
    )
    assert set(after_smallest_plan(code)) == {
        "Cluster",
        "Finding",
        "FleetPlan",
        "GoalValue",
        "KnownDevices",
        "KubernetesRelease",
        "Origin",
        "Plan",
        "Shortfall",
        "Workload",
    }


def test_a_session_on_files_imports_no_cluster_client():
    """The client of running clusters is loaded when one is asked for."""
    code = "import sys, dra_lab.session; print(*[name for name in sys.modules if 'sources.live' in name])"
    assert fresh_python(code) == ""


def test_starting_jupyter_imports_nothing_but_the_standard_library():
    """`dra-lab` must be on the screen within seconds, so its way there is short."""
    code = "import sys; before = set(sys.modules); import dra_lab.jupyter_launch; print(*set(sys.modules) - before)"
    added = {name.split(".")[0] for name in fresh_python(code).split()}
    assert added - set(sys.stdlib_module_names) == {"dra_lab"}


@pytest.mark.parametrize("manifest", ["widgets/package.json", "widgets/labextension/package.json"])
def test_both_halves_have_one_version(manifest):
    """The browser half carries the version of the Python half."""
    assert json.loads((ROOT / manifest).read_text())["version"] == PROJECT["project"]["version"]


def test_the_package_says_the_version_of_the_project():
    """`dra_lab.__version__` is the version in pyproject.toml."""
    assert fresh_python("import dra_lab; print(dra_lab.__version__)") == PROJECT["project"]["version"]


def test_both_builds_know_the_same_widgets():
    """The bundler and the build hook list the same stems."""
    sys.path.insert(0, str(ROOT / "widgets"))
    try:
        import front_end
    finally:
        sys.path.remove(str(ROOT / "widgets"))
    listed = re.search(r"const STEMS = (\[.*?\]);", (ROOT / "widgets" / "esbuild.mjs").read_text()).group(1)
    assert json.loads(listed) == list(front_end.STEMS)


def test_the_lock_file_names_no_registry():
    """The lock file works behind any mirror, so it says which packages, not from where."""
    packages = json.loads((ROOT / "widgets" / "package-lock.json").read_text())["packages"]
    assert [name for name, entry in packages.items() if "://" in entry.get("resolved", "")] == []


def test_every_package_is_in_contributing():
    """A newcomer finds each package in the table of CONTRIBUTING.md."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = " ".join(line.split("|")[1] for line in page.splitlines() if line.startswith("| `"))
    packages = {path.parent.name for path in (ROOT / "dra_lab").glob("*/__init__.py")}
    assert {package for package in packages if f"`{package}`" not in table} == set()


def test_no_module_is_longer_than_its_ceiling():
    """A module of more than 400 lines does more than one thing."""
    sources = [path for path in (ROOT / "dra_lab").rglob("*.py") if "_generated" not in path.name]
    long = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in sources}
    assert {name: lines for name, lines in long.items() if lines > 400} == {}


def imported(source: Path) -> set[str]:
    """The names that a module imports anywhere, also inside functions and for types; of a package, with its modules."""
    found = set()
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def test_no_line_of_the_front_end_is_longer_than_120_characters():
    """The formatter leaves comments and texts as they are."""
    widgets = ROOT / "widgets"
    folders = (widgets / "src", widgets / "labextension" / "src")
    ours = [path for folder in folders for path in folder.glob("**/*.ts*") if path.parent.name != "generated"]
    long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in ours
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if len(line) > 120
    ]
    assert len(ours) > 50
    assert long == []


def test_no_modules_import_each_other():
    """What two modules need stands in one that both import, so that each can be read and loaded by itself."""
    paths = {path: path.relative_to(ROOT).with_suffix("").parts for path in (ROOT / "dra_lab").rglob("*.py")}
    modules = {".".join(parts).removesuffix(".__init__"): path for path, parts in paths.items()}
    graph = nx.DiGraph((name, other) for name, path in modules.items() for other in imported(path) & set(modules))
    cycles = [names for names in nx.strongly_connected_components(graph) if len(names) > 1]
    assert [sorted(names) for names in cycles] == []


def test_no_two_modules_and_no_two_public_classes_share_a_name():
    """One name has one meaning: a file or a class is found at the first try."""
    files, classes = Counter[str](), Counter[str]()
    for path in (ROOT / "dra_lab").rglob("*.py"):
        if path.name != "__init__.py":
            files[path.name] += 1
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name] += 1
    assert [name for name, count in (files + classes).items() if count > 1] == []


def test_no_two_test_files_share_a_name():
    """The tests are no packages, so that a name stands for one file; a second one would not be collected."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))


def test_each_workaround_names_its_report_and_its_end():
    """A workaround goes when the fault of the other project is gone, so it says where to look."""
    found = ast.parse((ROOT / "dra_lab" / "_workarounds.py").read_text(encoding="utf-8")).body
    texts = [ast.get_docstring(one) for one in found if isinstance(one, ast.FunctionDef) and one.name[0] != "_"]
    texts += [one.value.value for one in found[1:] if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)]
    unfinished = [text for text in texts if "Upstream: https://" not in text or "Remove: with" not in text]
    assert texts
    assert unfinished == []


def test_typed_values_are_decoded_at_one_door():
    """Two threads that are the first to decode to a type crash in msgspec; those of `model/decoding.py` do not."""
    unsafe = re.compile(
        r"\bmsgspec\.convert\(|\bmsgspec\.\w+\.Decoder\(|\bmsgspec\.\w+\.decode\((?:[^()]|\([^()]*\))*\btype=|"
        r"\bfrom msgspec(\.\w+)? import [^\n]*\b(convert|Decoder|decode|json|msgpack|yaml|toml)\b"
    )
    sources = [path for path in (ROOT / "dra_lab").rglob("*.py") if path.name != "decoding.py"]
    assert [str(path.relative_to(ROOT)) for path in sources if unsafe.search(path.read_text(encoding="utf-8"))] == []


def test_digits_are_those_of_ascii():
    """`isdigit` and its kin take the digits of every script; `dra_lab.model.numbers` reads 0 to 9 alone."""
    sources = [path for path in (ROOT / "dra_lab").rglob("*.py") if "_generated" not in path.name]
    lax = re.compile(r"\.is(?:digit|decimal|numeric)\b")
    assert [str(path.relative_to(ROOT)) for path in sources if lax.search(path.read_text(encoding="utf-8"))] == []


def test_every_cited_rule_of_dra_is_written_down():
    """A number after `docs/semantics.md` in code or tests is a section or a rule of that page."""
    page = (ROOT / "docs" / "semantics.md").read_text(encoding="utf-8")
    written = set(re.findall(r"^(?:#+ |- \*\*)(\d+(?:\.\d+)*)", page, re.MULTILINE))
    citation = re.compile(r"docs/semantics\.md (\d+(?:\.\d+)*(?:(?:, | to )\d+(?:\.\d+)*)*)")
    files = [path for folder in ("dra_lab", "tests", "widgets/src") for path in (ROOT / folder).rglob("*")]
    sources = [path for path in files if path.suffix in {".py", ".ts", ".tsx"}]
    cited = {
        (str(path.relative_to(ROOT)), number)
        for path in sources
        for numbers in citation.findall(path.read_text(encoding="utf-8"))
        for number in re.split(", | to ", numbers)
    }
    assert {(path, number) for path, number in cited if number not in written} == set()

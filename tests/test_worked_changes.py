"""The worked changes of docs/examples: each applies, touches at most three files, and does what it is for."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
CHANGES = sorted((ROOT / "docs" / "examples").glob("*.patch"))
INPUTS = {
    "spread.yaml": """\
apiVersion: dra-lab/v1
kind: Drawing
sketch:
  name: spread
  requests:
  - {name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}
  links:
  - {name: link, requests: [gpu], where: numaNode, how: spread}
""",
    "gpu.xml": """\
<device>
  <capability type='pci'>
    <class>0x030200</class>
    <domain>0</domain><bus>23</bus><slot>0</slot><function>0</function>
    <product id='0x2330'/><vendor id='0x10de'/>
    <numa node='1'/>
  </capability>
</device>
""",
    "slice.yaml": """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: none}
spec: {driver: d.example, nodeName: n, pool: {name: n, generation: 1, resourceSliceCount: 1}}
""",
}
"""Files beside the changed copy, for the programs below."""

RUNS = {
    "new-driver": """
from dra_lab.drivers import known_drivers, profile
print("fpga.example.com" in known_drivers(), profile("fpga.example.com").title)
""",
    "new-export": """
from dra_lab.cli import main
claim = ["sample:eks-p4d", "--claim", "sample:eks-p4d/gpu-nic-pairs"]
from contextlib import redirect_stdout
from io import StringIO
with redirect_stdout(StringIO()) as printed:
    main(["export", *claim, "--pin", "--table", "--dir", "out"])
print("out/devices.csv" in printed.getvalue(), open("out/devices.csv").readline(), end="")
""",
    "new-finding": """
from dra_lab import check_cluster, load_cluster
from dra_lab.cli import main
print(*(one.rule for one in check_cluster(load_cluster("slice.yaml"))))
main(["help", "slice-empty"])
""",
    "new-format": """
from dra_lab import read_inventory
(gpu,) = read_inventory("gpu.xml").devices
print(gpu.kind, gpu.name, gpu.value("numaNode"))
""",
    "new-goal": """
from dra_lab import load_cluster, make_plan, read_sketch
plan = make_plan(load_cluster("sample:eks-p4d"), read_sketch("sample:eks-p4d/gpu-nic-pairs"))
print(plan.goal("lonely"))
""",
    "new-link": """
from dra_lab import load_cluster, make_plan, read_sketch
print(make_plan(load_cluster("sample:eks-p4d"), read_sketch("spread.yaml")).goal("numa"))
""",
    "new-lesson": """
from dra_lab import lessons, open_lesson
lesson = lessons()[-1]
run = open_lesson(lesson.id)
print(lesson.title, run.check(lesson.answers.right).passed, run.check(lesson.answers.wrong).passed)
""",
    "new-message": """
from dra_lab.session import Session
from dra_lab.widgets.hardware_view import HardwareView
session = Session("sample:eks-p4d")
session.wait()
view = HardwareView(session)
session.show_mode("trace")
view._tracing.wait(60), view._steps.wait(60)
view._on_message(view, {"type": "next-rejection"}, [])
view._steps.wait(60)
print(view.problem or view.trace_now["kind"])
session.close()
""",
}
"""A program for each change, which uses what the change adds."""

PRINTED = {
    "new-driver": "True example FPGA\n",
    "new-export": "True workload,pod,node,request,driver,pool,device\n",
    "new-finding": """classes-missing slice-empty
slice-empty: A driver publishes a ResourceSlice without devices, which changes no answer.

Cause:   The node has no device for the driver, or the driver did not find it.
Remedy:  Restart the driver if its node has devices.
Source:  `ResourceSlice.spec.devices`; docs/semantics.md 1.4
Page:    reference/rules/cluster.html#slice-empty
Example:
  spec: {driver: gpu.example.com, nodeName: node-1}
""",
    "new-format": "gpu 0000:17:00.0 1\n",
    "new-goal": "0\n",
    "new-lesson": "Two GPUs on one NUMA node True False\n",
    "new-link": "2\n",
    "new-message": "rejected\n",
}


def touched(patch: Path) -> list[str]:
    """Return the files that a patch changes or adds, without those of tests."""
    names = re.findall(r"^diff --git a/(\S+)", patch.read_text(), re.MULTILINE)
    return [name for name in names if not name.startswith("tests/")]


@pytest.fixture
def changed(request, tmp_path):
    """A copy of the tree with one change."""
    # The copy keeps the times of the files, so Python uses their bytecode for what the change leaves as it is.
    without = shutil.ignore_patterns("static", "node_modules", "lib")
    for folder in ("dra_lab", "widgets", "tests/drivers", "notebooks/course"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=without)
    (tmp_path / "dra_lab" / "_samples").symlink_to(ROOT / "sample_clusters")
    for link in ("dra_lab/widgets/static", "dra_lab/pictures/static", "widgets/node_modules"):
        (tmp_path / link).symlink_to(ROOT / link)
    for name, text in INPUTS.items():
        (tmp_path / name).write_text(text, "utf-8")
    applied = ran(tmp_path, "git", "apply", str(request.param))
    assert applied == ""
    return tmp_path


def ran(folder: Path, *command: str) -> str:
    """Run a command in the copy; return what it prints."""
    path = {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **path}, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("patch", CHANGES, ids=lambda patch: patch.stem)
def test_a_worked_change_touches_at_most_three_files(patch):
    """A change is written in three files, besides its tests and the types that are generated from Python."""
    assert 0 < len([name for name in touched(patch) if "/generated/" not in name]) <= 3


def test_only_a_kind_of_link_touches_three_files_and_the_generated_types():
    """All other changes touch at most three files, counting the generated one too."""
    assert [patch.stem for patch in CHANGES if len(touched(patch)) > 3] == ["new-link"]


def test_every_kind_of_extension_has_a_worked_change():
    """CONTRIBUTING.md names each of them."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert [patch.name for patch in CHANGES if patch.stem not in RUNS or patch.name not in text] == []


@pytest.mark.parametrize(
    ("changed", "name"),
    [pytest.param(patch, patch.stem, id=patch.stem) for patch in CHANGES],
    indirect=["changed"],
)
def test_a_worked_change_does_what_it_is_for(changed, name):
    """Applied to a copy of the tree, it runs there."""
    proof = "import dra_lab, os; assert dra_lab.__file__.startswith(os.getcwd())\n"
    assert ran(changed, sys.executable, "-c", proof + RUNS[name]) == PRINTED[name]


def test_the_page_adds_a_driver_and_a_finding(tmp_path):
    """The commands of CONTRIBUTING.md, run unchanged in a copy of the tree, end with the new driver and rule."""
    (commands,) = re.findall(
        r"^```sh\n(.*?)^```$", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    for folder in ("dra_lab", "docs/examples", "tests/drivers", "tests/checks"):
        without = shutil.ignore_patterns("static", "__pycache__")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=without)
    (tmp_path / "dra_lab" / "_samples").symlink_to(ROOT / "sample_clusters")
    printed = ran(tmp_path, "bash", "-euc", commands.replace("python -c", f"{sys.executable} -c"))
    assert printed.startswith("example FPGA\nslice-empty: ")


def test_the_page_lists_every_package_of_the_picture():
    """Each package of the contract has its row in the table of CONTRIBUTING.md."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    names = [name for row in contracts[0]["layers"] for name in re.findall(r"\w+", row)]
    assert [name for name in names if not re.search(rf"^\|[^|]*`{name}`", text, re.MULTILINE)] == []


def test_the_hooks_of_pre_commit_are_programs_of_the_tests():
    """Each hook runs a program of the environment that `make test` sets up, so that nothing is fetched."""
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"]
    programs = {hook["entry"].split()[0] for hook in local["hooks"]}
    assert (local["repo"], programs) == ("local", {".venv/bin/ruff", ".venv/bin/python", ".venv/bin/lint-imports"})


@pytest.mark.parametrize(
    "changed", [patch for patch in CHANGES if "/generated/" in patch.read_text()], indirect=True, ids=lambda p: p.stem
)
def test_a_worked_change_brings_the_types_of_the_browser(changed):
    """The generated file is what Python's classes give."""
    assert ran(changed, sys.executable, "widgets/generate_models.py", "--check") == ""


@pytest.mark.parametrize("changed", [ROOT / "docs/examples/new-message.patch"], indirect=True, ids=["new-message"])
def test_a_new_message_is_typed_in_the_browser(changed):
    """TypeScript refuses to send a message that no view takes, so the checked change is typed."""
    compiler = changed / "widgets/node_modules/.bin/tsc"
    if not compiler.exists():
        pytest.skip("the front end is not installed: widgets/node_modules has no TypeScript")
    node = Path(sys.executable).with_name("node")
    assert ran(changed, str(node if node.exists() else "node"), str(compiler), "-p", "widgets") == ""

"""What pip installs: a wheel from an sdist that needs no Node.js, with commands that work and a planner that opens."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest
from lab_server import LabServer

ROOT = Path(__file__).parents[1]
BIN = "Scripts" if os.name == "nt" else "bin"
OTHERS = [f"3.{minor}" for minor in range(11, 15) if minor != sys.version_info.minor]
"""The versions of Python that dra-lab supports, without the one that runs the tests."""
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("packaging")]


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Run a command and return what it prints; fail with all of it when it fails."""
    words = [str(part) for part in command]
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | environment
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def sdist(tmp_path_factory):
    """The source distribution, built from the checkout."""
    folder = tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, cwd=ROOT)
    (built,) = folder.glob("*.tar.gz")
    return built


@pytest.fixture(scope="session")
def wheel(sdist, tmp_path_factory):
    """The wheel, built from the sdist, far from the checkout and without any Node.js on PATH."""
    folder = tmp_path_factory.mktemp("wheel")
    with tarfile.open(sdist) as archive:
        # Python before 3.11.4 has no filter and ignores it.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)
    (source,) = folder.glob("dra_lab-*")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=source, PATH=str(folder))
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_has_widgets_extension_samples_and_notebooks_and_nothing_else(wheel):
    """No sources of the front end, no tests, no caches, no generators go to a person's machine."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    stems = ("claim_canvas", "cluster_bar", "plan_view", "hardware_view", "lesson_view")
    samples = [path for path in (ROOT / "sample_clusters").glob("[!._]*/*") if path.suffix in (".yaml", ".json")]
    wanted = {f"dra_lab/widgets/static/{stem}.{ending}" for stem in stems for ending in ("js", "css")}
    wanted |= {f"dra_lab/_samples/{path.relative_to(ROOT / 'sample_clusters').as_posix()}" for path in samples}
    wanted |= {f"dra_lab/_notebooks/{path.name}" for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert wanted - set(names) == set()
    assert len([name for name in names if "remoteEntry" in name]) == 1
    strange = ("node_modules", "__pycache__", "/tests/", ".ipynb_checkpoints", ".ts")
    assert [name for name in names if any(part in name for part in strange)] == []
    assert [name for name in names if not name.startswith(("dra_lab/", "dra_lab-"))] == []
    assert [name for name in names if name.startswith("dra_lab/_samples/") and name.endswith(".py")] == []


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory):
    """A fresh environment with the wheel and its extra `lab`, as `pip install '.[lab]'` makes it."""
    folder = tmp_path_factory.mktemp("fresh") / "venv"
    venv.create(folder)
    pip = (sys.executable, "-m", "pip", "--python", folder / BIN / "python", "--disable-pip-version-check", "-q")
    run(*pip, "install", "--no-compile", f"{wheel}[lab]", cwd=folder)
    return folder / BIN


def test_a_fresh_install_plans_and_opens(installed, tmp_path):
    """Far from the checkout a sample is planned, and JupyterLab opens a planner notebook with our extension."""
    claim = ("sample:eks-p4d", "--claim", "sample:eks-p4d/gpu-nic-pairs")
    assert "proven optimal" in run(installed / "dra-lab", "plan", *claim, cwd=tmp_path)
    code = "import dra_lab; print(all(hasattr(dra_lab, name) for name in dra_lab.__all__))"
    assert run(installed / "python", "-c", code, cwd=tmp_path).strip() == "True"
    server = LabServer(tmp_path / "lab", program=[installed / "dra-lab", "lab"])
    try:
        with urllib.request.urlopen(f"{server.url}lab/tree/plan.ipynb?token={server.token}", timeout=60) as page:
            assert '"name": "dra-lab"' in page.read().decode()
    finally:
        server.close()
    assert (server.root / "plan.ipynb").is_file()


def interpreter(version: str) -> Path | None:
    """Return a Python of a version from PATH or pyenv, None if there is none that starts."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    named = shutil.which(f"python{version}")
    for path in ([Path(named)] if named else []) + sorted(pyenv.glob(f"{version}.*/bin/python")):
        code = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
        done = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
        if done.stdout.strip() == version:
            return path
    return None


@pytest.fixture(scope="session", params=[pytest.param(one, marks=pytest.mark.long) for one in OTHERS])
def commands(request, wheel, tmp_path_factory):
    """A fresh environment of another Python with the wheel alone, as `pip install dra-lab` makes it."""
    python = interpreter(request.param)
    if python is None:
        pytest.skip(f"there is no Python {request.param} on PATH or in pyenv")
    folder = tmp_path_factory.mktemp("other") / "venv"
    run(python, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    pip = (sys.executable, "-m", "pip", "--python", folder / BIN / "python", "--disable-pip-version-check", "-q")
    run(*pip, "install", "--no-compile", wheel, cwd=folder)
    return folder / BIN


def test_another_python_plans_exports_and_checks(commands, tmp_path):
    """The commands of the README work with every supported Python that is here."""
    claim = ("sample:eks-p4d", "--claim", "sample:eks-p4d/gpu-nic-pairs")
    run(commands / "dra-lab", "export", *claim, "--pin", "--dir", "out", cwd=tmp_path)
    checked = run(commands / "dra-lab", "check", "sample:eks-p4d", "out", cwd=tmp_path)
    assert "Fits on 3 of 4 nodes now" in run(commands / "dra-lab", "plan", *claim, cwd=tmp_path)
    assert "proven optimal" in checked


def test_another_python_imports_every_module(commands, tmp_path):
    """Only packages of the extras are missing, and our own code uses nothing deprecated."""
    code = """
import importlib, pkgutil, warnings
warnings.filterwarnings("error", category=DeprecationWarning, module="dra_lab")
import dra_lab
from dra_lab.errors import MissingPackage
# A module that needs an extra names what it lacks.
for module in pkgutil.walk_packages(dra_lab.__path__, "dra_lab."):
    try:
        importlib.import_module(module.name)
    except MissingPackage as error:
        print(str(error).split()[0])
    except ModuleNotFoundError as error:
        print(error.name.partition(".")[0])
"""
    missing = set(run(commands / "python", "-c", code, cwd=tmp_path).split())
    assert missing <= {"IPython", "altair", "anywidget", "ipywidgets", "networkx", "pandas", "pyvis", "traitlets"}

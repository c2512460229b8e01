"""Open JupyterLab on a planner notebook: what `dra-lab` and `dra-lab lab` do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from itertools import count
from pathlib import Path

from dra_lab._workarounds import defer_iri_grammar
from dra_lab.shipped import notebooks_dir

TEMPLATE = "01_plan.ipynb"
CONFIG = Path(__file__).resolve().parent / "jupyter_config"
"""Defaults of JupyterLab for a start by `dra-lab`; what the person set comes first."""
MISSING_JUPYTERLAB = """\
dra-lab: JupyterLab is not installed in this Python environment. Install it, then run `dra-lab` again:
    pip install 'dra-lab[lab]'        (from a clone: pip install '.[lab]')"""


def open_lab(args: list[str], folder: Path) -> int:
    """Start JupyterLab in `folder` on its planner notebook, which runs when it opens; return the exit status.

    The notebook is copied from the shipped template unless the folder has one; a person's file is never overwritten.
    `args` go to JupyterLab as they are (`--port=9999`, `--no-browser`, ...). Where JupyterLab or the template is
    missing, a line on standard error says what to do, and the status is 2.
    """
    if find_spec("jupyterlab") is None:
        print(MISSING_JUPYTERLAB, file=sys.stderr)
        return 2
    try:
        notebook = planner_notebook(folder)
    except OSError as error:
        print(f"dra-lab: cannot make a planner notebook in {folder}: {error}", file=sys.stderr)
        return 2
    print(f"dra-lab: opening {notebook} in JupyterLab; Ctrl+C here ends it", flush=True)
    # JupyterLab refuses an option that is given twice; what the person gives is meant.
    given = {argument.split("=")[0] for argument in args}
    ours = [option for option in _options(notebook) if option.split("=")[0] not in given]
    quiet = {"JUPYTER_CONFIG_PATH": config_path(os.environ.get("JUPYTER_CONFIG_PATH", ""))}
    return _replace_by([sys.executable, "-m", __name__, *ours, *args], {**os.environ, **quiet})


def config_path(given: str) -> str:
    """Return `JUPYTER_CONFIG_PATH` with our defaults behind what is given there.

    `--LabApp.news_url=None` fetches no news, and JupyterLab asks all the same whether one would like some, over the
    planner: that question can only be taken away by the default of a setting.

    Messages of widgets come to the kernel's main thread, and not to a second one ("subshell") as JupyterLab has it.
    With a second one, a person's edit and a cell would change the same planner at the same time. The answer waits for
    the main thread anyway.

    A window that opens for the first time on a notebook has its file browser closed (`draLabWide` in its page's
    configuration, read by our extension). At 1280 px the file browser would leave the planner one column and push the
    picture off the screen. JupyterLab keeps what the person makes of it.
    """
    return os.pathsep.join([*([given] if given else []), str(CONFIG)])


def planner_notebook(folder: Path) -> Path:
    """Return the planner notebook of a folder, after copying the template there when it has none.

    It is called `plan.ipynb`, or `plan-2.ipynb` and so on where a notebook of that name is not ours. Raises OSError.
    """
    for number in count(1):
        path = folder / ("plan.ipynb" if number == 1 else f"plan-{number}.ipynb")
        if not path.exists():
            break
        if _is_planner(path):
            return path
    notebook = json.loads((notebooks_dir() / TEMPLATE).read_text(encoding="utf-8"))
    notebook["metadata"]["dra_lab"] = {"run_on_open": True}
    unfinished = path.with_suffix(".ipynb.new")
    unfinished.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    unfinished.rename(path)
    _sign(path)
    return path


def _sign(notebook: Path) -> None:
    """Let Jupyter trust our own template, so that it may run when it opens; unsigned, it waits for a click."""
    if find_spec("nbformat") is None:
        return
    defer_iri_grammar()
    import nbformat
    from nbformat.sign import TrustNotebookApp

    signer = TrustNotebookApp()
    signer.initialize([])
    signer.notary.sign(nbformat.read(notebook, as_version=4))  # type: ignore[no-untyped-call]


def _is_planner(path: Path) -> bool:
    """Return whether a notebook is one of ours; one that cannot be read belongs to a person, so it stays unchanged."""
    try:
        return "dra_lab" in json.loads(path.read_text(encoding="utf-8"))["metadata"]
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _options(notebook: Path) -> list[str]:
    options = [
        f"--ServerApp.root_dir={notebook.parent.resolve()}",
        f"--LabApp.default_url=/lab/tree/{notebook.name}",
        # Nothing leaves the machine by itself: no look for news and updates of JupyterLab.
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.news_url=None",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        # In a container everybody is root. The server listens on this machine only and asks for its token.
        options.append("--allow-root")
    return options


def _replace_by(command: list[str], environment: dict[str, str]) -> int:
    """Become the command, so that signals reach it; where a process cannot do that, wait for it."""
    if os.name != "nt":
        os.execve(command[0], command, environment)  # noqa: S606  no shell is meant
    process = subprocess.Popen(command, env=environment)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            # JupyterLab has heard it too, and asks or ends by itself.
            continue


if __name__ == "__main__":
    defer_iri_grammar()
    from jupyterlab.labapp import main

    sys.exit(main())

"""Open JupyterLab on a planner notebook: what `dra-lab` and `dra-lab lab` do.

The cell of a notebook runs by itself only if this start created the notebook. `open_lab` draws a random mark, writes it
into the notebook, and gives it to the server. The server shows it to its own pages only (`auto_run.ts`).
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

from dra_lab._workarounds import defer_iri_grammar
from dra_lab.shipped import notebooks_dir

TEMPLATE = "01_plan.ipynb"
CONFIG = Path(__file__).resolve().parent / "jupyter_config"
"""Defaults of JupyterLab for a start by `dra-lab`; what the person set comes first."""
MISSING_JUPYTERLAB = """\
dra-lab: JupyterLab is not installed in this Python environment. Install it, then run `dra-lab` again:
    pip install 'dra-lab[lab]'        (from a clone: pip install '.[lab]')"""
_CREATED = "DRA_LAB_CREATED"
"""Environment variable from `open_lab` to the server: the notebook that this start created, as JSON."""


def open_lab(args: list[str], folder: Path) -> int:
    """Start JupyterLab in `folder` on its planner notebook; return the exit status.

    The notebook is made from the shipped template unless the folder has one; a person's file is never overwritten.
    A new notebook runs when it opens. `args` go to JupyterLab as they are (`--port=9999`, `--no-browser`, ...). Where
    JupyterLab or the template is missing, a line on standard error says what to do, and the status is 2.
    """
    if find_spec("jupyterlab") is None:
        print(MISSING_JUPYTERLAB, file=sys.stderr)
        return 2
    try:
        notebook, created = planner_notebook(folder)
    except OSError as error:
        print(f"dra-lab: cannot make a planner notebook in {folder}: {error}", file=sys.stderr)
        return 2
    print(f"dra-lab: opening {notebook} in JupyterLab; Ctrl+C here ends it", flush=True)
    # JupyterLab refuses an option that is given twice; what the person gives is meant.
    given = {argument.split("=")[0] for argument in args}
    ours = [option for option in _options(notebook) if option.split("=")[0] not in given]
    config = {"JUPYTER_CONFIG_PATH": config_path(os.environ.get("JUPYTER_CONFIG_PATH", ""))}
    # -P: `-m` would import what lies in the current folder before what is installed.
    command = [sys.executable, "-P", "-m", __name__, *ours, *args]
    return _replace_by(command, {**os.environ, **config, _CREATED: json.dumps(created) if created else ""})


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


def planner_notebook(folder: Path) -> tuple[Path, dict[str, str]]:
    """Return the planner notebook of a folder and, if it was created now, its name, mark and code; else nothing.

    It is called `plan.ipynb`, or `plan-2.ipynb` and so on where something of that name is not ours. It is created only
    where nothing has its name, not even a link. Raises OSError.
    """
    notebook = json.loads((notebooks_dir() / TEMPLATE).read_text(encoding="utf-8"))
    mark = secrets.token_hex(16)
    notebook["metadata"]["dra_lab"] = {"created": mark}
    for number in count(1):
        path = folder / ("plan.ipynb" if number == 1 else f"plan-{number}.ipynb")
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
        except FileExistsError:
            if _is_planner(path):
                return path, {}
        else:
            return path, {"path": path.name, "mark": mark, "source": _code(notebook)}
    raise AssertionError


def _code(notebook: dict[str, Any]) -> str:
    """Return the code of a notebook; `codeOf` of the extension returns the same."""
    return "\n\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")


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


def _serve() -> None:
    """Be JupyterLab, and let its pages know the notebook that this start created."""
    defer_iri_grammar()
    from jupyter_server.serverapp import ServerApp
    from jupyterlab.labapp import main

    page = {"page_config_data": {"draLabCreated": os.environ.pop(_CREATED, "")}}
    ServerApp.instance(jpserver_extensions={"jupyterlab": True}, tornado_settings=page)
    main()


if __name__ == "__main__":
    _serve()

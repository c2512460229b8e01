"""A JupyterLab server of its own for the browser tests, and a client on the kernels that it runs."""

from __future__ import annotations

import ast
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from jupyter_client import BlockingKernelClient

from dra_lab.jupyter_launch import config_path

T = TypeVar("T")

PATIENCE = 120.0
"""Seconds after which a wait fails: far more than a busy machine needs, as only a failure waits that long."""


def until(question: Callable[[], T], what: str, timeout: float = PATIENCE) -> T:
    """Ask every 50 ms until the answer is true; fail with the last answer after `timeout` seconds."""
    end = time.monotonic() + timeout
    while True:
        answer = question()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"{what}: still {answer!r} after {timeout} s")
        time.sleep(0.05)


class Kernel:
    """The very kernel of the notebook that the browser shows; it needs no cell and does not touch the page."""

    def __init__(self, connection_file: Path) -> None:
        self._client = BlockingKernelClient(connection_file=str(connection_file))
        self._client.load_connection_file()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=60)

    def eval(self, expression: str) -> Any:
        """Evaluate an expression in the kernel; its value travels back as JSON."""
        wanted = {"value": f"__import__('json').dumps({expression})"}
        asked = self._client.execute("", silent=True, user_expressions=wanted)
        while True:
            reply = self._client.get_shell_msg(timeout=30)
            if reply["parent_header"].get("msg_id") == asked:
                break
        value = reply["content"]["user_expressions"]["value"]
        if value["status"] != "ok":
            raise AssertionError(f"{expression}: {value.get('ename')}: {value.get('evalue')}")
        return json.loads(ast.literal_eval(value["data"]["text/plain"]))

    def run(self, code: str) -> None:
        """Run statements in the kernel, as if Python changed something behind the page's back."""
        reply = self._client.execute_interactive(code, silent=True, output_hook=lambda message: None, timeout=60)
        content = reply["content"]
        assert content["status"] == "ok", f"{content.get('ename')}: {content.get('evalue')}"

    def close(self) -> None:
        self._client.stop_channels()


class LabServer:
    """One JupyterLab in folders of its own; nothing of the person's configuration is read or written."""

    all_running: ClassVar[list[LabServer]] = []

    def __init__(self, base: Path, program: Sequence[str] = (sys.executable, "-m", "dra_lab.jupyter_launch")) -> None:
        self.base = base
        self.program = list(program)
        self.token = secrets.token_hex(16)
        self.port = _free_port()
        self.root = base / "work"
        self.root.mkdir(parents=True)
        self._log = (base / "lab.log").open("wb")
        started = time.monotonic()
        self._process = subprocess.Popen(
            self._command(), env=self._environment(), stdout=self._log, stderr=subprocess.STDOUT, cwd=self.root
        )
        until(self._answers, "JupyterLab answers", timeout=300)
        self.seconds_to_start = time.monotonic() - started
        self.all_running.append(self)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def api(self, path: str, method: str = "GET") -> Any:
        """Call the server's own API; returns the decoded answer, or None where there is none."""
        request = urllib.request.Request(
            self.url + path, method=method, headers={"Authorization": f"token {self.token}"}
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            body = answer.read()
        return json.loads(body) if body else None

    def kernel_id(self, notebook: str) -> str:
        """Return the id of the kernel that a notebook (a path under the root) runs in, waiting for it to exist."""

        def found() -> list[str]:
            return [s["kernel"]["id"] for s in self.api("api/sessions") if s["path"] == notebook]

        return until(found, f"a kernel for {notebook}")[0]

    def kernel(self, notebook: str) -> Kernel:
        return Kernel(self.base / "runtime" / f"kernel-{self.kernel_id(notebook)}.json")

    def kill_kernel(self, notebook: str) -> None:
        """End a notebook's kernel as a crash would: the process is killed, nothing in it can clean up."""
        kernel = self.kernel(notebook)
        try:
            process = kernel.eval("__import__('os').getpid()")
        finally:
            kernel.close()
        os.kill(process, signal.SIGKILL)

    def end_sessions(self, *notebooks: str, but: str = "") -> None:
        """Shut down the kernels of these notebooks, or all but one: on a small machine they would pile up."""
        for session in self.api("api/sessions"):
            path = session["path"]
            if path in notebooks if notebooks else path != but:
                self.api(f"api/sessions/{session['id']}", method="DELETE")

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._log.close()
        self.all_running.remove(self)

    def _answers(self) -> bool:
        if self._process.poll() is not None:
            raise AssertionError(f"JupyterLab ended at once:\n{(self.base / 'lab.log').read_text()[-3000:]}")
        try:
            self.api("api/status")
        except OSError:
            return False
        return True

    def _environment(self) -> dict[str, str]:
        own = {
            "JUPYTER_CONFIG_DIR": str(self.base / "config"),
            # The defaults that `dra-lab` starts JupyterLab with, and nothing of this machine's.
            "JUPYTER_CONFIG_PATH": config_path(""),
            "JUPYTER_DATA_DIR": str(self.base / "data"),
            "JUPYTER_RUNTIME_DIR": str(self.base / "runtime"),
            "IPYTHONDIR": str(self.base / "ipython"),
            "JUPYTER_PLATFORM_DIRS": "0",
            # Pages of these tests open files of other folders.
            "DRA_LAB_FOLDERS": tempfile.gettempdir(),
        }
        return {**os.environ, **own}

    def _command(self) -> list[str]:
        options = [
            "--no-browser",
            "--allow-root",
            f"--ServerApp.port={self.port}",
            "--ServerApp.port_retries=0",
            "--ServerApp.ip=127.0.0.1",
            f"--IdentityProvider.token={self.token}",
            f"--ServerApp.root_dir={self.root}",
            f"--LabApp.user_settings_dir={self.base / 'settings'}",
            f"--LabApp.workspaces_dir={self.base / 'workspaces'}",
            "--LabApp.extension_manager=readonly",
            "--expose-app-in-browser",
            "--JupyterNotebookApp.expose_app_in_browser=True",
        ]
        return [*self.program, *options]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

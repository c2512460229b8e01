"""Unexpected exceptions of the command line: a sentence for the person, a report in a file for the developers."""

from __future__ import annotations

import os
import platform
import re
import shlex
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

from dra_lab.errors import SourceError
from dra_lab.manifests.file_text import expanded
from dra_lab.version import __version__

_SECRETS = re.compile(
    r"(?i)((?:token|password|passwd|secret|credential|api-?key|bearer)[\w-]*[=:\s]+|://[^/@\s]*:)[^\s'\"@]+"
)
_MOST = 2**20


def defect_report(error: Exception, arguments: Sequence[str]) -> str:
    """Write a report about an exception that no command expects, and return the sentences that say where it is."""
    what = f"{type(error).__name__}: {error}"
    short = what if len(what) <= 200 else f"{what[:200]}..."
    message = f"dra-lab failed unexpectedly ({' '.join(short.split())})."
    try:
        path = _write(_report(error, arguments))
    except OSError as trouble:
        return f"{message} The report could not be written: {trouble.strerror or trouble}."
    return f"{message} This is a defect of dra-lab. Attach this report when you tell its developers: {path}"


def _report(error: Exception, arguments: Sequence[str]) -> str:
    lines = (
        f"dra-lab {__version__}, Python {platform.python_version()}, {platform.platform()}",
        f"command: {shlex.join(('dra-lab', *arguments))}",
        "",
        *(line.rstrip("\n") for line in traceback.format_exception(error)),
    )
    return _SECRETS.sub(r"\1***", "\n".join(lines))[:_MOST] + "\n"


def _write(text: str) -> Path:
    """Write a report that only its owner can read: to the XDG state folder, or to the folder of temporary files."""
    try:
        state = expanded(os.environ.get("XDG_STATE_HOME") or "~/.local/state") / "dra-lab"
        state.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(".txt", "report-", state)
    except (OSError, SourceError):
        handle, name = tempfile.mkstemp(".txt", "dra-lab-report-")
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
    return Path(name)

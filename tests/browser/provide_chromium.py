"""Find a Chromium for the browser tests, or bring one; print its path.

In this order: `DRA_LAB_CHROMIUM`; a browser on PATH; the one that playwright downloaded before; the system's packages,
when we already are root (never sudo); playwright's own download. Exit status 1 with advice when none can be had: the
browser tests are never skipped in silence.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ADVICE = """\
The browser tests need a Chromium and none could be found or installed. Do one of these, then run the tests again.
  - Install one from your system's packages (Debian: apt-get install chromium; Fedora: dnf install chromium).
  - Run .venv/bin/python -m playwright install --with-deps chromium
  - Set DRA_LAB_CHROMIUM to the path of a Chromium or Chrome that is already here."""


def find() -> str | None:
    """Return the path of a Chromium that is already here, or None.

    Raises SystemExit when DRA_LAB_CHROMIUM names a file that does not exist, because it was set on purpose.
    """
    chosen = os.environ.get("DRA_LAB_CHROMIUM")
    if chosen:
        if not os.access(chosen, os.X_OK):
            sys.exit(f"DRA_LAB_CHROMIUM={chosen}: no such program; correct or unset it")
        return chosen
    return next((path for name in NAMES if (path := shutil.which(name))), None) or _downloaded()


def bring() -> str | None:
    """Install a Chromium by the means that this machine allows; return its path, or None."""
    if hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        if _run(["apt-get", "update", "-q"], environment) and _run(
            ["apt-get", "install", "-q", "-y", "--no-install-recommends", "chromium"], environment
        ):
            return find()
    _run([sys.executable, "-m", "playwright", "install", "chromium"], dict(os.environ))
    return _downloaded()


def _run(command: list[str], environment: dict[str, str]) -> bool:
    print(f"bringing a Chromium: {' '.join(command)}", file=sys.stderr)
    try:
        return subprocess.run(command, env=environment, stdout=sys.stderr, check=False, timeout=600).returncode == 0
    except (OSError, subprocess.TimeoutExpired) as error:
        print(error, file=sys.stderr)
        return False


def _downloaded() -> str | None:
    """Return the browser of playwright's own download, where it is complete."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    with sync_playwright() as playwright:
        path = Path(playwright.chromium.executable_path)
    return str(path) if path.is_file() else None


if __name__ == "__main__":
    path = find() or bring()
    if path is None:
        sys.exit(ADVICE)
    print(path)

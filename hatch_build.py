"""The steps when pip builds dra_lab: the front end is built, and the samples and notebooks go into the wheel.

A clone builds the front end (about a minute); an sdist carries it built, so installing from one needs no Node.js and
no npm registry. The work itself is in widgets/front_end.py.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "widgets"))

import front_end  # noqa: E402  found only now

# What the wheel carries beside the package: (folder here, files in it, folder in the wheel). See dra_lab/shipped.py.
SHIPPED = (
    ("sample_clusters", "*/*.yaml", "dra_lab/_samples"),
    ("sample_clusters", "*/README.md", "dra_lab/_samples"),
    ("sample_clusters", "*/examples/*.yaml", "dra_lab/_samples"),
    ("notebooks", "*.ipynb", "dra_lab/_notebooks"),
    ("notebooks", "course/*.ipynb", "dra_lab/_notebooks"),
)


class DraLabBuild(BuildHookInterface[Any]):
    """The build hook; hatchling finds it by its base class."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the front end where this is no sdist, then add what the wheel carries beside the package."""
        try:
            if not (ROOT / "PKG-INFO").is_file():
                front_end.build()
            elif still := front_end.missing():
                raise front_end.FrontEndError(f"this sdist was made without its built files: {', '.join(still)}")
        except front_end.FrontEndError as error:
            sys.exit(f"dra-lab: {error}")
        if self.target_name == "wheel" and version == "standard":
            build_data["force_include"].update(_shipped_files())


def _shipped_files() -> dict[str, str]:
    """Return file -> place in the wheel."""
    return {
        str(path): f"{target}/{path.relative_to(ROOT / folder).as_posix()}"
        for folder, pattern, target in SHIPPED
        for path in sorted((ROOT / folder).glob(pattern))
        if path.is_file() and not _stays_here(path.relative_to(ROOT))
    }


def _stays_here(path: Path) -> bool:
    """Say whether a file only makes samples (scripts, their folder) or was left behind by running something."""
    return path.suffix in (".py", ".pyc") or any(part.startswith((".", "_")) for part in path.parts)

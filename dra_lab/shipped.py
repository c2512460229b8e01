"""Where the files that come with dra_lab lie: sample clusters and notebook templates.

In an installed wheel they lie inside the package (hatch_build.py puts them there), in a clone or an editable install in
the folders of the checkout. Both are ordinary folders, so callers may list and open what is in them, but must not write
there.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def samples_dir() -> Path:
    """Return the folder that holds one folder for each sample cluster (`sample:NAME`)."""
    return _shipped("_samples", "sample_clusters")


def notebooks_dir() -> Path:
    """Return the folder of the notebook templates (`01_plan.ipynb`, ...), which carry no outputs."""
    return _shipped("_notebooks", "notebooks")


def _shipped(in_wheel: str, in_checkout: str) -> Path:
    """Prefer the checkout beside the package: an editable install must show what is being edited."""
    checkout = _PACKAGE.parent / in_checkout
    if checkout.is_dir() and (_PACKAGE.parent / "pyproject.toml").is_file():
        return checkout
    return _PACKAGE / in_wheel

"""The worked examples of docs/planner.md: a new goal and a new kind of link."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.patch"))


@pytest.mark.parametrize("patch", EXAMPLES, ids=lambda patch: patch.stem)
def test_an_example_touches_at_most_three_files(patch):
    """A new goal or kind of link is written in three files, besides what is generated from them."""
    files = re.findall(r"^diff --git a/(\S+)", patch.read_text(), re.MULTILINE)
    assert 0 < len([name for name in files if "/generated/" not in name]) <= 3


@pytest.mark.parametrize("patch", EXAMPLES, ids=lambda patch: patch.stem)
def test_an_example_applies(patch):
    """The examples are written for the code as it is."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout, so that git cannot apply a patch to it")
    done = subprocess.run(
        ["git", "apply", "--check", str(patch)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""

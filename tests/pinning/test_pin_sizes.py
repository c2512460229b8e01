"""One place has the sizes and shares of time by which pins are searched."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import fields

from dra_lab.pinning.pin_budget import PinShares, PinSizes

PINNING = Path(__file__).parents[2] / "dra_lab" / "pinning"

NUMBERS = re.compile(r"^([A-Z_]+(?:, [A-Z_]+)*) = [\d_., *]+$", re.MULTILINE)

OF_KUBERNETES = {"place_selectors.py": ["MOST_TEXT"], "replica_groups.py": ["_MOST, _LEAST"]}
"""Lengths of a selector and of an object's name."""

NO_LIMIT = {"node_search.py": ["MOST_STEPS"]}

DEFAULTS = {"plan_replay.py": ["SEEDS"]}
"""Defaults of parameters of the public API."""


def test_no_module_of_pinning_has_a_size_of_its_own():
    """Constants that are numbers are limits of Kubernetes, no limit, or defaults; sizes come with the budget."""
    found = {path.name: NUMBERS.findall(path.read_text(encoding="utf-8")) for path in PINNING.glob("*.py")}
    assert {file: names for file, names in found.items() if names} == {**OF_KUBERNETES, **NO_LIMIT, **DEFAULTS}


@pytest.mark.parametrize("kind", [PinSizes, PinShares])
def test_every_size_and_share_of_pinning_is_read(kind):
    """A field that no module reads decides nothing."""
    text = "\n".join(p.read_text(encoding="utf-8") for p in PINNING.glob("*.py") if p.name != "pin_budget.py")
    text += (PINNING / "pin_budget.py").read_text(encoding="utf-8").partition("class PinBudget")[2]
    assert [one.name for one in fields(kind) if f".{one.name}" not in text] == []

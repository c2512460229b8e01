"""The table of what figures mean: nothing on the screen is without a meaning."""

from __future__ import annotations

from dra_lab.model.goals import GOAL_WORDS
from dra_lab.words.comparison import ROWS
from dra_lab.words.facts import GLOSSARY


def test_every_goal_and_every_row_of_a_comparison_has_a_meaning():
    """A person can ask what any of them counts."""
    assert {*GOAL_WORDS, *ROWS} - GLOSSARY.keys() == set()


def test_a_meaning_is_whole_sentences():
    """It stands alone in a popover."""
    assert [name for name, text in GLOSSARY.items() if not (text[0].isupper() or text[0].isdigit())] == []
    assert [name for name, text in GLOSSARY.items() if not text.endswith(".")] == []

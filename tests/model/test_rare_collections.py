"""Fewer garbage collections while a question is answered, and as many as before afterwards."""

from __future__ import annotations

import gc

from dra_lab.garbage import rare_collections


def test_thresholds_are_as_before_after_the_last_context():
    """Contexts that overlap, as in two threads, leave the collector as it was before the first of them."""
    before = gc.get_threshold()
    first, second = rare_collections(), rare_collections()
    first.__enter__()
    second.__enter__()
    inside = gc.get_threshold()
    first.__exit__(None, None, None)
    between = gc.get_threshold()
    second.__exit__(None, None, None)
    assert (inside[0], between, gc.get_threshold()) == (50_000, inside, before)

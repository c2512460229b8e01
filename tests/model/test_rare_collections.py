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


def test_only_new_objects_are_looked_at_inside():
    """A collection of all objects of a large cluster takes most of a second, in which nothing else runs."""
    generations: list[int] = []

    def note(_: str, info: dict[str, int]) -> None:
        generations.append(info["generation"])

    with rare_collections():
        gc.callbacks.append(note)
        kept = [[] for _ in range(15 * 50_000)]
        gc.callbacks.remove(note)
    del kept
    assert set(generations) == {0}

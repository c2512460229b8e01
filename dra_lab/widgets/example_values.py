"""What the picture says of claims by example: each claim in words, most general first."""

from __future__ import annotations

from collections.abc import Sequence

from dra_lab.model.sketch import asks
from dra_lab.sketch.by_example import Example
from dra_lab.sketch.links import LEVEL_WORDS
from dra_lab.widgets.wire import Row


class ExampleRow(Row, frozen=True):
    """One claim: `title` says how general it is, `lines` its requests and links, `matching` what it would take."""

    title: str
    lines: tuple[str, ...] = ()
    matching: str = ""


def example_rows(examples: Sequence[Example]) -> tuple[ExampleRow, ...]:
    """Return a row for each claim, in order."""
    return tuple(ExampleRow(example.title, tuple(_lines(example)), _matching(example)) for example in examples)


def _lines(example: Example) -> list[str]:
    lines = []
    for request in example.sketch.requests:
        for ask in asks(request):
            lines.append(f"{request.name}: {ask.count} × {ask.device_class_name}")
            lines += [f"  {text}" for text in ask.selectors]
    for link in example.sketch.links:
        lines.append(f"{' + '.join(link.requests)}: {link.how} at the {LEVEL_WORDS.get(link.where, link.where)}")
    return lines


def _matching(example: Example) -> str:
    counts = ", ".join(f"{count} for {name}" for name, count in example.matching.items())
    only = "; on this node nothing but the chosen devices" if example.exact else ""
    return f"{counts} match in the whole cluster{only}"

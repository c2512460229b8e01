"""What is wrong with one field, named as Kubernetes names it."""

from __future__ import annotations

from typing import NamedTuple


class FieldError(NamedTuple):
    """A complaint about one field: its path as the API server prints it, and a sentence.

    The path has the form `spec.devices[0].capacity[memory].value`; a whole struct is named when the complaint is about
    several of its fields together.
    """

    field: str
    message: str

    def __str__(self) -> str:
        """Return `path: message`."""
        return f"{self.field}: {self.message}" if self.field else self.message


Place = tuple["Place", str | int, bool] | None
"""A path while it is being walked, innermost step first; the flag says that the step is the key of a map."""


def print_place(place: Place) -> str:
    """Return a walked path as Kubernetes prints it."""
    steps: list[tuple[str | int, bool]] = []
    while place is not None:
        place, step, is_key = place
        steps.append((step, is_key))
    text = ""
    for step, is_key in reversed(steps):
        if is_key or isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text

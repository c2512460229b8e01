"""A driver's templates for made devices (`drivers/data`), filled in with what an inventory knows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import Formatter

from dra_lab.model.device import Device, DeviceAttribute, DeviceCapacity
from dra_lab.model.driver_profile import MadeDevice
from dra_lab.model.names import full_name

Known = str | int | bool
_LONGEST = 64
_NO_LABEL = re.compile(r"[^a-z0-9-]+")


@dataclass(frozen=True)
class TemplateWords:
    """The words that a template may hold, and where each comes from."""

    values: Mapping[str, Known]
    origins: Mapping[str, str] = field(default_factory=dict)


def words_in(template: object) -> tuple[str, ...]:
    """Return the words of a template in order; a value that is no text has none."""
    return tuple(word for _, word, _, _ in Formatter().parse(template) if word) if isinstance(template, str) else ()


def fill(template: str, words: TemplateWords) -> str | None:
    """Return a template filled in, None where a word is not known; the values are never read as templates."""
    if any(word not in words.values for word in words_in(template)):
        return None
    return template.format_map(words.values)


def made_name(rule: MadeDevice, words: TemplateWords) -> str:
    """Return the first name that can be filled in, as a DNS label; "" where none can."""
    name = next((found for template in rule.names if (found := fill(template, words)) is not None), "")
    return _NO_LABEL.sub("-", name.lower()).strip("-")[:63].strip("-")


def made_device(rule: MadeDevice, name: str, words: TemplateWords, driver: str) -> tuple[Device, Mapping[str, str]]:
    """Return a device as the driver would publish it, and where each attribute comes from, by its full name."""
    attributes: dict[str, DeviceAttribute] = {}
    origins: dict[str, str] = {}
    for key, typed in rule.attributes.items():
        (kind, template), *_ = typed.items()
        value = _value(kind, template, words)
        if value is None:
            continue
        attributes[key] = value
        sources = dict.fromkeys(words.origins[word] for word in words_in(template) if word in words.origins)
        if sources:
            origins[full_name(key, driver)] = ", ".join(sources)
    amounts = {key: fill(template, words) for key, template in rule.capacity.items()}
    capacity = {key: DeviceCapacity(value=amount) for key, amount in amounts.items() if amount is not None}
    shareable = True if rule.shareable else None
    return Device(name=name, attributes=attributes, capacity=capacity, allow_multiple_allocations=shareable), origins


def _value(kind: str, template: Known, words: TemplateWords) -> DeviceAttribute | None:
    words_of = words_in(template)
    whole = words_of[0] if isinstance(template, str) and template == f"{{{''.join(words_of)}}}" else ""
    filled = words.values.get(whole) if whole else fill(template, words) if isinstance(template, str) else template
    if filled is None:
        return None
    if kind == "bool":
        return DeviceAttribute(bool_=bool(filled))
    if kind == "int":
        return DeviceAttribute(int_=int(filled))
    text = str(filled)[:_LONGEST]
    return DeviceAttribute(version=text) if kind == "version" else DeviceAttribute(string=text)


def in_packs(devices: Sequence[Device], size: int) -> list[tuple[Device, ...]]:
    """Return devices in tuples of at most `size`, in order."""
    return [tuple(devices[start : start + size]) for start in range(0, len(devices), size)]

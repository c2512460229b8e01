"""Extended resources that device plugins serve, and how DRA asks for such devices (`data/device_plugins.yaml`)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from dra_lab.drivers.profiles import convert, read_data

_VALUE = "{value}"


@dataclass(frozen=True, slots=True)
class PluginResource:
    """A resource name of a device plugin and the devices that take its place.

    `resource` may hold `{value}`, which then stands in `selectors` as well; `request` is a name for the request.
    `device_class` is "" where nothing takes its place one for one: `note` then says what people do instead.
    """

    resource: str
    driver: str
    device_class: str
    request: str
    source: str
    selectors: tuple[str, ...] = ()
    note: str = ""


@cache
def plugin_resources() -> tuple[PluginResource, ...]:
    """Return what is known, in the order of the data file."""
    return tuple(convert(row, PluginResource, "device_plugins.yaml") for row in read_data("device_plugins.yaml"))


def plugin_resource(name: str) -> PluginResource | None:
    """Return what is known of an extended resource, its value filled in; None where nothing is known."""
    for known in plugin_resources():
        before, mark, after = known.resource.partition(_VALUE)
        found = re.fullmatch(f"{re.escape(before)}({'[A-Za-z0-9._+-]+' if mark else ''}){re.escape(after)}", name)
        if found is not None:
            # a resource name holds no quote and no backslash, so it cannot leave the CEL text it stands in
            texts = tuple(text.replace(_VALUE, found[1]) for text in known.selectors)
            return PluginResource(
                name, known.driver, known.device_class, known.request, known.source, texts, " ".join(known.note.split())
            )
    return None

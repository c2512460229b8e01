"""Extended resources that device plugins serve, and how DRA asks for such devices (`data/device_plugins.yaml`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.drivers.profiles import convert, read_data

_VALUE = "{value}"


class PluginResource(Struct, frozen=True, forbid_unknown_fields=True):
    """A resource name of a device plugin and the devices that take its place.

    `resource` may hold `{value}`, which then stands in `selectors` as well; `request` is a name for the request.
    `device_class` is "" where nothing takes its place one for one: `note` is the reason. `share` says that it is an
    amount of devices that several pods share, and no number of devices.
    """

    resource: str
    source: str
    driver: str = ""
    device_class: str = ""
    request: str = ""
    selectors: tuple[str, ...] = ()
    note: str = ""
    share: bool = False


@cache
def plugin_resources() -> tuple[PluginResource, ...]:
    """Return what is known, in the order of the data file."""
    rows = (one for row in read_data("device_plugins.yaml") for one in _each(row))
    return tuple(convert(row, PluginResource, "device_plugins.yaml") for row in rows)


def _each(row: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if "shares" not in row:
        yield row
        return
    rest = {key: value for key, value in row.items() if key != "shares"}
    yield from ({**rest, "resource": name, "share": True} for name in row["shares"])


def plugin_resource(name: str) -> PluginResource | None:
    """Return what is known of an extended resource, its value filled in; None where nothing is known."""
    for known in plugin_resources():
        before, mark, after = known.resource.partition(_VALUE)
        found = re.fullmatch(f"{re.escape(before)}({'[A-Za-z0-9._+-]+' if mark else ''}){re.escape(after)}", name)
        if found is not None:
            # a resource name holds no quote and no backslash, so it cannot leave the CEL text it stands in
            texts = tuple(text.replace(_VALUE, found[1]) for text in known.selectors)
            return replace(known, resource=name, selectors=texts)
    return None

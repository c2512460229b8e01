"""What is known of the drivers: a person's own profiles first, then the data files `data/<driver>.yaml`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml
from msgspec import Struct
from msgspec.structs import replace

from dra_lab.errors import DraLabError
from dra_lab.model.decoding import from_builtins
from dra_lab.model.driver_profile import DocumentedClass, DriverProfile, Profiles

T = TypeVar("T")

_DATA = Path(__file__).parent / "data"
_OTHER_FILES = ("device_plugins", "machines", "pci_models")


@cache
def known_drivers() -> tuple[str, ...]:
    """Return the names of the drivers with a data file, sorted."""
    names = (entry.name.removesuffix(".yaml") for entry in _DATA.iterdir() if entry.name.endswith(".yaml"))
    return tuple(sorted(name for name in names if name not in _OTHER_FILES))


def profile(driver: str, own: Profiles) -> DriverProfile:
    """Return what is known of a driver: the person's own profile (`Cluster.profiles`), else that of the data file.

    The profile of an unknown driver has its name as title and nothing else.
    """
    if driver in own:
        return own[driver]
    # The name comes from a cluster: it is only ever compared with the files that are there, never used as a path.
    # The generic profile is not cached, so that a cluster full of invented names cannot fill the memory.
    if driver not in known_drivers():
        return DriverProfile(driver=driver, title=driver, known=False)
    return _read_profile(driver)


def all_profiles(own: Profiles) -> Iterator[DriverProfile]:
    """Yield the profiles of all drivers with one, by name."""
    return (profile(driver, own) for driver in sorted({*known_drivers(), *own}))


def documented_class(name: str, own: Profiles) -> tuple[DriverProfile, DocumentedClass] | None:
    """Return (profile of the driver, class) of the documented DeviceClass of this name or alias, or None."""
    for known in all_profiles(own):
        for documented in known.classes:
            if name in (documented.name, *documented.aliases):
                return known, documented
    return None


@cache
def _read_profile(driver: str) -> DriverProfile:
    return convert(read_data(f"{driver}.yaml"), DriverProfile, f"{driver}.yaml")


def read_data(name: str) -> Any:
    """Return the parsed YAML of a shipped data file."""
    text = _DATA.joinpath(name).read_text(encoding="utf-8")
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  libyaml is 10 times faster


def convert(raw: Any, kind: type[T], where: str) -> T:
    """Turn plain data into a value, naming the file and the field when they do not agree.

    Raises DraLabError: a broken data file is a fault of this package, not of the person's input.
    """
    try:
        return from_builtins(raw, kind)
    except (msgspec.ValidationError, TypeError) as error:
        raise DraLabError(f"{where}: {error}; correct the data file (see drivers/data/README.md)") from error


# --------------------------------------------------------------------- device plugins
# Extended resources that device plugins serve, and how DRA asks for such devices (`data/device_plugins.yaml`).

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

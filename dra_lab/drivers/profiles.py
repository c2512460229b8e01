"""What is known of the drivers: a person's own profiles first, then the data files `data/<driver>.yaml`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

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

"""A person's own profiles of drivers: read from files or values, checked whole, and put onto a cluster."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from dra_lab.cel.selector import admit_selector
from dra_lab.errors import CelError, InputError, ManifestError, QuantityError, SourceError, UnsupportedFeature
from dra_lab.findings import Origin
from dra_lab.manifests.file_text import expanded, read_bytes, utf8_text
from dra_lab.manifests.typed import convert
from dra_lab.manifests.yaml_text import dump_yaml, load_yaml
from dra_lab.model.driver_profile import KINDS, LEVELS, PLACEHOLDER, DriverProfile, Profiles
from dra_lab.model.quantity import parse_quantity

MAX_PROFILE_BYTES = 2**18
MAX_PROFILES = 1000

_FULL_NAME = re.compile(r"[a-z0-9.-]{1,253}/[A-Za-z_][A-Za-z0-9_]{0,62}")
_LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_SUBDOMAIN = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")
_SHIPPED_ONLY = ("known", "made")

OneProfile = str | Path | DriverProfile | Mapping[str, Any]
GivenProfiles = OneProfile | Sequence[OneProfile]
"""A file, a profile as a value, several of them, or profiles by driver."""

_Found = tuple[DriverProfile, Origin]


def read_profiles(given: GivenProfiles | None) -> Profiles:
    """Return the profiles of files and values by driver.

    Raises InputError with the file, the line and the field of what is wrong, and for two profiles of one driver.
    """
    found: dict[str, _Found] = {}
    for profile, origin in _each(given):
        if profile.driver in found:
            first = found[profile.driver][1]
            raise InputError(f"the driver {profile.driver!r} has a profile in {first} too; keep one", origin=origin)
        if len(found) == MAX_PROFILES:
            raise InputError(f"more than {MAX_PROFILES:,} profiles are given, which is the limit", origin=origin)
        found[profile.driver] = profile, origin
    return {driver: profile for driver, (profile, _) in found.items()}


def profile_text(profile: DriverProfile) -> str:
    """Return a profile as the text of its file, without what a file leaves out."""
    return dump_yaml(_filled(_written(profile)))


def _written(profile: DriverProfile) -> dict[str, Any]:
    return {name: part for name, part in msgspec.to_builtins(profile).items() if name not in _SHIPPED_ONLY}


def _filled(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _filled(part) for key, part in value.items() if part not in ("", None, {}, [], ())}
    return [_filled(part) for part in value] if isinstance(value, list | tuple) else value


def _each(given: GivenProfiles | None) -> Iterator[_Found]:
    if given is None:
        return
    if isinstance(given, str | Path):
        yield from _of_file(given)
    elif isinstance(given, DriverProfile | Mapping):
        yield from _of_value(given, "drivers")
    elif isinstance(given, Iterable):
        for number, one in enumerate(given):
            yield from _of_file(one) if isinstance(one, str | Path) else _of_value(one, f"drivers[{number}]")
    else:
        raise InputError(f"drivers must be profile files or profiles, not {type(given).__name__}")


def _of_file(file: str | Path) -> Iterator[_Found]:
    source = str(file)
    try:
        text = utf8_text(read_bytes(expanded(file), MAX_PROFILE_BYTES, pipes=True), source)
    except SourceError as error:
        raise SourceError(f"{error.message}; give a file with the profile of a driver", origin=error.origin) from None
    documents = list(load_yaml(text, source))
    if not documents:
        raise InputError("the file is empty; write the profile of a driver", origin=Origin(source))
    for document in documents:
        try:
            yield _checked(document.value, Origin(source, line=document.line())), Origin(source, line=document.line())
        except InputError as error:
            path = error.origin.path if error.origin is not None else ""
            raise InputError(error.message, origin=Origin(source, path=path, line=document.line(path))) from None


def _of_value(value: object, where: str) -> Iterator[_Found]:
    if isinstance(value, DriverProfile):
        value = _written(value)
    if isinstance(value, Mapping) and "driver" in value:
        yield _checked(dict(value), Origin(where)), Origin(where)
    elif isinstance(value, Mapping):
        for driver, one in value.items():
            inner = {"driver": driver, **one} if isinstance(one, Mapping) else one
            yield from _of_value(inner, f"{where}[{driver!r}]")
    else:
        raise InputError(f"{where} must be a profile file or a profile, not {type(value).__name__}")


def _checked(value: object, origin: Origin) -> DriverProfile:
    """Return a plain value as a profile. Raises InputError with the path of the field that is wrong."""
    if not isinstance(value, Mapping):
        raise InputError("a profile is a mapping that begins with `driver: NAME`", origin=origin)
    if "known" in value:
        place = Origin(origin.source, path="known", line=origin.line)
        raise InputError("a profile file has no field 'known'; remove it", origin=place)
    try:
        profile = convert(value, DriverProfile, origin)
    except ManifestError as error:
        advice = "correct it; the fields are in drivers/data/README.md of dra_lab"
        raise InputError(f"{error.message}; {advice}", origin=error.origin) from None
    for path, message in _faults(profile):
        raise InputError(message, origin=Origin(origin.source, path=path, line=origin.line))
    # `made` has templates that only the shipped files may fill in.
    return replace(profile, title=profile.title or profile.driver, made=(), known=False)


def _faults(profile: DriverProfile) -> Iterator[tuple[str, str]]:
    """Yield the path of each field that is wrong, with what is wrong and what to write."""
    if not _SUBDOMAIN.fullmatch(profile.driver):
        yield "driver", f"{profile.driver!r} is not the name of a driver; write it as in the ResourceSlices"
    for part in ("kinds", "offers"):
        for number, rule in enumerate(getattr(profile, part)):
            if rule.kind not in KINDS:
                yield f"{part}[{number}].kind", f"{rule.kind!r} is not a kind; use one of {', '.join(KINDS)}"
    for level in profile.topology:
        if level not in LEVELS:
            yield f"topology.{level}", f"{level!r} is not a level; use one of {', '.join(LEVELS)}"
    for path, name in _names(profile):
        if not _FULL_NAME.fullmatch(name):
            yield path, f"{name!r} is not a full attribute name; write it like {profile.driver}/model"
    yield from _request_faults(profile)


def _request_faults(profile: DriverProfile) -> Iterator[tuple[str, str]]:
    """Yield what is wrong in offers and classes."""
    for number, offer in enumerate(profile.offers):
        try:
            parse_quantity(offer.default_capacity or "1")
        except QuantityError as error:
            yield f"offers[{number}].default_capacity", error.message
        if offer.default_count < 1:
            yield f"offers[{number}].default_count", f"{offer.default_count} is too few; write 1 or more"
    for number, device_class in enumerate(profile.classes):
        if not _SUBDOMAIN.fullmatch(device_class.name):
            yield f"classes[{number}].name", f"{device_class.name!r} is not the name of a DeviceClass"
    for part in ("offers", "classes"):
        for number, rule in enumerate(getattr(profile, part)):
            for at, text in enumerate(rule.selectors):
                try:
                    admit_selector(text)
                except (CelError, UnsupportedFeature) as error:
                    yield f"{part}[{number}].selectors[{at}]", f"{error.message}; correct the selector"


def _names(profile: DriverProfile) -> Iterator[tuple[str, str]]:
    """Yield the names of attributes, each with its path."""
    for level, names in profile.topology.items():
        yield from ((f"topology.{level}[{number}]", name) for number, name in enumerate(names))
    for part in ("kinds", "labels", "short", "offers"):
        for number, rule in enumerate(getattr(profile, part)):
            yield from ((f"{part}[{number}].when", name) for name in rule.when)
            text = rule.text if part in ("labels", "short") else ""
            yield from ((f"{part}[{number}].text", name) for name in PLACEHOLDER.findall(text))

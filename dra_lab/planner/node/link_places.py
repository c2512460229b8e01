"""The values of a device at the place of a link: one as a rule, several where a list is published (KEP-5491)."""

from __future__ import annotations

from dra_lab.model.device import Device
from dra_lab.model.names import PCIE_ROOT
from dra_lab.model.sketch import How, Link
from dra_lab.topology.locality import Locality, level_number, level_value, shared_value

PlaceValue = tuple[str, str | int]
"""A value at a place with its type, because 1, True and "1" are three values (docs/semantics.md 3.9.8)."""

Values = tuple[PlaceValue, ...]
"""All values of a device at a place, sorted; () where it has none."""

LIST = "list"
"""The type of a list that the release does not read: it stands for itself."""


def typed(value: str | int | None) -> PlaceValue | None:
    """Return a value with its type, so that 1, True and "1" differ."""
    return None if value is None else (type(value).__name__, value)


def place_values(locality: Locality, link: Link, device: Device, *, lists: bool) -> Values:
    """Return the values of a device at a link's place.

    `lists` is the gate DRAListTypeAttributes: a list then has all its values (docs/semantics.md 3.9.11, 3.9.17).
    Without it, a list equals nothing, and `distinctAttribute` takes it for equal to every other list
    (docs/semantics.md 3.9.10, 3.9.23).
    """
    if link.is_level:
        return _at_level(locality, link, device, lists=lists)
    attribute = device.lookup(link.where, locality.device.driver)
    if attribute is None or attribute.value is None:
        return ()
    kind, value = attribute.kind, attribute.value
    if not isinstance(value, tuple):
        return ((kind, value),)
    if not lists:
        return _unread(locality, link)
    return tuple(sorted({(kind.removesuffix("s"), member) for member in value}))


def _at_level(locality: Locality, link: Link, device: Device, *, lists: bool) -> Values:
    value = shared_value if link.kind.near else level_value
    known = typed(value(locality, link.where, device))
    listed = dict(locality.listed).get(link.where)
    if listed is None or (known is not None and not lists):
        return _empty_root(locality, link, device) if known is None else (known,)
    if not lists:
        return _unread(locality, link)
    digits = (level_number(value) for value in listed)
    return tuple(sorted({(type(value).__name__, value) for value in digits}))


def _empty_root(locality: Locality, link: Link, device: Device) -> Values:
    """Return an empty text that is published as PCIe root, where a constraint demands one root: equal to itself.

    Rule: docs/semantics.md 3.9.7. It is no place that anybody knows; kube-scheduler takes it for one, and the demand is
    kube-scheduler's.
    """
    if not (link.must and link.how is How.TOGETHER and link.where == "pcieRoot"):
        return ()
    attribute = device.lookup(PCIE_ROOT, locality.device.driver)
    return (("str", ""),) if attribute is not None and attribute.value == "" else ()


def _unread(locality: Locality, link: Link) -> Values:
    return ((LIST, str(locality.device) if link.kind.near else ""),)

"""Places in a snapshot: what a topology file contained, so that a plan made with them can be made again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

import msgspec

from dra_lab.model.nodes import FilePlace, FilePlaces


class KeptPlace(msgspec.Struct, frozen=True, rename="camel"):
    """A place of a device that no slice publishes."""

    driver: str
    device: str
    level: str
    value: str | int
    source: str


class KeptAttribute(msgspec.Struct, frozen=True, rename="camel"):
    """Where an attribute of a slice that was made from files comes from."""

    driver: str
    device: str
    attribute: str
    source: str


class KeptPlaces(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The places of some nodes that share them, sorted."""

    source: str
    nodes: tuple[str, ...]
    places: tuple[KeptPlace, ...] = ()
    made: tuple[KeptAttribute, ...] = ()


def kept_places(file_places: Mapping[str, FilePlaces]) -> tuple[KeptPlaces, ...]:
    """Return the places of a cluster's nodes, each once, by the first of its nodes."""
    nodes: dict[int, list[str]] = defaultdict(list)
    known: dict[int, FilePlaces] = {}
    for node, item in sorted(file_places.items()):
        nodes[id(item)].append(node)
        known[id(item)] = item
    return tuple(_kept(known[key], tuple(names)) for key, names in nodes.items())


def file_places_of(kept: tuple[KeptPlaces, ...]) -> dict[str, FilePlaces]:
    """Return the places by node, as they were captured."""
    found: dict[str, FilePlaces] = {}
    for item in kept:
        places: dict[tuple[str, str], dict[str, FilePlace]] = defaultdict(dict)
        made: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        for place in item.places:
            places[place.driver, place.device][place.level] = FilePlace(place.value, place.source)
        for attribute in item.made:
            made[attribute.driver, attribute.device][attribute.attribute] = attribute.source
        found.update(dict.fromkeys(item.nodes, FilePlaces(item.source, dict(places), dict(made))))
    return found


def renamed_places(
    file_places: Mapping[str, FilePlaces], node: Callable[[str], str], device: Callable[[str, str], str]
) -> dict[str, FilePlaces]:
    """Return places under pseudonyms of nodes and devices; the names of the files go."""
    new: dict[int, FilePlaces] = {}
    for item in file_places.values():
        if id(item) not in new:
            new[id(item)] = FilePlaces(
                "file",
                {
                    (driver, device(driver, name)): {k: FilePlace(p.value, "file") for k, p in places.items()}
                    for (driver, name), places in item.places.items()
                },
            )
    return {node(name): new[id(item)] for name, item in file_places.items()}


def _kept(item: FilePlaces, nodes: tuple[str, ...]) -> KeptPlaces:
    places = tuple(
        KeptPlace(driver, device, level, place.value, place.source)
        for (driver, device), levels in sorted(item.places.items())
        for level, place in sorted(levels.items())
    )
    made = tuple(
        KeptAttribute(driver, device, attribute, source)
        for (driver, device), attributes in sorted(item.made.items())
        for attribute, source in sorted(attributes.items())
    )
    return KeptPlaces(item.source, nodes, places, made)

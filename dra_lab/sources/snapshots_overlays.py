"""Overlays in a snapshot: what topology files contained, so that a plan made with them can be made again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

import msgspec

from dra_lab.model.overlay import Overlay, OverlayPlace


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


class KeptOverlay(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One overlay and the nodes that share it, sorted."""

    source: str
    nodes: tuple[str, ...]
    places: tuple[KeptPlace, ...] = ()
    made: tuple[KeptAttribute, ...] = ()


def kept_overlays(overlays: Mapping[str, Overlay]) -> tuple[KeptOverlay, ...]:
    """Return the overlays of a cluster's nodes, each once, by the first of its nodes."""
    nodes: dict[int, list[str]] = defaultdict(list)
    known: dict[int, Overlay] = {}
    for node, overlay in sorted(overlays.items()):
        nodes[id(overlay)].append(node)
        known[id(overlay)] = overlay
    return tuple(_kept(known[key], tuple(names)) for key, names in nodes.items())


def overlays_of(kept: tuple[KeptOverlay, ...]) -> dict[str, Overlay]:
    """Return the overlays by node, as they were captured."""
    found: dict[str, Overlay] = {}
    for item in kept:
        places: dict[tuple[str, str], dict[str, OverlayPlace]] = defaultdict(dict)
        made: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        for place in item.places:
            places[place.driver, place.device][place.level] = OverlayPlace(place.value, place.source)
        for attribute in item.made:
            made[attribute.driver, attribute.device][attribute.attribute] = attribute.source
        found.update(dict.fromkeys(item.nodes, Overlay(item.source, dict(places), dict(made))))
    return found


def renamed_overlays(
    overlays: Mapping[str, Overlay], node: Callable[[str], str], device: Callable[[str, str], str]
) -> dict[str, Overlay]:
    """Return overlays under pseudonyms of nodes and devices; the names of the files go."""
    new: dict[int, Overlay] = {}
    for overlay in overlays.values():
        if id(overlay) not in new:
            new[id(overlay)] = Overlay(
                "overlay",
                {
                    (driver, device(driver, name)): {k: OverlayPlace(p.value, "overlay") for k, p in places.items()}
                    for (driver, name), places in overlay.places.items()
                },
            )
    return {node(name): new[id(overlay)] for name, overlay in overlays.items()}


def _kept(overlay: Overlay, nodes: tuple[str, ...]) -> KeptOverlay:
    places = tuple(
        KeptPlace(driver, device, level, place.value, place.source)
        for (driver, device), levels in sorted(overlay.places.items())
        for level, place in sorted(levels.items())
    )
    made = tuple(
        KeptAttribute(driver, device, attribute, source)
        for (driver, device), attributes in sorted(overlay.made.items())
        for attribute, source in sorted(attributes.items())
    )
    return KeptOverlay(overlay.source, nodes, places, made)

"""Pseudonyms: one for each text of a capture that is not known to be harmless, in the order of the texts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from typing import Any

from msgspec import structs

from dra_lab.model.cluster import Cluster
from dra_lab.model.names import full_name
from dra_lab.sources.harmless import (
    DOMAINS,
    holds_identifier,
    identifies,
    in_machine,
    is_core,
    is_plain,
    is_released,
    is_word,
    keeps_attribute,
    keeps_key,
    keeps_label,
    level_in,
)

_BUILT = re.compile(r"(v?\d+\.\d+\.\d+[-+])(.+)", re.DOTALL)
"""A version with what its builder added."""

_LITERAL = re.compile(
    r"""//[^\n]*|(?<![\w"'])(?P<prefix>[rRbB]{0,2})(?P<quote>\"\"\"|'''|"|')(?P<body>(?:\\.|(?!(?P=quote)).)*)(?P=quote)
    |(?<![\w.])(?P<number>\d{6,})(?![\w.])""",
    re.VERBOSE | re.DOTALL,
)


_MEMBERS = ("node", "pool", "host")
"""Kinds whose names mean one thing wherever they stand: the same text has the same pseudonym in all of them."""


class Pseudonyms:
    """The texts of one capture: first collected, then each given a pseudonym by `assign`."""

    def __init__(self, cluster: Cluster) -> None:
        """Begin to collect; names of drivers, classes and attributes stay."""
        self.seen: dict[str, set[str]] = defaultdict(set)
        self.kept: set[str] = set()
        self.tables: dict[str, dict[str, str]] = {}
        self.literals: dict[str, str] | None = None
        self.attributes: dict[tuple[str, str, Any], Any] = {}
        found = {*DOMAINS, *cluster.drivers, *cluster.class_by_name}
        found |= {str(c.spec.extended_resource_name) for c in cluster.classes if c.spec.extended_resource_name}
        for item in cluster.slices:
            for device in item.spec.devices or ():
                for key in (*device.attributes, *device.capacity):
                    domain, _, identifier = full_name(key, item.spec.driver).rpartition("/")
                    found.update((key, domain, identifier))
        self.protected = found
        self.devices = dict(_device_names(cluster))
        own = {*cluster.node_names, *(item.spec.pool.name for item in cluster.slices)}
        words = {form.lower() for name in own for form in (name, name.partition(".")[0], name.replace(".", "-"))}
        self.own = {word for word in words if len(word) > 4 and not word.isalpha()}  # "h100" is a model too
        self.tells: Callable[[str], bool] = cache(self._tells)

    def _tells(self, text: str) -> bool:
        """Say whether a text holds an identifier, or the name of a node or pool."""
        return holds_identifier(text) or any(name in text.lower() for name in self.own)

    def of(self, kind: str, text: str) -> str:
        """Return the pseudonym of a text of a kind; "" stays ""."""
        if not text:
            return text
        if self.literals is None:
            self.seen[kind].add(text)
            return text
        for table in (kind, *(_MEMBERS if kind in (*_MEMBERS, "value") else ())):
            if text in self.tables.get(table, ()):
                return self.tables[table][text]
        return text

    def stays(self, text: str) -> str:
        """Return a text that stays, and remember it for the literals of selectors."""
        self.kept.add(text)
        return text

    def device(self, driver: str, name: str) -> str:
        """Return the name of a device, also of one that no slice publishes any more."""
        table = self.devices.get(driver, {})
        return table[name] if name in table else name if in_machine(name) else self.of("value", name)

    def label(self, key: str) -> str:
        """Return the key of a label or taint; one that few clusters have keeps only the level that it names."""
        if keeps_key(key):
            return key
        new = self.of("label", key)
        return new if self.literals is None else f"{new}.example/{level_in(key) or 'key'}"

    def label_value(self, key: str, value: str) -> str:
        """Return the value of a label, taint or toleration."""
        if key.endswith("/hostname") or key == "kubernetes.io/metadata.name":
            return self.of("host" if key.endswith("hostname") else "namespace", value)
        if is_word(value) or (keeps_label(key) and not self.tells(value)):
            return self.stays(value)
        return self.of("value", value)

    def resource(self, name: str) -> str:
        """Return the name of a resource: those of classes stay, and those that many clusters have."""
        if name in self.protected or name.removesuffix("/devices") in self.protected:
            return name
        if is_core(name) or keeps_label(name):
            return name
        return self.label(name) if "/" in name else self.of("resource", name)

    def attribute(self, driver: str, key: str, value: Any) -> Any:
        """Return the value of an attribute, worked out once for equal ones."""
        found = self.attributes.get((driver, key, value))
        if found is None:
            found = self.attributes[driver, key, value] = self._attribute(driver, key, value)
        return found

    def _attribute(self, driver: str, key: str, value: Any) -> Any:
        named = identifies(key)
        known = not named and keeps_attribute(driver, full_name(key, driver))

        def one(part: Any) -> Any:
            if value.version is not None or value.versions is not None:
                return self.version(part)
            if not isinstance(part, str):
                hides = named and not isinstance(part, bool)
                return int(self.of("number", str(part))) if hides else part
            harmless = not named and (is_word(part) or (known and not self.tells(part)))
            return self.stays(part) if harmless else self.of("value", part)

        parts = ((f, getattr(value, f)) for f in value.__struct_fields__)
        new = {f: tuple(map(one, v)) if isinstance(v, tuple) else one(v) for f, v in parts if v is not None}
        return structs.replace(value, **new)

    def version(self, text: str) -> str:
        """Return a version; what a builder added behind its numbers is replaced."""
        found = _BUILT.fullmatch(text)
        if is_released(text) or found is None:
            return self.stays(text) if is_released(text) else self.of("value", text)
        return found[1] + self.of("added", found[2])

    def cel(self, expression: str) -> str:
        """Return a selector with its literals replaced and without its comments."""
        return _LITERAL.sub(self._literal, expression)

    def _literal(self, found: re.Match[str]) -> str:
        text = found["number"] or found["body"]
        if text is None:
            return ""
        if self.literals is None:
            self.seen["literal"].add(text)
            if _BUILT.fullmatch(text):
                self.version(text)
        else:
            text = self.literals[text]
        return text if found["number"] else f"{found['prefix']}{found['quote']}{text}{found['quote']}"

    def assign(self, cluster: Cluster) -> None:
        """Give every collected text its pseudonym; from now on the methods replace."""
        literals = self.seen.pop("literal", set())
        self.attributes.clear()
        self.tables = _member_names(self.seen, cluster)
        members = {text for kind in _MEMBERS for text in self.tables.get(kind, ())}
        rest = {kind: texts - members if kind == "value" else texts for kind, texts in self.seen.items()}
        self.tables |= {kind: _numbered(kind, texts) for kind, texts in rest.items() if kind not in _MEMBERS}
        gone = "\n".join(text for table in self.tables.values() for text in table).lower()
        stay = "\n".join((*self.kept, *self.protected)).lower()
        kinds = ("label", "condition", "uid", "number", "value", "host", "pool", "node")
        exact = {text: new for kind in kinds for text, new in self.tables.get(kind, {}).items()}
        harmless = {text for text in literals if self._is_harmless(text, gone, stay)}
        built = {text for text in literals if _BUILT.fullmatch(text) and not is_released(text)}
        parts = self.tables["part"] = _numbered("part", literals - harmless - built - exact.keys())
        self.literals = {}
        for text in literals:
            new = exact.get(text) or parts.get(text)
            self.literals[text] = new or (self.version(text) if text in built else text)

    def _is_harmless(self, text: str, gone: str, stay: str) -> bool:
        """Say whether a literal tells nothing: it is plain, or all its words are parts of what stays."""
        low = text.lower()
        if text in self.protected or text in self.kept or text.isdigit():
            return True
        if (len(text) > 3 and low in gone and low not in stay) or holds_identifier(text):
            return False
        return is_plain(text) or all(word in stay for word in re.findall(r"[^\W_]{3,}", low))

    def mapping(self) -> dict[str, dict[str, str]]:
        """Return the pseudonyms by kind and original."""
        pairs = ((driver, name, new) for driver, table in self.devices.items() for name, new in table.items())
        devices = {f"{driver}/{name}": new for driver, name, new in pairs if name != new}
        return {kind: table for kind, table in {**self.tables, "device": devices}.items() if table}


def _member_names(seen: Mapping[str, set[str]], cluster: Cluster) -> dict[str, dict[str, str]]:
    """Return pseudonyms of nodes, pools and hosts that sort as the names do wherever kube-scheduler sorts them."""
    nodes = seen.get("node", set())
    pools, hosts = seen.get("pool", set()) - nodes, seen.get("host", set()) - nodes - seen.get("pool", set())
    by_driver: dict[str, set[str]] = defaultdict(set)
    for item in cluster.slices:
        by_driver[item.spec.driver].add(item.spec.pool.name)
    if all(_nodes_first(names, nodes) for names in by_driver.values()):
        found = {"node": _numbered("node", nodes), "pool": _numbered("pool", pools)}
    else:  # pools named after nodes and others, mixed: one count for all keeps their order
        both = _numbered("name", nodes | pools)
        found = {"node": {n: both[n] for n in sorted(nodes)}, "pool": {n: both[n] for n in sorted(pools)}}
    return {**found, "host": _numbered("host", hosts)}


def _nodes_first(pools: set[str], nodes: set[str]) -> bool:
    named, others = pools & nodes, pools - nodes
    return not named or not others or max(map(str.encode, named)) < min(map(str.encode, others))


def _device_names(cluster: Cluster) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the new names of each driver's devices: their own where all are harmless, else numbers in their order."""
    names: dict[str, set[str]] = defaultdict(set)
    for item in cluster.slices:
        names[item.spec.driver].update(device.name for device in item.spec.devices or ())
    for driver, own in names.items():
        plain = all(map(in_machine, own))
        yield driver, {name: name for name in own} if plain else _numbered("device", own)


def _numbered(kind: str, texts: Collection[str]) -> dict[str, str]:
    ordered = sorted(texts, key=int) if kind == "number" else sorted(texts, key=str.encode)
    width = max(2, len(str(len(ordered))))
    form = {"uid": "00000000-0000-4000-8000-{0:012x}", "number": "{0}"}.get(kind, f"{kind}-{{0:0{width}d}}")
    return {text: form.format(number) for number, text in enumerate(ordered, 1)}

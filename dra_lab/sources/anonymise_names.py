"""Pseudonyms: one for each name or identifier of a capture, in the order of the names that they stand for."""

from __future__ import annotations

import ipaddress
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from dra_lab.model.numbers import unsigned_number

MEMBERS = ("node", "pool", "host")
"""Kinds whose names mean one thing wherever they stand: the same text has the same pseudonym in all of them."""

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_TOKENS = re.compile(
    rf"""(?P<uid>(?<![0-9a-f]){_UUID}(?![0-9a-f]))
    |(?P<mac>(?<![0-9a-f:])[0-9a-f]{{2}}(?:(?::[0-9a-f]{{2}}){{19}}|(?::[0-9a-f]{{2}}){{7}}|(?::[0-9a-f]{{2}}){{5}})(?![0-9a-f:.]))
    |(?P<dashed>(?<![0-9a-f])(?<![0-9a-f]{{2}}-)[0-9a-f]{{2}}(?:-[0-9a-f]{{2}}){{5}}(?![0-9a-f]|-[0-9a-f]{{2}}(?![0-9a-z])))
    |(?P<guid>(?<![0-9a-f:])(?:0x[0-9a-f]{{16}}|[0-9a-f]{{4}}(?::[0-9a-f]{{4}}){{3}})(?![0-9a-f:]))
    |(?P<enx>(?<=enx)[0-9a-f]{{12}}(?![0-9a-f]))
    |(?P<instance>(?<![0-9a-z])i-(?:[0-9a-f]{{17}}|[0-9a-f]{{8}})(?![0-9a-f]))
    |(?P<ip6>(?<![0-9a-f:.])(?=[0-9a-f]*:[0-9a-f]*:)[0-9a-f:]+(?:\.\d+){{0,3}}(?![0-9a-f:.]))
    |(?P<dashed4>(?<![\d-])[1-9]\d{{0,2}}(?:-\d{{1,3}}){{3}}(?![\d-]))
    |(?P<ip4>(?<![\d.])\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?![\d.]))""",
    re.VERBOSE | re.IGNORECASE,
)
_AROUND = re.compile(r"(?:GPU|MIG|enx)?-?(?:/\d{1,3}|[,;\s]|\.\d{1,4})*")
"""The text around an identifier that is replaced alone: `GPU-`, the length of a prefix, a number after it."""
_PART = re.compile(r"[0-9A-Za-z]+")
_RUN = re.compile(r"(?=[\d._-]*[^\W\d_])[^\W_][\w.-]{2,}[\w-]|\d{1,3}(?:\.\d{1,3}){1,2}\.?")
"""A part of a literal that may be a part of a name (four characters or more, of which one is a letter) or address."""
_VERSION = re.compile(r"(?P<numbers>v?\d+\.\d+\.\d+)(?P<added>[-+][0-9A-Za-z.+-]+)?")
_RELEASED = re.compile(r"-(?:alpha|beta|rc|dev)?[.\d]*")
_AMOUNT = re.compile(r"[\d._-]+(?:[kKMGTPE]i?|[mun])?")
"""What may stand in a literal of any cluster: numbers, quantities, parts of addresses."""
_SHORT = 4
"""Characters of a name that is looked for in names and words, and not in models: a node may be called `h100`."""
_FIRST_IP4 = int(ipaddress.IPv4Address("198.18.0.0"))
_MANY_IP4 = int(ipaddress.IPv4Address("240.0.0.0"))


class AnonymousNames:
    """The names of one capture: first collected, then each given a pseudonym by `assign`.

    Before `assign` every method returns what it is given and remembers it. `protected` texts are never replaced:
    names of drivers, classes and attributes.
    """

    def __init__(self, protected: Iterable[str]) -> None:
        """Begin to collect."""
        self._seen: dict[str, set[str]] = defaultdict(set)
        self._protected = frozenset(protected)
        self._kept: set[str] = set()
        self._looked: set[str] = set()
        self._tables: dict[str, dict[str, str]] | None = None
        self._members: dict[str, str] = {}
        self._inside: dict[str, str] = {}
        self._values: dict[str, str] = {}
        self._literals: set[str] = set()
        self._whole: set[str] = set()
        self._parts: Mapping[str, str] = {}
        self._used: dict[str, str] = {}
        self._scrubbed: Callable[[str], str] = lambda text: text
        self._literal: Callable[[str], str] = lambda text: text

    @property
    def tables(self) -> Mapping[str, Mapping[str, str]]:
        """Return the pseudonyms by kind and original, after `assign`."""
        return self._tables or {}

    def is_protected(self, text: str) -> bool:
        """Say whether a text is never replaced."""
        return text in self._protected

    def keep(self, text: str) -> str:
        """Return the text of a value that stays, without the names and identifiers that it holds."""
        if self._tables is None:
            self._kept.add(text)
        return self.scrub(text)

    def of(self, kind: str, text: str) -> str:
        """Return the pseudonym of a name of a kind; "" stays ""."""
        if not text:
            return text
        if self._tables is None:
            self._seen[kind].add(text)
            return text
        if kind in MEMBERS or kind == "value":
            found = self._members.get(text)
            if found is not None:
                return found
        return self._tables[kind].get(text, text)

    def value(self, text: str, kind: str = "value") -> str:
        """Return what stands for a value that is replaced; its shape stays where it is an identifier of a known one."""
        if self._tables is None:
            if _has_token(text):
                self._whole.add(text)
            else:
                self._seen[kind].add(text)
            return self.scrub(text)
        if text in self._kept or _has_token(text):
            return self.scrub(text)
        return self.of(kind, text)

    def version(self, text: str) -> str:
        """Return a semantic version; what a builder added behind its numbers is replaced."""
        found = _VERSION.fullmatch(text)
        if found is None or not found["added"] or _RELEASED.fullmatch(found["added"]):
            return text
        return found["numbers"] + found["added"][0] + self.of("added", found["added"][1:])

    def scrub(self, text: str) -> str:
        """Return a text with the members' names and the identifiers of known shapes in it replaced."""
        if self._tables is None:
            if text not in self._looked:
                self._looked.add(text)
                for found in _TOKENS.finditer(text):
                    self._token(found)
            return text
        return self._scrubbed(text)

    def literal(self, text: str) -> str:
        """Return a literal of a selector: names and identifiers replaced, and what is a part of one as well.

        Such a part (`startsWith("acme-")`) tells whose cluster it is; a part of a value that stays tells nothing.
        """
        if self._tables is None:
            self._literals.update(_RUN.findall(text))
            return self.version(self.scrub(text))
        return self._literal(text)

    def _new_literal(self, text: str, staying: str) -> str:
        """Return a literal under pseudonyms; one that stands so in a value that stays is left, as it selects it."""
        replaced = text in self._members or text in self._values
        if unsigned_number(text) is not None and text in self.tables.get("number", {}):
            return self.tables["number"][text]
        if (text in staying or (_AMOUNT.fullmatch(text) and text not in self._parts)) and not replaced:
            return text
        if (version := self.version(text)) != text:
            return version
        new = self.scrub(text)
        if replaced or new != text or text in self._kept or text in self._protected or _has_token(text):
            return new
        return _RUN.sub(self._part, text)

    def assign(self, pools_by_driver: Mapping[str, set[str]]) -> None:
        """Give every collected name its pseudonym; from now on the methods replace."""
        self._members = _member_names(self._seen, pools_by_driver)
        self._inside = {}
        values = {text for text in self._seen.pop("value", ()) if text not in self._kept}
        tables = {kind: _numbered(kind, texts) for kind, texts in self._seen.items() if kind not in MEMBERS}
        listed: set[str] = set()
        for kind in MEMBERS:
            tables[kind] = {text: self._members[text] for text in sorted(self._seen.get(kind, set()) - listed)}
            listed |= self._seen.get(kind, set())
        tables["value"] = _numbered("value", values - self._members.keys())
        self._parts = _numbered("part", self._telling(tables))
        tables["part"] = self._used
        self._tables = tables
        self._inside = {**_identifiers(tables), **_inside_texts(self._members)}
        self._values = {**tables["value"], **tables.get("serial", {})}
        self._scrubbed = lru_cache(maxsize=2**18)(self._scrub)
        staying = "\n".join(sorted({*map(self._scrubbed, self._kept), *self._protected}))
        self._literal = lru_cache(maxsize=2**14)(lambda text: self._new_literal(text, staying))

    def _telling(self, tables: Mapping[str, Mapping[str, str]]) -> Iterable[str]:
        """Yield the parts of literals that stand in nothing that stays; of numbers, only those of what is replaced."""
        gone = "\n".join((*self._whole, *(text for table in tables.values() for text in table))).lower()
        stay = "\n".join((*self._kept, *self._protected)).lower()
        for part in self._literals:
            words = [word for word in _PART.findall(part.lower()) if len(word) >= _SHORT]
            is_amount = _AMOUNT.fullmatch(part) or _VERSION.fullmatch(part)
            if part.lower() not in stay and (
                part.lower() in gone or (not is_amount and not (words and all(word in stay for word in words)))
            ):
                yield part

    def _part(self, found: re.Match[str]) -> str:
        text = found[0]
        if text in self._parts:
            self._used[text] = self._parts[text]
        return self._parts.get(text, text)

    def _scrub(self, text: str) -> str:
        if text in self._protected:
            return text
        whole = "" if text in self._kept else self._members.get(text) or self._values.get(text)
        return whole or _TOKENS.sub(self._token, self._without_members(text))

    def _without_members(self, text: str) -> str:
        parts = [(found.start(), found.end()) for found in _PART.finditer(text)]
        result, position, index = [], 0, 0
        while index < len(parts):
            start = parts[index][0]
            # the longest name that begins here: "node-1-gpu" holds "node-1" and not "node"
            last = min(len(parts), index + 24)
            for stop in range(last, index, -1):
                name = text[start : parts[stop - 1][1]]
                found = self._inside.get(name.lower())
                if found is not None and (len(name) > _SHORT or text not in self._kept):
                    result += [text[position:start], found]
                    position, index = parts[stop - 1][1], stop - 1
                    break
            index += 1
        return "".join(result) + text[position:]

    def _token(self, found: re.Match[str]) -> str:
        kind, text = str(found.lastgroup), found[0]
        if not _is_meant(found):
            return text
        if kind == "enx":
            mac = self.of("mac", ":".join(text[i : i + 2] for i in range(0, 12, 2)).lower())
            return mac.replace(":", "")
        if kind == "dashed":
            return self.of("mac", text.lower().replace("-", ":")).replace(":", "-")
        if kind == "dashed4":
            return self.of("ip4", text.replace("-", ".")).replace(".", "-")
        return self.of(kind, text.lower())


def _inside_texts(members: Mapping[str, str]) -> dict[str, str]:
    """Return how names are found inside longer texts: whole, with dashes for dots, by the first part of a host name.

    Only names that are no word: a node that is called `gpu` is not looked for in the models of devices.
    """
    found: dict[str, str] = {}
    for name, pseudonym in members.items():
        for form in (name.split(".", 1)[0], name.replace(".", "-"), name):
            if len(form) > 2 and not form.isalpha() and unsigned_number(form) is None:
                found.setdefault(form, pseudonym)
    whole = {**found, **{name: members[name] for name in found if name in members}}
    return {name.lower(): pseudonym for name, pseudonym in whole.items()}


def _identifiers(tables: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return how serials, MACs and GUIDs are found inside longer texts, such as the names of devices, in lower case."""
    serials = tables.get("serial", {}).items()
    found = {text.lower(): new for text, new in serials if len(text) > 5 and re.search(r"\d", text)}
    for text, new in tables.get("mac", {}).items():
        if text.count(":") == 5:
            bare = text.replace(":", "")
            found[bare] = new.replace(":", "")
            found |= {mark.join((bare[:4], bare[4:8], bare[8:])): new.replace(":", "") for mark in ".-"}
    for text, new in tables.get("guid", {}).items():
        found[text.removeprefix("0x").replace(":", "")] = new.removeprefix("0x").replace(":", "")
    found |= {text.replace(".", "-"): new.replace(".", "-") for text, new in tables.get("ip4", {}).items()}
    # the beginning of a UUID stands for it in names; a pseudonym's own tells nothing
    for text, new in tables.get("uid", {}).items():
        if text[:8].strip("0"):
            found |= {text[:8]: new[-8:], text: new}
    return found


@lru_cache(maxsize=2**18)
def _has_token(text: str) -> bool:
    """Say whether a value is an identifier of a known shape, with nothing around it that says more."""
    if not any(_is_meant(found) for found in _TOKENS.finditer(text)):
        return False
    return _AROUND.fullmatch(_TOKENS.sub("", text)) is not None


def _is_meant(found: re.Match[str]) -> bool:
    if found.lastgroup not in ("ip4", "ip6", "dashed4"):
        return True
    try:
        address = ipaddress.ip_address(found[0].replace("-", "."))
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified)


def _member_names(seen: Mapping[str, set[str]], pools_by_driver: Mapping[str, set[str]]) -> dict[str, str]:
    """Return pseudonyms of nodes, pools and hosts that sort as the names do wherever kube-scheduler sorts them."""
    nodes, pools = seen.get("node", set()), seen.get("pool", set()) - seen.get("node", set())
    hosts = seen.get("host", set()) - nodes - pools
    if all(_nodes_first(names, nodes) for names in pools_by_driver.values()):
        return {**_numbered("node", nodes), **_numbered("pool", pools), **_numbered("host", hosts)}
    # pools named after nodes and others, mixed: one count for all keeps their order
    return {**_numbered("name", nodes | pools), **_numbered("host", hosts)}


def _nodes_first(pools: set[str], nodes: set[str]) -> bool:
    named = [name.encode() for name in pools & nodes]
    others = [name.encode() for name in pools - nodes]
    return not named or not others or max(named) < min(others)


def _numbered(kind: str, texts: Iterable[str]) -> dict[str, str]:
    ordered = sorted(texts, key=int) if kind == "number" else sorted(texts, key=str.encode)
    width = max(2, len(str(len(ordered))))
    return {text: _pseudonym(kind, text, number, width) for number, text in enumerate(ordered, 1)}


def _pseudonym(kind: str, text: str, number: int, width: int) -> str:
    match kind:
        case "uid":
            return f"00000000-0000-4000-8000-{number:012x}"
        case "mac":
            octets = [f"{byte:02x}" for byte in number.to_bytes(5, "big")]
            return ":".join(["02", *["00"] * (text.count(":") - 5), *octets])
        case "guid":
            digits = f"{number:016x}"
            return f"0x{digits}" if text.startswith("0x") else ":".join(digits[i : i + 4] for i in range(0, 16, 4))
        case "instance":
            return f"i-{number:0{len(text) - 2}x}"
        case "ip4":
            # addresses kept for benchmarks (RFC 2544), then reserved ones: no network has them
            base = _FIRST_IP4 if number < 2**17 else _MANY_IP4
            return str(ipaddress.IPv4Address(base + number))
        case "ip6":
            return str(ipaddress.IPv6Address((0x20010DB8 << 96) + number))
        case "number":
            return str(number)
    return f"{kind}-{number:0{width}d}"

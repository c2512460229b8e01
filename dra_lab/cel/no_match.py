"""Why no device matches a request: the part of a selector that is false, and what the devices publish instead."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from dra_lab.cel.matching import CLASS, NO_CLASS, Matching
from dra_lab.cel.selector import Selector
from dra_lab.cel.syntax_tree import Tree, reads, walk
from dra_lab.errors import CelError, CelRuntimeError
from dra_lab.findings import shortened
from dra_lab.model.claims import expressions
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.names import full_name, part_of
from dra_lab.model.sketch import Ask

MOST_VALUES = 5
"""Values of an attribute that are named; more are counted."""

Seen = Sequence[tuple[str, Device]]
"""Devices with their drivers."""

_COMPARES = "and the selector compares it with"
_COMPARED = ("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_")
_KINDS = {"bool": "a boolean", "int": "an integer", "string": "a string", "version": "a version"}
_MATCHES_KIND = {"bool": ("bool",), "int": ("int",), "string": ("string",), "number": ("int",)}


def why_no_match(matching: Matching, ask: Ask, devices: Iterable[tuple[str, Device]]) -> str:
    """Return why no device that a pod may reach matches the selectors of a request, as a clause; "" if one does.

    It is also "" if no device is of the class.
    """
    of_class = [one for one in devices if matching.match(ask, *one).stage not in (CLASS, NO_CLASS)]
    for step in _steps(matching, ask.selectors, of_class):
        text = f"the selector {shortened(step.part.expression)} of request {part_of(ask.reference)[1]}"
        if step.fails:
            words = _failing_words(step)
            return f"{text} fails: {words}" if words else ""
        if not step.passing:
            return f"no device of class {ask.device_class_name} matches {text}: {_values(step)}"
    return ""


def why_empty_class(cluster: Cluster, matching: Matching, ask: Ask, devices: Iterable[tuple[str, Device]]) -> str:
    """Return why the DeviceClass of a request selects none of some devices, as a clause; "" if that is not known."""
    known = matching.classes.get(ask.device_class_name)
    if known is None:
        return ""
    every = [(item.spec.driver, device) for item in cluster.slices for device in item.spec.devices or ()]
    published = [one for one in every if matching.match(ask, *one).stage not in (CLASS, NO_CLASS)]
    if published:
        drivers = sorted({driver for driver, _ in published})
        return (
            f"no node has a device of class {ask.device_class_name}: {len(published):,} are published by "
            f"{' and '.join(drivers)}, in pools that are not complete or on nodes that the pod cannot use"
        )
    for step in _steps(matching, expressions(known.spec.selectors), list(devices) or every):
        if not step.passing:
            read = reads(step.part.tree)
            if not (read.attributes or read.capacity):
                return ""  # another driver's: its name says enough
            text = f"its selector {shortened(step.part.expression)}"
            return f"the DeviceClass {known.name} selects no device; {text} matches none: {_values(step)}"
    return ""


def why_fails(matching: Matching, ask: Ask, devices: Iterable[tuple[str, Device]]) -> str:
    """Return which attribute makes a selector of a request or its class fail on some devices, "" if none fails.

    kube-scheduler gives up the whole pod when it meets such a device, even if others match.
    """
    known, request = matching.classes.get(ask.device_class_name), f"request {part_of(ask.reference)[1]}"
    of_class = expressions(known.spec.selectors) if known is not None else ()
    for step in _steps(matching, (*of_class, *ask.selectors), list(devices)):
        if step.fails and (words := _failing_words(step)):
            own = step.selector in ask.selectors
            whose = request if own else f"the DeviceClass {ask.device_class_name} ({request})"
            return f"the selector {shortened(step.part.expression)} of {whose} fails: {words}"
    return ""


class _Step(NamedTuple):
    """A part of a selector with the devices that reach it and those that pass; `fails` if it fails on one."""

    selector: str
    part: Selector
    reached: Seen
    passing: Seen
    fails: bool


def _steps(matching: Matching, selectors: Iterable[str], devices: Seen) -> Iterator[_Step]:
    """Yield the parts of some selectors, one after the other, until no device is left."""
    for expression in selectors:
        if not devices:
            return
        try:
            parts = list(map(matching.selector, _split(expression)))
        except CelError:  # it cannot be taken apart
            parts = [matching.selector(expression)]
        for part in parts:
            passing, fails = [], False
            for one in devices:
                try:
                    passing += [one] if part.matches(*one) else []
                except CelRuntimeError:
                    fails = True
            yield _Step(expression, part, devices, passing, fails)
            devices = passing


def _failing_words(step: _Step) -> str:
    devices, names = step.reached, sorted(reads(step.part.tree).attributes)
    for name in names:
        without = sum(device.lookup(name, driver) is None for driver, device in devices)
        if without == len(devices):
            return unpublished_words(name, devices, "no such device")
        if without:
            return f"{without:,} of {len(devices):,} such devices do not publish the attribute {name}"
    words = (_attribute_words(name, step.part.tree, devices) for name in names)
    return next((one for one in words if _COMPARES in one), "")


_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|&&|\|\||[?()\[\]{}]', re.DOTALL)


def _split(expression: str) -> list[str]:
    """Return the texts between the `&&` that stand outside brackets; one text if `||` or `?` stands there too."""
    if '"""' in expression or "'''" in expression:
        return [expression]
    depth, start, found = 0, 0, []
    for token in _TOKEN.finditer(expression):
        sign = token[0]
        depth += (sign in "([{") - (sign in ")]}")
        if depth == 0 and sign in ("||", "?"):
            return [expression]
        if depth == 0 and sign == "&&":
            found.append(expression[start : token.start()].strip())
            start = token.end()
    return [*found, expression[start:].strip()]


# ---------------------------------------------------------------- what the devices publish


def _values(step: _Step) -> str:
    """Return what devices publish of that which a part of a selector reads."""
    found = reads(step.part.tree)
    words = [_attribute_words(name, step.part.tree, step.reached) for name in sorted(found.attributes)]
    keys = {full_name(key, driver): key for driver, device in step.reached for key in device.capacity}
    for name in sorted(found.capacity):
        if name not in keys:
            words.append(f"none of them publishes the capacity {name}{_published(sorted(keys))}")
            continue
        amounts = [device.capacity.get(keys[name]) for _, device in step.reached]
        present = [str(amount.value) for amount in amounts if amount is not None]
        count = value_counts(present, missing=len(amounts) - len(present))
        words.append(f"{name.rpartition('/')[2]} is {count}")
    if found.driver or not words:
        drivers = sorted({driver for driver, _ in step.reached})
        words.append(f"the driver is {' or '.join(drivers[:MOST_VALUES])}")
    return "; ".join(words[:MOST_VALUES])


def _attribute_words(name: str, tree: Tree, devices: Seen) -> str:
    present = [value for value in (device.lookup(name, driver) for driver, device in devices) if value is not None]
    if not present:
        return unpublished_words(name, devices, "none of them")
    short, kinds, wanted = name.rpartition("/")[2], {value.kind for value in present}, _literal_of(tree.root, name)
    texts, missing = [plain(value.value) for value in present], len(devices) - len(present)
    count = value_counts(texts, missing=missing, near=wanted[1] if wanted is not None else "")
    if wanted is None or len(kinds) > 1 or kinds & set(_MATCHES_KIND[wanted[0]]):
        return f"{short} is {count}"
    kind = _KINDS.get(next(iter(kinds)), "a list")
    return f"{short} is {kind} ({count}), {_COMPARES} {_KINDS.get(wanted[0], 'a number')}, {wanted[1]}"


def unpublished_words(name: str, devices: Seen, which: str) -> str:
    """Return that no device publishes an attribute, with the most similar one that they publish."""
    from difflib import get_close_matches  # a plan that fits does not need it

    domain, _, short = name.rpartition("/")
    published = sorted({full_name(key, driver) for driver, device in devices for key in device.attributes})
    same = [one for one in published if one.rpartition("/")[2].lower() == short.lower()]
    own = {one.rpartition("/")[2].lower(): one for one in published if one.rpartition("/")[0] == domain}
    near = same or [own[one] for one in get_close_matches(short.lower(), own, 1, 0.6)]
    published.sort(key=lambda one: one.rpartition("/")[0] != domain)
    hint = f" (did you mean {near[0]}?)" if near else _published(published)
    return f"{which} publishes the attribute {name}{hint}"


def _published(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_VALUES} more" if len(names) > MOST_VALUES else ""
    return f" (they publish {', '.join(names[:MOST_VALUES])}{more})" if names else " (they publish none)"


def value_counts(values: Sequence[str], *, missing: int = 0, near: str = "") -> str:
    """Return values with how many devices have each: `"A" on 8, "B" on 4`.

    Those most similar to `near` come first, then the most frequent.
    """
    from difflib import get_close_matches

    similar = get_close_matches(near, set(values), MOST_VALUES - 1) if near else []
    order = {value: number for number, value in enumerate(similar)}
    counts = sorted(Counter(values).items(), key=lambda row: (order.get(row[0], MOST_VALUES), -row[1], row[0]))
    if len(counts) == 1 and not missing:
        return f"{counts[0][0]} on all {counts[0][1]:,}" if counts[0][1] > 1 else counts[0][0]
    words = [f"{value} on {count:,}" for value, count in counts[:MOST_VALUES]]
    if len(counts) > MOST_VALUES:
        rest = sum(number for _, number in counts[MOST_VALUES:])
        words.append(f"one of {len(counts) - MOST_VALUES:,} other values on {rest:,}")
    if missing:
        words.append(f"not published on {missing:,}")
    return ", ".join(words)


def plain(value: object) -> str:
    """Return a value as a selector writes it: a text in quotes."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(plain, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


# ---------------------------------------------------------------- what a selector compares


def _literal_of(root: Any, name: str) -> tuple[str, str] | None:
    """Return the kind and text of the literal with which a selector compares an attribute, None for no literal."""
    for node in walk(root):
        if node.HasField("call") and node.call.function in _COMPARED and len(node.call.args) == 2:
            one, other = node.call.args
            for side, against in ((one, other), (other, one)):
                if against.HasField("const") and _ends_with(side, name.rpartition("/")[2]):
                    fields = (("string", "string"), ("bool", "bool"), ("int", "int"), ("double", "number"))
                    found = ((kind, field) for field, kind in fields if against.const.HasField(field))
                    return next(((kind, plain(getattr(against.const, field))) for kind, field in found), None)
    return None


def _ends_with(node: Any, name: str) -> bool:
    if node.HasField("select"):
        return bool(node.select.field == name)
    if node.HasField("call") and node.call.function == "_[_]" and len(node.call.args) == 2:
        index = node.call.args[1]
        return bool(index.HasField("const") and index.const.string == name)
    return False

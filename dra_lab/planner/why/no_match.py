"""Why no device matches a request: the part of a selector that is false, and what the devices publish instead."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any

from dra_lab.cel.matching import CLASS, NO_CLASS, Matching
from dra_lab.cel.reads import reads
from dra_lab.cel.selector import Selector
from dra_lab.cel.syntax_tree import Tree, children
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
    """Return why none of some devices matches the selectors of a request, as a clause; "" if one does.

    It is also "" if no device is of the class.

    Args:
        matching: The selectors of the cluster.
        ask: The request or alternative.
        devices: The devices that the pod may reach.
    """
    left = _of_class(matching, ask, devices)
    for part in _parts(matching, ask) if left else ():
        passing, failing = _pass(part, left)
        text = f"the selector {shortened(part.expression)} of request {part_of(ask.reference)[1]}"
        if failing:
            return f"{text} fails: {_failing_words(part, left)}" if _failing_words(part, left) else ""
        if not passing:
            return f"no device of class {ask.device_class_name} matches {text}: {_values(part, left)}"
        left = passing
    return ""


def why_empty_class(cluster: Cluster, matching: Matching, ask: Ask, devices: Iterable[tuple[str, Device]]) -> str:
    """Return why the DeviceClass of a request selects none of some devices, as a clause; "" if that is not known."""
    known = cluster.class_by_name.get(ask.device_class_name)
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
    left = list(devices) or every
    for expression in expressions(known.spec.selectors):
        for part in conjuncts(expression, matching):
            passing, _ = _pass(part, left)
            read = reads(part.tree)
            if left and not passing and not (read.attributes or read.capacity):
                return ""  # another driver's: its name says enough
            if left and not passing:
                text = f"its selector {shortened(part.expression)}"
                return f"the DeviceClass {known.name} selects no device; {text} matches none: {_values(part, left)}"
            left = passing
    return ""


def why_fails(cluster: Cluster, matching: Matching, ask: Ask, devices: Iterable[tuple[str, Device]]) -> str:
    """Return which attribute makes a selector of a request or its class fail on some devices, "" if none fails.

    kube-scheduler gives up the whole pod when it meets such a device, even if others match.
    """
    left, known = list(devices), cluster.class_by_name.get(ask.device_class_name)
    own = expressions(known.spec.selectors) if known is not None else ()
    for expression in (*own, *ask.selectors):
        whose = f"request {part_of(ask.reference)[1]}"
        whose = whose if expression in ask.selectors else f"the DeviceClass {ask.device_class_name} ({whose})"
        for part in conjuncts(expression, matching):
            passing, failing = _pass(part, left)
            if failing and (words := _failing_words(part, left)):
                return f"the selector {shortened(part.expression)} of {whose} fails: {words}"
            left = passing
    return ""


def _of_class(matching: Matching, ask: Ask, devices: Iterable[tuple[str, Device]]) -> list[tuple[str, Device]]:
    return [one for one in devices if matching.match(ask, *one).stage not in (CLASS, NO_CLASS)]


def _parts(matching: Matching, ask: Ask) -> Iterator[Selector]:
    for expression in ask.selectors:
        yield from conjuncts(expression, matching)


def _pass(part: Selector, devices: Seen) -> tuple[list[tuple[str, Device]], bool]:
    """Return the devices that match a part of a selector, and whether it fails on one."""
    passing, failing = [], False
    for one in devices:
        try:
            passing += [one] if part.matches(*one) else []
        except CelRuntimeError:
            failing = True
    return passing, failing


def _failing_words(part: Selector, devices: Seen) -> str:
    for name in sorted(reads(part.tree).attributes):
        without = sum(device.lookup(name, driver) is None for driver, device in devices)
        if without == len(devices):
            return unpublished_words(name, devices, "no such device")
        if without:
            return f"{without:,} of {len(devices):,} such devices do not publish the attribute {name}"
    words = (_attribute_words(name, part.tree, devices) for name in sorted(reads(part.tree).attributes))
    return next((one for one in words if _COMPARES in one), "")


def conjuncts(expression: str, matching: Matching) -> tuple[Selector, ...]:
    """Return the parts of a selector that `&&` joins, the whole selector where it cannot be taken apart."""
    try:
        whole = matching.selector(expression)
        parts = _split(expression)
        return tuple(map(matching.selector, parts)) if len(parts) > 1 else (whole,)
    except CelError:
        return (whole,)


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


def _values(selector: Selector, devices: Seen) -> str:
    """Return what devices publish of that which a selector reads."""
    found = reads(selector.tree)
    words = [_attribute_words(name, selector.tree, devices) for name in sorted(found.attributes)]
    words += [_capacity_words(name, devices) for name in sorted(found.capacity)]
    if found.driver or not words:
        drivers = sorted({driver for driver, _ in devices})
        words.append(f"the driver is {' or '.join(drivers[:MOST_VALUES])}")
    return "; ".join(words[:MOST_VALUES])


def _attribute_words(name: str, tree: Tree, devices: Seen) -> str:
    values = [device.lookup(name, driver) for driver, device in devices]
    short = name.rpartition("/")[2]
    present = [value for value in values if value is not None]
    if not present:
        return unpublished_words(name, devices, "none of them")
    kinds = {value.kind for value in present}
    wanted = _literal_of(tree.root, name)
    texts = [plain(value.value) for value in present]
    near = wanted[1] if wanted is not None else ""
    count = value_counts(texts, missing=len(values) - len(present), near=near)
    if wanted is not None and len(kinds) == 1 and not kinds & set(_MATCHES_KIND[wanted[0]]):
        kind = next(iter(kinds))
        return (
            f"{short} is {_KINDS.get(kind, 'a list')} ({count}), {_COMPARES} "
            f"{_KINDS.get(wanted[0], 'a number')}, {wanted[1]}"
        )
    return f"{short} is {count}"


def unpublished_words(name: str, devices: Seen, which: str) -> str:
    """Return that no device publishes an attribute, with the most similar one that they publish."""
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


def _capacity_words(name: str, devices: Seen) -> str:
    keys = {full_name(key, driver): key for driver, device in devices for key in device.capacity}
    if name not in keys:
        return f"none of them publishes the capacity {name}{_published(sorted(keys))}"
    short = name.rpartition("/")[2]
    amounts = [device.capacity.get(keys[name]) for _, device in devices]
    present = [str(amount.value) for amount in amounts if amount is not None]
    return f"{short} is {value_counts(present, missing=len(amounts) - len(present))}"


def value_counts(values: Sequence[str], *, missing: int = 0, near: str = "") -> str:
    """Return values with how many devices have each: `"A" on 8, "B" on 4`.

    Those most similar to `near` come first, then the most frequent.
    """
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
    pending = [root]
    while pending:
        node = pending.pop()
        if node.HasField("call") and node.call.function in _COMPARED and len(node.call.args) == 2:
            one, other = node.call.args
            for side, against in ((one, other), (other, one)):
                if against.HasField("const") and _ends_with(side, name.rpartition("/")[2]):
                    return _constant(against.const)
        pending.extend(children(node))
    return None


def _ends_with(node: Any, name: str) -> bool:
    if node.HasField("select"):
        return bool(node.select.field == name)
    if node.HasField("call") and node.call.function == "_[_]" and len(node.call.args) == 2:
        index = node.call.args[1]
        return bool(index.HasField("const") and index.const.string == name)
    return False


def _constant(const: Any) -> tuple[str, str] | None:
    for field, kind in (("string", "string"), ("bool", "bool"), ("int", "int"), ("double", "number")):
        if const.HasField(field):
            return kind, plain(getattr(const, field))
    return None

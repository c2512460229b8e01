"""Messages of the engine in our words: what is wrong, where in the text, and what to do next."""

from __future__ import annotations

import re

from dra_lab.errors import CelCompileError
from dra_lab.model.device import Device
from dra_lab.model.names import full_name

_PLACE = re.compile(r"ERROR: <input>:(\d+):(\d+): ?(.*?)(?:\n|\Z)")
_MISSING = re.compile(r"[Kk]ey not found in map ?: ?\"?(.*?)\"?\Z|no such key: (.*)\Z")
_STATUS = re.compile(r"\A[A-Z_]+: ")
_NO_PLACE = re.compile(r"ERROR: <input>:-1:-1: ?")
_SHOWN = 200

_ADVICE = (
    (
        "undeclared reference to 'device",
        "`device` has driver, attributes, capacity and allowMultipleAllocations, for example device.driver.",
    ),
    ("undeclared reference", "Selectors know `device` and the CEL libraries of Kubernetes; check the spelling."),
    ("undefined field", "`device` has driver, attributes, capacity and allowMultipleAllocations."),
    ("cannot be the range", "Without list-typed attributes (DRAListTypeAttributes) an attribute has one value."),
    ("kubernetes.Quantity", 'Compare quantities by method: x.compareTo(quantity("40Gi")) >= 0.'),
    ("kubernetes.Semver", 'Compare versions by method: x.compareTo(semver("1.2.0")) >= 0.'),
    ("no matching overload", "The types do not fit this function or operator."),
    ("token recognition error", "Use == to compare, and double quotes for text."),
    ("Syntax error", "Check the brackets and quotes near that position."),
)


def _offset(expression: str, line: int, column: int) -> int:
    lines = expression.split("\n")
    return sum(len(text) + 1 for text in lines[: line - 1]) + column - 1


def compile_error(expression: str, text: str) -> CelCompileError:
    """Return the error for a text that does not compile; `text` is the engine's message about it."""
    match = _PLACE.search(text)
    if match is None:
        what, position, place = _NO_PLACE.sub("", _STATUS.sub("", text)).split("\n")[0], -1, ""
    else:
        line, column = int(match[1]), int(match[2])
        position = _offset(expression, line, column)
        before = expression[:position]
        column = position - before.rfind("\n")
        what, place = match[3], f" at line {before.count(chr(10)) + 1}, column {column}"
    what = what[:_SHOWN]
    advice = next((advice for sign, advice in _ADVICE if sign in what), "")
    message = f"CEL selector {short(expression)} does not compile{place}: {what}. {advice}".rstrip()
    return CelCompileError(message, expression=expression, position=position)


def short(expression: str) -> str:
    """Return a selector in one line of at most 80 characters."""
    text = " ".join(expression.split())
    return f"`{text}`" if len(text) <= 80 else f"`{text[:77]}...`"


def device_error(expression: str, what: str, position: int) -> CelCompileError:
    """Return the error for a use of `device` that Kubernetes does not know."""
    return CelCompileError(
        f"CEL selector {short(expression)} does not compile at offset {position}: {what}. "
        "`device` has driver, attributes, capacity and allowMultipleAllocations.",
        expression=expression,
        position=position,
    )


def hidden_error(expression: str, what: str) -> CelCompileError:
    """Return the error for looking inside a value of a Kubernetes library, which only the engine's form allows."""
    return CelCompileError(
        f"CEL selector {short(expression)} does not compile: {what}. Use the functions of its type, for example "
        'x.compareTo(quantity("40Gi")) >= 0.',
        expression=expression,
    )


def result_type_error(expression: str, found: str) -> CelCompileError:
    """Return the error for a selector whose result is neither bool nor an attribute's value."""
    return CelCompileError(
        f"CEL selector {short(expression)} must evaluate to bool, not {found}. End it in a comparison, "
        "for example `... == true`.",
        expression=expression,
        position=0,
    )


def runtime_message(expression: str, text: str, driver: str, device: Device) -> str:
    """Return the message for a selector that failed on a device; kube-scheduler gives up the whole pod then."""
    match = _MISSING.search(text)
    if match is None:
        why = _STATUS.sub("", text)[:_SHOWN]
        if "budget" in why:
            why += "; dra-lab stops after 10,000 loop rounds, Kubernetes at a cost limit. Use shorter loops"
        return f"CEL selector {short(expression)} fails on device {device.name!r}: {why}."
    key = match[1] or match[2] or ""
    return (
        f"CEL selector {short(expression)} fails on device {device.name!r}: no such key: {key}. "
        f"{_missing_advice(expression, key, driver, device)}"
    )


def _missing_advice(expression: str, key: str, driver: str, device: Device) -> str:
    in_capacity = next((name for name in device.capacity if name.rpartition("/")[2] == key), None)
    if in_capacity is not None and "device.attributes" in expression:
        domain = full_name(in_capacity, driver).partition("/")[0]
        return f'It is a capacity, not an attribute; use device.capacity["{domain}"].{key}.'
    in_attributes = next((name for name in device.attributes if name.rpartition("/")[2] == key), None)
    if in_attributes is not None:
        domain = full_name(in_attributes, driver).partition("/")[0]
        return f'The device publishes it in another domain; use device.attributes["{domain}"].{key}.'
    return f"If only some devices have it, guard it with has(...{key}) && ... or write [...].?{key}.orValue(...)."

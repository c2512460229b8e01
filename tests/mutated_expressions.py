"""Selectors with something broken in them: what a fuzzer feeds to everything that reads expressions."""

import gzip
import json
import random
from pathlib import Path

from dra_lab.cel.selector import compile_selector
from dra_lab.errors import CelCompileError, CelRuntimeError, UnsupportedFeature
from dra_lab.model.device import Device, DeviceAttribute, DeviceCapacity

CASES = Path(__file__).parent / "conformance" / "cel.ndjson.gz"
DEVICE = Device(
    name="gpu-0",
    attributes={"index": DeviceAttribute(int_=2), "productName": DeviceAttribute(string="a" * 60)},
    capacity={"memory": DeviceCapacity(value="80Gi")},
)
PIECES = (
    *"()[]{}.,?:!&|<>=+-*/%\"'\\0123456789 abcx\n\t\0é😀", "&&", "||", "==", "in", "has(", "true", "null", "device",
    "device.attributes", '["gpu.nvidia.com"]', ".index", "cel.bind(", ".map(", ".all(x, ", "quantity(", "semver(",
    "optional.of(", "b'", "r'", "1e999", "9223372036854775807", "u", "dyn(", "type(", "format.", ".validate(", ".?",
    "[?", "lists.range(", ".find(", ".format([", "\ud800", "\\u0000", "timestamp(", "duration(", ".existsOne(x, ",
    ".transformMap(i, v, ", ".transformList(i, v, ", ".transformMapEntry(i, v, {v: i})", ".sortBy(x, x)", ".sort()",
    "string(", "format.named(", ".exists(i, v, ", "ip(", "cidr(", ".sum()", ".max()", "'''", '"""', "//", "`",
)  # fmt: skip
WHOLE = (
    "[1, 2].transformMap(i, v, i > 0, v + 1) == {1: 3}",
    '["a"].transformMapEntry(i, v, {v: i}) == {"a": 0}',
    'device.attributes["gpu.nvidia.com"].existsOne(k, v, k == "index")',
    '["bb", "a"].sortBy(s, s.size())[0] == string(ip("10.0.0.1"))',
    'format.named("uuid").value().validate(device.driver).hasValue()',
    '[duration("1h"), duration("2h")].sum() > lists.range(3).map(x, duration("1s")).max()',
    "(1 + " * 40 + "device.attributes['gpu.nvidia.com'].index" + ")" * 40 + " == 42",
    "!(" * 34 + "[1].exists(x, x == 1)" + ")" * 34,
    "1" + " + 1" * 60 + " == 61 ? true : false",
    "(((1 + (2 + (3 + 4))))) == 10 ? [1].exists_one(x, x == 1) : !(!(!true))",
)


def seeds():
    """The recorded selectors, and one of each kind that none of them uses."""
    with gzip.open(CASES, "rt") as lines:
        recorded = [json.loads(line)["expression"] for line in lines]
    return [*recorded, *(WHOLE * (len(recorded) // len(WHOLE) // 4))]


def mutate(texts, rng: random.Random):
    """One of the texts, or sometimes none, with pieces put in, cut out and doubled; at most 10 KiB long."""
    text = rng.choice(texts) if rng.random() < 0.9 else ""
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 6))):
        at = rng.randint(0, len(text))
        cut = at + rng.choice((0, 0, 1, 5))
        text = text[:at] + rng.choice(PIECES) * rng.choice((1, 1, 1, 1, 2, 40)) + text[cut:]
    return text[:10_240]


def outcome(expression):
    """What becomes of a selector on the device: "true", "false", "compile error" or "run-time error"."""
    try:
        selector = compile_selector(expression)
        assert selector.max_cost >= 0
        return str(selector.matches("gpu.nvidia.com", DEVICE)).lower()
    except (CelCompileError, UnsupportedFeature):
        return "compile error"
    except CelRuntimeError:
        return "run-time error"

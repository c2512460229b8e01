"""CEL selectors and opaque configuration, which claims and classes share (docs/semantics.md 2.2, 4)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dra_lab.cel import cost
from dra_lab.cel.selector import LENGTH_LIMIT, compile_selector
from dra_lab.checks.metadata import check_metadata
from dra_lab.checks.name_formats import check_driver, check_extended_resource
from dra_lab.checks.rules import Errors, check_list, invalid, required, size, too_long
from dra_lab.errors import CelCompileError, UnsupportedFeature
from dra_lab.manifests.field_errors import FieldError
from dra_lab.model.release import KubernetesRelease

MAX_SELECTORS = 32
MAX_PARAMETERS = 10 * 1024


def check_selectors(selectors: Sequence[Mapping[str, Any]] | None, path: str, release: KubernetesRelease) -> Errors:
    """Yield what is wrong with `selectors`: each compiles, is a condition, and may not cost too much."""

    def check(selector: Mapping[str, Any], place: str) -> Errors:
        if "cel" in selector:
            yield from check_expression(selector["cel"].get("expression") or "", f"{place}.cel.expression", release)
        else:
            yield required(f"{place}.cel")

    yield from check_list(selectors, MAX_SELECTORS, check, path)


def check_expression(expression: str, path: str, release: KubernetesRelease) -> Errors:
    """Yield why the API server refuses a new CEL expression."""
    if size(expression) > LENGTH_LIMIT:
        yield too_long(path, LENGTH_LIMIT)
        return
    try:
        lists = release.enabled("DRAListTypeAttributes")
        selector = compile_selector(expression, list_type_attributes=lists)
    except UnsupportedFeature:
        return  # what asks for devices by it is not checked, with the reason
    except CelCompileError as error:
        yield FieldError(path, error.message)
        return
    if selector.max_cost > cost.LIMIT:
        yield FieldError(path, f"it may cost {selector.max_cost} units, more than {cost.LIMIT}: use fewer nested loops")


def check_opaque(config: Mapping[str, Any], path: str) -> Errors:
    """Yield what is wrong with `config[].opaque`: a driver, and parameters that are a JSON object of at most 10 KiB."""
    if "opaque" not in config:
        yield required(f"{path}.opaque")
        return
    opaque = config["opaque"]
    yield from check_driver(opaque.get("driver") or "", f"{path}.opaque.driver")
    yield from check_json_object(opaque.get("parameters"), f"{path}.opaque.parameters")


def check_json_object(value: Any, path: str) -> Errors:
    """Yield why a value is no JSON object of at most 10 KiB.

    Kubernetes counts the bytes as they were sent; here they are counted without needless spaces.
    """
    if value is None:
        yield required(path)
        return
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (RecursionError, TypeError, ValueError):
        yield invalid(path, type(value).__name__, "it cannot be written as JSON")
        return
    if size(text) > MAX_PARAMETERS:
        yield too_long(path, MAX_PARAMETERS)
    elif not isinstance(value, dict):
        yield invalid(path, value, "it must be a JSON object")


MAX_CONFIG = 32


def check_class(device_class: Mapping[str, Any], release: KubernetesRelease) -> Errors:
    """Yield what the API server refuses in a new DeviceClass (a decoded v1 document with its defaults)."""
    yield from check_metadata(device_class.get("metadata") or {}, namespaced=False)
    spec = device_class.get("spec") or {}
    yield from check_selectors(spec.get("selectors"), "spec.selectors", release)
    yield from check_list(spec.get("config"), MAX_CONFIG, check_opaque, "spec.config")
    if "extendedResourceName" in spec:
        yield from check_extended_resource(spec["extendedResourceName"], "spec.extendedResourceName")

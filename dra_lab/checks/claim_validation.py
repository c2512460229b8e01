"""Claims, templates and DeviceClasses as the API server validates new ones (docs/semantics.md 2.2, 4)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dra_lab.cel import cost
from dra_lab.cel.selector import LENGTH_LIMIT, compile_selector
from dra_lab.checks.rules import (
    Errors,
    check_driver,
    check_extended_resource,
    check_fully_qualified,
    check_label,
    check_list,
    check_metadata,
    check_set,
    check_subdomain,
    check_template_metadata,
    invalid,
    required,
    size,
    too_long,
)
from dra_lab.checks.taint_validation import check_toleration
from dra_lab.errors import CelCompileError, UnsupportedFeature
from dra_lab.manifests.schema import request_parts
from dra_lab.manifests.strict import FieldError
from dra_lab.model.claims import ALL, EXACT_COUNT
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


def check_class(device_class: Mapping[str, Any], release: KubernetesRelease) -> Errors:
    """Yield what the API server refuses in a new DeviceClass (a decoded v1 document with its defaults)."""
    yield from check_metadata(device_class.get("metadata") or {}, namespaced=False)
    spec = device_class.get("spec") or {}
    yield from check_selectors(spec.get("selectors"), "spec.selectors", release)
    yield from check_list(spec.get("config"), MAX_CONFIG, check_opaque, "spec.config")
    if "extendedResourceName" in spec:
        yield from check_extended_resource(spec["extendedResourceName"], "spec.extendedResourceName")


MAX_REQUESTS = 32
MAX_SUBREQUESTS = 8
MAX_CONSTRAINTS = 32
MAX_CONFIG = 32

_UNKNOWN_REQUEST = "name a request of the claim, or request/subrequest"


def check_claim(claim: Mapping[str, Any], release: KubernetesRelease, *, admin_namespace: bool = False) -> Errors:
    """Yield what the API server refuses in a new ResourceClaim (a decoded v1 document with its defaults).

    `admin_namespace` says that the namespace has the label that admin access needs.
    """
    yield from check_metadata(claim.get("metadata") or {}, namespaced=True)
    spec = claim.get("spec") or {}
    if not admin_namespace:
        yield from check_admin_access(spec)
    yield from check_claim_spec(spec, "spec", release)


def check_claim_template(
    template: Mapping[str, Any], release: KubernetesRelease, *, admin_namespace: bool = False
) -> Errors:
    """Yield what the API server refuses in a new ResourceClaimTemplate."""
    yield from check_metadata(template.get("metadata") or {}, namespaced=True)
    spec = template.get("spec") or {}
    if not admin_namespace:
        yield from check_admin_access(spec.get("spec") or {})
    yield from check_template_metadata(spec.get("metadata") or {}, "spec.metadata")
    yield from check_claim_spec(spec.get("spec") or {}, "spec.spec", release)


def check_admin_access(spec: Mapping[str, Any]) -> Errors:
    """Yield the first request that asks for admin access, for a namespace without the label.

    The path is that of a claim, also in a template and without `exactly`, as the API server prints it.
    """
    for index, request in enumerate((spec.get("devices") or {}).get("requests") or ()):
        if (request.get("exactly") or {}).get("adminAccess"):
            why = "admin access needs the label resource.kubernetes.io/admin-access: true on the namespace"
            yield FieldError(f"spec.devices.requests[{index}].adminAccess", why)
            return


def check_claim_spec(spec: Mapping[str, Any], path: str, release: KubernetesRelease) -> Errors:
    """Yield what is wrong with the spec of a claim, at a path."""
    devices = spec.get("devices") or {}
    names, uses = request_names(devices), attribute_uses(devices.get("constraints"))
    path = f"{path}.devices"

    def request_rule(request: Mapping[str, Any], place: str) -> Errors:
        yield from check_request(request, place, release)
        for part, part_place, reference in request_parts(request, place):
            yield from check_derived_attributes(part, part_place, reference, uses, release)

    def constraint_rule(constraint: Mapping[str, Any], place: str) -> Errors:
        yield from check_references(constraint, place, names)
        yield from check_constraint(constraint, place, release)

    def config_rule(config: Mapping[str, Any], place: str) -> Errors:
        yield from check_references(config, place, names)
        yield from check_opaque(config, place)

    requests, constraints = devices.get("requests"), devices.get("constraints")
    yield from check_set(requests, MAX_REQUESTS, request_rule, f"{path}.requests", _name)
    yield from check_list(constraints, MAX_CONSTRAINTS, constraint_rule, f"{path}.constraints")
    yield from check_list(devices.get("config"), MAX_CONFIG, config_rule, f"{path}.config")


def request_names(devices: Mapping[str, Any]) -> frozenset[str]:
    """Return what constraints and configuration may refer to: `request` and `request/subrequest`."""
    names: dict[str, tuple[str, ...]] = {}
    for request in devices.get("requests") or ():
        subrequests = request.get("firstAvailable") or ()
        # of two requests with one name the later one counts
        names[_name(request)] = tuple(_name(subrequest) for subrequest in subrequests)
    nested = (f"{name}/{subrequest}" for name, subrequests in names.items() for subrequest in subrequests)
    return frozenset((*names, *nested))


def check_request(request: Mapping[str, Any], path: str, release: KubernetesRelease) -> Errors:
    """Yield what is wrong with `requests[]`: exactly one of `exactly` and a non-empty `firstAvailable`."""
    yield from check_label(_name(request), f"{path}.name")
    subrequests = request.get("firstAvailable")
    if "exactly" in request and subrequests:
        yield FieldError(path, "set exactly or firstAvailable, not both")
    elif "exactly" in request:
        yield from _check_exact(request["exactly"], f"{path}.exactly", release)
    elif subrequests:

        def rule(subrequest: Mapping[str, Any], place: str) -> Errors:
            yield from check_label(_name(subrequest), f"{place}.name")
            yield from _check_exact(subrequest, place, release)

        yield from check_set(subrequests, MAX_SUBREQUESTS, rule, f"{path}.firstAvailable", _name)
    else:
        yield required(path, "set exactly or firstAvailable")


def _check_exact(request: Mapping[str, Any], path: str, release: KubernetesRelease) -> Errors:
    class_name = request.get("deviceClassName") or ""
    if class_name:
        yield from check_subdomain(class_name, f"{path}.deviceClassName")
    else:
        yield required(f"{path}.deviceClassName")
    yield from check_selectors(request.get("selectors"), f"{path}.selectors", release)
    yield from check_count(request, path)
    for index, toleration in enumerate(request.get("tolerations") or ()):
        yield from check_toleration(toleration, f"{path}.tolerations[{index}]", release)


def check_count(request: Mapping[str, Any], path: str) -> Errors:
    """Yield what is wrong with allocation mode and count; more devices than any claim can get pass here."""
    mode, count = request.get("allocationMode") or "", request.get("count") or 0
    if mode == ALL and count:
        yield invalid(f"{path}.count", count, "leave it out when the allocation mode is All")
    elif mode == EXACT_COUNT and count <= 0:
        yield invalid(f"{path}.count", count, "it must be greater than zero")
    elif mode not in (ALL, EXACT_COUNT):
        yield invalid(f"{path}.allocationMode", mode, f"use {ALL} or {EXACT_COUNT}")


def check_references(item: Mapping[str, Any], path: str, names: frozenset[str]) -> Errors:
    """Yield what is wrong with the `requests` of a constraint or configuration: known names, each once."""

    def rule(name: str, place: str) -> Errors:
        parts = name.split("/")
        if len(parts) <= 2:
            for part in parts:
                yield from check_label(part, place)
        if len(parts) > 2 or name not in names:
            yield invalid(place, name, _UNKNOWN_REQUEST)

    yield from check_set(item.get("requests"), MAX_REQUESTS, rule, f"{path}.requests")


def check_constraint(constraint: Mapping[str, Any], path: str, release: KubernetesRelease) -> Errors:
    """Yield what is wrong with `constraints[]`. Where both attributes are set, only `matchAttribute` is looked at."""
    if "matchAttribute" in constraint:
        yield from check_fully_qualified(constraint["matchAttribute"], f"{path}.matchAttribute", release)
    elif "distinctAttribute" in constraint:
        yield from check_fully_qualified(constraint["distinctAttribute"], f"{path}.distinctAttribute", release)
    elif release.enabled("DRAConsumableCapacity"):
        yield required(path, "set matchAttribute or distinctAttribute")
    else:
        yield required(f"{path}.matchAttribute")


def _name(item: Mapping[str, Any]) -> str:
    return item.get("name") or ""


# ---------------------------------------------------------------- derived attributes (1.37, alpha)

MAX_DERIVED = 32

Uses = Mapping[str, frozenset[str]]
"""What constraints name: reference to a request ("" for all of them) -> attributes."""


def attribute_uses(constraints: Sequence[Mapping[str, Any]] | None) -> Uses:
    """Return which attributes the constraints of a claim name for which references."""
    found: dict[str, set[str]] = {}
    for constraint in constraints or ():
        name = constraint.get("matchAttribute") or constraint.get("distinctAttribute")
        for reference in constraint.get("requests") or ("",):
            if name:
                found.setdefault(reference, set()).add(name)
    return {reference: frozenset(names) for reference, names in found.items()}


def check_derived_attributes(
    request: Mapping[str, Any], path: str, reference: str, uses: Uses, release: KubernetesRelease
) -> Errors:
    """Yield what is wrong with `derivedAttributes`: each has a full name that a constraint on the request uses."""
    used = uses.get("", frozenset()) | uses.get(reference, frozenset())
    used |= uses.get(reference.partition("/")[0], frozenset())

    def rule(derived: Mapping[str, Any], place: str) -> Errors:
        name, expression = derived.get("name") or "", derived.get("expression") or ""
        if not name:
            yield required(f"{place}.name")
        else:
            yield from check_fully_qualified(name, f"{place}.name", release)
            if name not in used:
                yield invalid(f"{place}.name", name, "no constraint on this request uses it")
        if not expression:
            yield required(f"{place}.expression")
        elif size(expression) > LENGTH_LIMIT:
            yield too_long(f"{place}.expression", LENGTH_LIMIT)

    derived = request.get("derivedAttributes")
    yield from check_set(derived, MAX_DERIVED, rule, f"{path}.derivedAttributes", lambda d: d.get("name") or "")

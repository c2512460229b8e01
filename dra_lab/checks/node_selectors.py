"""Node selectors of slices and devices (core/v1 `ValidateNodeSelector`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dra_lab.checks.name_formats import check_label_name, check_label_value, check_subdomain
from dra_lab.checks.rules import Errors, invalid, required
from dra_lab.manifests.field_errors import FieldError


def check_node_selector(selector: Mapping[str, Any], path: str) -> Errors:
    """Yield what is wrong with a node selector: it needs a term, and each requirement the values of its operator."""
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        yield required(f"{path}.nodeSelectorTerms", "at least one term")
    for index, term in enumerate(terms):
        place = f"{path}.nodeSelectorTerms[{index}]"
        for number, requirement in enumerate(term.get("matchExpressions") or ()):
            yield from _check_expression(requirement, f"{place}.matchExpressions[{number}]")
        for number, requirement in enumerate(term.get("matchFields") or ()):
            yield from _check_field(requirement, f"{place}.matchFields[{number}]")


def _check_expression(requirement: Mapping[str, Any], path: str) -> Errors:
    values = requirement.get("values") or ()
    match requirement.get("operator") or "":
        case "In" | "NotIn":
            if not values:
                yield required(f"{path}.values", "In and NotIn need values")
        case "Exists" | "DoesNotExist":
            if values:
                yield FieldError(f"{path}.values", "Exists and DoesNotExist take no values")
        case "Gt" | "Lt":
            if len(values) != 1:
                yield required(f"{path}.values", "Gt and Lt need one value")
        case other:
            yield invalid(f"{path}.operator", other, "use In, NotIn, Exists, DoesNotExist, Gt or Lt")
    yield from check_label_name(requirement.get("key") or "", f"{path}.key")
    for index, value in enumerate(values):
        yield from check_label_value(value, f"{path}.values[{index}]")


def _check_field(requirement: Mapping[str, Any], path: str) -> Errors:
    values, key = requirement.get("values") or (), requirement.get("key") or ""
    operator = requirement.get("operator") or ""
    if operator not in ("In", "NotIn"):
        yield invalid(f"{path}.operator", operator, "use In or NotIn")
    elif len(values) != 1:
        yield required(f"{path}.values", "one value")
    if key != "metadata.name":
        yield invalid(f"{path}.key", key, "the only field is metadata.name")
        return
    for index, value in enumerate(values):
        yield from check_subdomain(value, f"{path}.values[{index}]")

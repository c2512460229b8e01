"""Formats of names and values in `resource.k8s.io` (docs/semantics.md 1.3). Lengths are bytes."""

from __future__ import annotations

import re

from dra_lab.checks.rules import Errors, invalid, required, size, too_long

_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_DNS_LABEL = re.compile(rf"{_LABEL}\Z")
_DNS_SUBDOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\Z")
_C_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_NAME_PART = re.compile(r"(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]\Z")

MAX_LABEL = 63
MAX_SUBDOMAIN = 253
MAX_DRIVER = 63
MAX_IDENTIFIER = 32
MAX_POOL = 253
MAX_QUALIFIED = MAX_DRIVER + 1 + MAX_IDENTIFIER

_LABEL_RULE = "use lower-case letters, digits and '-', beginning and ending with a letter or digit"
_SUBDOMAIN_RULE = "use lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"


def is_subdomain(name: str) -> bool:
    """Say whether a name is a DNS-1123 subdomain of at most 253 bytes."""
    return len(name) <= MAX_SUBDOMAIN and _DNS_SUBDOMAIN.match(name) is not None


def check_label(name: str, path: str) -> Errors:
    """Yield why a name is no DNS-1123 label (device, request, counter and counter-set names)."""
    if size(name) > MAX_LABEL:
        yield invalid(path, name, f"at most {MAX_LABEL} characters are allowed")
    if _DNS_LABEL.match(name) is None:
        yield invalid(path, name, _LABEL_RULE)


def check_subdomain(name: str, path: str) -> Errors:
    """Yield why a name is no DNS-1123 subdomain (class and object names)."""
    if size(name) > MAX_SUBDOMAIN:
        yield invalid(path, name, f"at most {MAX_SUBDOMAIN} characters are allowed")
    if _DNS_SUBDOMAIN.match(name) is None:
        yield invalid(path, name, _SUBDOMAIN_RULE)


def check_driver(name: str, path: str) -> Errors:
    """Yield why a name is no driver name: the CSI driver rule, for which upper case passes."""
    if not name:
        yield required(path)
        return
    if size(name) > MAX_DRIVER:
        yield too_long(path, MAX_DRIVER)
    yield from check_subdomain(name.lower(), path)


def check_pool(name: str, path: str) -> Errors:
    """Yield why a name is no pool name: subdomains with slashes between them."""
    if not name:
        yield required(path)
        return
    if size(name) > MAX_POOL:
        yield too_long(path, MAX_POOL)
    for part in name.split("/"):
        yield from check_subdomain(part, path)


def check_identifier(name: str, path: str) -> Errors:
    """Yield why a name is no C identifier of at most 32 bytes."""
    if size(name) > MAX_IDENTIFIER:
        yield too_long(path, MAX_IDENTIFIER)
    if _C_IDENTIFIER.match(name) is None:
        yield invalid(path, name, "use letters, digits and '_', not beginning with a digit")


def check_qualified(name: str, path: str) -> Errors:
    """Yield why a name is no QualifiedName (`identifier` or `domain/identifier`).

    A name with two or more slashes is not looked at and passes, as in the API server.
    """
    parts = name.split("/")
    if len(parts) == 1:
        yield from check_identifier(name, path)
    if len(parts) != 2:
        return
    domain, identifier = parts
    if domain:
        yield from check_driver(domain, path)
    else:
        yield invalid(path, name, "the domain must not be empty")
    if identifier:
        yield from check_identifier(identifier, path)
    else:
        yield invalid(path, name, "the name must not be empty")


def check_fully_qualified(name: str, path: str) -> Errors:
    """Yield why a name is no FullyQualifiedName (`domain/identifier`)."""
    yield from check_qualified(name, path)
    if "/" not in name:
        yield invalid(path, name, "write it with its domain: domain/name")


def check_label_name(name: str, path: str) -> Errors:
    """Yield why a name is no label name (`[prefix/]name`): taint keys, binding conditions, labels."""
    parts = name.split("/")
    if len(parts) > 2:
        yield invalid(path, name, "a name with an optional DNS subdomain and one '/' in front of it is allowed")
        return
    if len(parts) == 2:
        if not parts[0]:
            yield invalid(path, name, "the prefix must not be empty")
        else:
            yield from check_subdomain(parts[0], path)
    if not parts[-1]:
        yield invalid(path, name, "the name must not be empty")
    elif size(parts[-1]) > MAX_LABEL:
        yield invalid(path, name, f"at most {MAX_LABEL} characters are allowed")
    if _NAME_PART.match(parts[-1]) is None:
        yield invalid(path, name, "use letters, digits, '-', '_' and '.', beginning and ending with a letter or digit")


def check_label_value(value: str, path: str) -> Errors:
    """Yield why a value is no label value; empty is one."""
    if size(value) > MAX_LABEL:
        yield invalid(path, value, f"at most {MAX_LABEL} characters are allowed")
    if value and _NAME_PART.match(value) is None:
        yield invalid(path, value, "use letters, digits, '-', '_' and '.', beginning and ending with a letter or digit")


def check_extended_resource(name: str, path: str) -> Errors:
    """Yield why a name is no extended resource: it needs a domain that is not Kubernetes' own and no `requests.`."""
    native = "/" not in name or "kubernetes.io/" in name
    if native or name.startswith("requests.") or any(check_label_name(f"requests.{name}", path)):
        why = "use domain/name with a domain of your own (not kubernetes.io) and without requests. in front"
        yield invalid(path, name, why)

"""The CEL environment of DRA selectors in Kubernetes 1.36 (`dynamic-resource-allocation/cel/compile.go`).

Two environments share one set of functions. The *checker* types attribute values as `any`, or as `dyn` where list-typed
attributes are known, exactly as Kubernetes does: this decides what compiles. The *runner* types them as `dyn`, because
the engine holds plain values there. `device.attributes` and `device.capacity` exist twice for the runner. One version
is as published, for `in` and for loops. The other (names with `@`) has an empty map for every domain that an expression
may index. In Kubernetes an unknown domain is an empty map and yet not `in` the attributes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_optional

from dra_lab.cel.functions import declarations
from dra_lab.cel.functions.declare import checked_configuration
from dra_lab.cel.values import POOL, QUANTITY

DEVICE = "device"
DRIVER = "device.driver"
ATTRIBUTES = "device.attributes"
CAPACITY = "device.capacity"
SHAREABLE = "device.allowMultipleAllocations"
DEFAULTED = {ATTRIBUTES: "@attributes", CAPACITY: "@capacity"}

_T = cel.Type


def _environment(value: Any, *, defaulted: bool) -> Any:
    attributes = _T.Map(_T.STRING, _T.Map(_T.STRING, value))
    capacity = _T.Map(_T.STRING, _T.Map(_T.STRING, QUANTITY))
    variables = {
        DEVICE: _T.Map(_T.STRING, _T.DYN),
        DRIVER: _T.STRING,
        ATTRIBUTES: attributes,
        CAPACITY: capacity,
        SHAREABLE: _T.BOOL,
    }
    if defaulted:
        variables |= {DEFAULTED[ATTRIBUTES]: attributes, DEFAULTED[CAPACITY]: capacity}
    return cel.NewEnv(
        POOL,
        config=None if defaulted else checked_configuration(),
        variables=variables,
        extensions=[ext_bindings.ExtBindings(), ext_optional.ExtOptional()],
        functions=declarations(typed=not defaulted),
    )


@lru_cache(maxsize=2)
def checker(*, list_type_attributes: bool) -> Any:
    """Return the environment that decides what compiles."""
    return _environment(_T.DYN if list_type_attributes else cel.Type("any"), defaulted=False)


@lru_cache(maxsize=1)
def runner() -> Any:
    """Return the environment that evaluates."""
    return _environment(_T.DYN, defaulted=True)

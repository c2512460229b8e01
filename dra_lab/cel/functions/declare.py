"""Collecting overloads (one function name may get overloads from several libraries), limits and equality.

The engine chooses an implementation at run time by the *kinds* of the arguments (all messages are one kind, all lists
are one), and refuses two implementations for the same kinds. So the first overload of each combination carries one
implementation for all of them, and later ones only declare their types to the checker. The engine holds what an
implementation returns against the overload that carries it; for the runner, therefore, every overload returns `dyn`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cel_expr_python import cel

from dra_lab.errors import DraLabError

PAIR_LIMIT = 1_000_000
"""Most comparisons of elements in one call; Kubernetes stops there by cost."""

INCLUDES_LIMIT = 48
"""Most elements of a list on which `includes` may be called (`DeviceAttributeMaxListLength`)."""

TEXT_LIMIT = 1_000_000
"""Most characters of a text that a function may build."""

LIST_LIMIT = 100_000
"""Most elements of a list that `+` may build."""

RANGE_LIMIT = 10_000
"""Most elements of `lists.range`."""


def equal(left: Any, right: Any) -> bool:
    """Say whether CEL's `==` holds; values of different types are unequal, int, uint and double compare by value."""
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool) and left == right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(equal(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(value, right[key]) for key, value in left.items())
    try:
        return bool(left == right)
    except TypeError:  # a message against a foreign type
        return False


def bound_pairs(first: int, second: int) -> None:
    """Raise ValueError where comparing every element with every other would take more than `PAIR_LIMIT` steps."""
    if first * second > PAIR_LIMIT:
        raise ValueError(f"operation cancelled: actual cost limit exceeded, {first} times {second} comparisons")


def accepts(read: Callable[..., Any]) -> Callable[..., bool]:
    """Return the function that says whether `read` takes a text (`isQuantity`, `isIP`, ...)."""

    def check(*given: Any) -> bool:
        try:
            read(*given)
        except (ValueError, DraLabError):
            return False
        return True

    return check


SCALARS = (
    cel.Type.BOOL,
    cel.Type.INT,
    cel.Type.UINT,
    cel.Type.DOUBLE,
    cel.Type.STRING,
    cel.Type.BYTES,
    cel.Type.DURATION,
    cel.Type.TIMESTAMP,
)

TIMES = {"duration": cel.Type.DURATION, "timestamp": cel.Type.TIMESTAMP}
"""The types, by their names in CEL, whose values the engine takes from Python only where the result type says so."""

_TIMED = [timed for time in TIMES.values() for timed in (time, cel.Type.List(time), cel.Type.Map(cel.Type.DYN, time))]


class Declarations:
    """Overloads by function name, in the order in which they were added."""

    def __init__(self) -> None:
        """Start empty."""
        self._overloads: dict[str, list[dict[str, Any]]] = {}
        self._implemented: set[tuple[str, bool, tuple[str, ...]]] = set()

    def add(
        self,
        name: str,
        returns: Any,
        parameters: Sequence[Any],
        implementation: Callable[..., Any],
        *,
        member: bool = False,
    ) -> None:
        """Declare one overload; `member` means that the first parameter stands before the dot."""
        known = self._overloads.setdefault(name, [])
        names = [str(one.name()) for one in parameters]
        kinds = (
            text[:3].upper() if text.upper().startswith(("LIST", "MAP")) else "message" if one.is_message() else text
            for text, one in zip(names, parameters, strict=True)
        )
        key = (name, member, tuple(kinds))
        more = {} if key in self._implemented else {"impl": implementation}
        self._implemented.add(key)
        known.append(
            {
                "id": f"k8s_{name.replace('.', '_')}_{len(known)}",
                "return_type": returns,
                "parameters": list(parameters),
                "is_member": member,
                **more,
            }
        )

    def engine_declarations(self, *, typed: bool) -> list[Any]:
        """Return one FunctionDecl for each name; with `typed` for the checker, without for the runner."""
        found = []
        for name, overloads in self._overloads.items():
            loose = [
                # times keep their result type, because the engine accepts them only there
                one if typed or one["return_type"] in _TIMED else {**one, "return_type": cel.Type.DYN}
                for one in overloads
            ]
            found.append(cel.FunctionDecl(name, [cel.Overload(**one) for one in loose]))
        return found


# --------------------------------------------------------------------- the configuration of the engine
# What the engine takes only in its own configuration: macros, and signatures with optionals or type parameters.
# The engine brings the macros of cel-go's `ext/comprehensions.go` (loops over two variables) and `ext/lists.go`
# (`sortBy`), and the generic signatures of lists. The standard `string` is declared again, because Kubernetes adds
# addresses and networks to it (`library/ip.go`, `cidr.go`) and the engine does not allow additions to a standard
# function.

_STRING = {
    "string_to_string": "string",
    "bytes_to_string": "bytes",
    "bool_to_string": "bool",
    "double_to_string": "double",
    "int64_to_string": "int",
    "uint64_to_string": "uint",
    "timestamp_to_string": "timestamp",
    "duration_to_string": "duration",
    "ip_to_string": "kubernetes.IP",
    "cidr_to_string": "kubernetes.CIDR",
}
_STRING_OVERLOAD = """
  - id: "{id}"
    signature: "string({type})"
    return: "string"
"""
_CHECKED = """
name: "dra"
extensions:
- name: "lists"
- name: "two-var-comprehensions"
stdlib:
  exclude_functions:
  - name: "string"
# Named formats of Kubernetes.
functions:
- name: "format.named"
  overloads:
  - id: "format_named"
    args:
    - type_name: "string"
    return:
      type_name: "optional_type"
      params:
      - type_name: "kubernetes.NamedFormat"
- name: "validate"
  overloads:
  - id: "format_validate"
    signature: "kubernetes.NamedFormat.validate(string)"
    return: "optional_type<list<string>>"
- name: "string"
  overloads:
"""


def checked_configuration() -> Any:
    """Return the engine's configuration for the environment that decides what compiles."""
    overloads = (_STRING_OVERLOAD.format(id=id_, type=type_).strip("\n") for id_, type_ in _STRING.items())
    return cel.NewEnvConfigFromYaml(_CHECKED + "\n".join(overloads) + "\n")

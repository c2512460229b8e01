"""What the engine takes only in its own configuration: macros, and signatures with optionals or type parameters.

The engine brings the macros of cel-go's `ext/comprehensions.go` (loops over two variables) and `ext/lists.go`
(`sortBy`), and the generic signatures of lists. The standard `string` is declared again, because Kubernetes adds
addresses and networks to it (`library/ip.go`, `cidr.go`) and the engine does not allow additions to a standard
function.
"""

from __future__ import annotations

from typing import Any

from cel_expr_python import cel

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


def checked() -> Any:
    """Return the engine's configuration for the environment that decides what compiles."""
    overloads = (_STRING_OVERLOAD.format(id=id_, type=type_).strip("\n") for id_, type_ in _STRING.items())
    return cel.NewEnvConfigFromYaml(_CHECKED + "\n".join(overloads) + "\n")

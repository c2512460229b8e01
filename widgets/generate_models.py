"""Write the TypeScript types of what the widgets share with Python: src/generated/models.ts, from the Python traits.

    python widgets/generate_models.py           write the file.
    python widgets/generate_models.py --check   say whether the file is what the traits give (exit status 1 if not).

Every class of dra_lab.widgets that is an AnyWidget becomes `<Name>Model`, and the messages that it takes (`@on`)
`<Name>Message`. A trait says more about its value with
`.tag(sync=True, value=T)`, where T is a type of Python: a msgspec Struct, list[...], dict[str, ...], Literal[...].
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from pathlib import Path

import anywidget
import msgspec.inspect as shape
import traitlets

from dra_lab.widgets.session_view import Message, SessionView

TARGET = Path(__file__).resolve().parent / "src" / "generated" / "models.ts"
HEAD = "// Generated from the Python traits by widgets/generate_models.py; a test compares. Do not edit.\n"


def widget_classes() -> list[type[anywidget.AnyWidget]]:
    """Return the widgets of dra_lab.widgets, by name."""
    package = importlib.import_module("dra_lab.widgets")
    found: dict[str, type[anywidget.AnyWidget]] = {}
    for module in pkgutil.iter_modules(package.__path__, "dra_lab.widgets."):
        for value in vars(importlib.import_module(module.name)).values():
            ours = isinstance(value, type) and value.__module__.startswith("dra_lab.widgets")
            if ours and issubclass(value, anywidget.AnyWidget):
                found[value.__name__] = value
    return [found[name] for name in sorted(found)]


class Types:
    """The TypeScript of Python types; every Struct met on the way becomes an interface of its own."""

    def __init__(self) -> None:
        """Start with no interface."""
        self.interfaces: dict[str, str] = {}

    def of(self, kind: shape.Type) -> str:
        """Return the TypeScript of one type."""
        match kind:
            case shape.StructType(array_like=True, fields=fields):
                return f"[{', '.join(self.of(field.type) for field in fields)}]"
            case shape.StructType(cls=cls) | shape.DataclassType(cls=cls):
                return self._struct(cls, kind)
            case shape.EnumType(cls=cls):
                return " | ".join(f'"{member.value}"' for member in cls)
            case shape.LiteralType(values=values):
                return " | ".join(f'"{value}"' if isinstance(value, str) else str(value).lower() for value in values)
            case shape.UnionType(types=types):
                return " | ".join(dict.fromkeys(self.of(part) for part in types))
            case shape.TupleType(item_types=items):
                return f"[{', '.join(self.of(item) for item in items)}]"
            case shape.ListType(item_type=item) | shape.VarTupleType(item_type=item):
                inner = self.of(item)
                return (
                    f"readonly ({inner})[]" if "|" in inner or inner.startswith("readonly") else f"readonly {inner}[]"
                )
            case shape.DictType(value_type=value):
                return f"Readonly<Record<string, {self.of(value)}>>"
        plain = {shape.StrType: "string", shape.BoolType: "boolean", shape.IntType: "number", shape.FloatType: "number"}
        plain[shape.NoneType] = "null"
        return plain.get(type(kind), "unknown")

    def _struct(self, cls: type, kind: shape.StructType | shape.DataclassType) -> str:
        name = cls.__name__
        if name not in self.interfaces:
            self.interfaces[name] = ""
            lines = [
                f"  {field.encode_name}{'' if field.required else '?'}: {self.of(field.type)};" for field in kind.fields
            ]
            self.interfaces[name] = "\n".join([f"export interface {name} {{", *lines, "}"])
        return name

    def of_message(self, cls: type[Message]) -> str:
        """Return the TypeScript of a message: an object that its type tells apart."""
        kind = shape.type_info(cls)
        assert isinstance(kind, shape.StructType)
        fields = [f"{field.encode_name}{'' if field.required else '?'}: {self.of(field.type)}" for field in kind.fields]
        return "{ " + "; ".join([f'type: "{kind.tag}"', *fields]) + " }"

    def of_trait(self, trait: traitlets.TraitType) -> str:
        """Return the TypeScript of a trait: of its `value` tag, else of its class."""
        if (value := trait.metadata.get("value")) is not None:
            return self.of(shape.type_info(value))
        match trait:
            case traitlets.Bool():
                return "boolean"
            case traitlets.Enum(values=values):
                return " | ".join(f'"{value}"' if isinstance(value, str) else str(value) for value in values)
            case traitlets.Int() | traitlets.Float():
                return "number"
            case traitlets.Unicode():
                return "string"
            case traitlets.Dict():
                return "Readonly<Record<string, unknown>>"
            case traitlets.List():
                return "readonly unknown[]"
        return "unknown"


def link_kinds() -> str:
    """Return the kinds of links as a constant, with what each means."""
    from dra_lab.model.sketch import LINK_KINDS

    rows = [
        f'  {{ value: "{how.value}", meaning: "{kind.meaning}", leastEnds: {kind.least_ends} }},'
        for how, kind in LINK_KINDS.items()
    ]
    return "\n".join(["export const LINK_KINDS = [", *rows, "] as const;"])


def models() -> str:
    """Return the text of the generated file."""
    types = Types()
    inherited = set(anywidget.AnyWidget.class_traits())
    wholes = []
    for cls in widget_classes():
        own = {name: trait for name, trait in cls.class_traits(sync=True).items() if name not in inherited}
        lines = [f"  {name}: {types.of_trait(own[name])};" for name in sorted(own) if re.match(r"[a-z]", name)]
        wholes.append("\n".join([f"export interface {cls.__name__}Model {{", *lines, "}"]))
        wholes.append(_messages(types, cls))
    parts = [link_kinds(), *(types.interfaces[name] for name in sorted(types.interfaces)), *wholes]
    return HEAD + "\n" + "\n\n".join(parts) + "\n"


def _messages(types: Types, cls: type[anywidget.AnyWidget]) -> str:
    """Return the union of the messages that a widget takes."""
    if not issubclass(cls, SessionView) or not cls.actions:
        return f"export type {cls.__name__}Message = never;"
    lines = sorted(f"  | {types.of_message(action.message)}" for action in cls.actions.values())
    return "\n".join([f"export type {cls.__name__}Message =", *lines]) + ";"


def main(arguments: list[str]) -> int:
    """Write or check the file; return the exit status."""
    text = models()
    if "--check" in arguments:
        if TARGET.is_file() and TARGET.read_text("utf-8") == text:
            return 0
        print(f"{TARGET.name} is not what the traits give; run: python widgets/generate_models.py")
        return 1
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(text, "utf-8")
    print(f"wrote {TARGET}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

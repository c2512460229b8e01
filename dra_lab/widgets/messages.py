"""What the browser can ask of a widget: `@on` makes a message from the signature of a method.

The browser's types are generated from these messages (`widgets/generate_models.py`). Python answers by its traits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from inspect import Parameter, signature
from typing import Any, NamedTuple, TypeVar, get_type_hints, overload

import msgspec
from msgspec import Struct, defstruct
from msgspec.structs import asdict, fields


class Row(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """Base of the values sent to the browser: frozen, camelCase there, defaults left out.

    The browser's types are generated from these classes (`widgets/generate_models.py`).
    """


def wire(value: object) -> Any:
    """Return a value of the model or a row as it travels: camelCase dicts, defaults left out, lists for tuples."""
    return msgspec.json.decode(msgspec.json.encode(value))


Method = TypeVar("Method", bound=Callable[..., None])


class Message(
    Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    omit_defaults=True,
    forbid_unknown_fields=True,
    tag_field="type",
):
    """Base of the messages, which their `type` tells apart; the fields of one are the parameters of its method."""


class Action(NamedTuple):
    """A method that the browser can call: the class that has it, its message, and the fields that are choices."""

    owner: type
    method: Callable[..., None]
    message: type[Message]
    choices: frozenset[str]

    def call(self, actor: Any, message: Message) -> None:
        """Call the method with the fields of a message, without the choices that it leaves as they are."""
        given = asdict(message)
        self.method(
            actor, **{name: given[name] for name in given if name not in self.choices or given[name] is not None}
        )


@overload
def on(method: Method) -> Method: ...
@overload
def on(*, tag: str = "", choice: type[Struct] | None = None) -> Callable[[Method], Method]: ...
def on(method: Any = None, *, tag: str = "", choice: type[Struct] | None = None) -> Any:
    """Let the browser call a method, by default with a message of its name: `set-replicas` calls `set_replicas`.

    With `choice`, the message may have each field of that Struct too; the method gets the present ones by keyword.
    """
    choices = fields(choice) if choice is not None else ()

    def mark(method: Any) -> Any:
        hints, found = get_type_hints(method), []
        for name, parameter in [*signature(method).parameters.items()][1:]:
            if parameter.kind is not Parameter.VAR_KEYWORD:
                default = () if parameter.default is Parameter.empty else (parameter.default,)
                found.append((name, hints[name], *default))
        found += [(one.name, one.type | None, None) for one in choices]
        own = tag or method.__name__.strip("_").replace("_", "-")
        method.message = defstruct(method.__name__, found, bases=(Message,), frozen=True, tag=own)
        method.choices = frozenset(one.name for one in choices)
        return method

    return mark if method is None else mark(method)


def calls(method: Callable[..., object], part: str = "", *, tag: str = "") -> Callable[..., None]:
    """Return what lets the browser call a method of the session, or of a `part` of it such as `fleet`, by its tag."""

    @wraps(method)
    def call(pane: Any, **given: Any) -> None:
        method(getattr(pane.session, part) if part else pane.session, **given)

    return on(tag=tag)(call)


def actions_of(owner: type) -> Mapping[str, Action]:
    """Return the methods of a class that the browser can call, by the types of their messages."""

    def found() -> Iterator[tuple[str, Action]]:
        for base in reversed(owner.__mro__):
            for method in vars(base).values():
                if isinstance(message := getattr(method, "message", None), type) and issubclass(message, Message):
                    yield str(message.__struct_config__.tag), Action(owner, method, message, method.choices)

    return dict(found())

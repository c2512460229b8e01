"""The base of the views of a session, and of the panes that a view is composed of."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import reduce, wraps
from inspect import Parameter, signature
from operator import or_
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar, get_type_hints, overload

import anywidget
import msgspec
import traitlets
from msgspec import Struct, defstruct
from msgspec.structs import asdict, fields

from dra_lab.errors import DraLabError, InputError
from dra_lab.model.decoding import from_builtins
from dra_lab.model.plan import Plan
from dra_lab.session import Session
from dra_lab.widgets.stored_output import answer_parts, wait_for_answer, with_stored
from dra_lab.words.document import Part, as_html


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


MOMENT = 0.1
"""Seconds in which a person takes no notice of a step."""


class LoopPoster:
    """Runs a call at once on the thread that made it, and through the event loop from any other thread.

    Without a running loop (a plain script, a test) calls run where they are made.
    """

    def __init__(self) -> None:
        """Remember the present thread and its running event loop, if there is one."""
        self._thread = threading.get_ident()
        self._waiting: set[Callable[[], None]] = set()
        try:
            self._loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            self._loop = None

    def __call__(self, call: Callable[[], None]) -> None:
        """Run the call, now or as the loop's next step; a loop that has ended takes no more calls."""
        if self._loop is None or threading.get_ident() == self._thread:
            call()
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call)

    def soon(self, call: Callable[[], None], seconds: float = MOMENT) -> None:
        """Run a call, asked for on the loop's thread, some time later: once for all times until then."""
        if self._loop is None or self._loop.is_closed():
            call()
        elif call not in self._waiting:
            self._waiting.add(call)
            self._loop.call_later(seconds, self._now, call)

    def _now(self, call: Callable[[], None]) -> None:
        self._waiting.discard(call)
        call()


def on_kernel_loop(session: Session) -> None:
    """Let a session's callbacks run on the loop of the present thread; a second call changes nothing."""
    if not isinstance(session.events.post, LoopPoster):
        session.events.post = LoopPoster()


# JupyterLab takes the highest version that fits: the programs of our extension, which come from its files. Every other
# front end, and a JupyterLab without the extension, finds anywidget's own module under the same name, which imports
# `_esm` through a Blob URL. The version is a pre-release, so no other widget's range of versions includes it.
EXTENSION_VERSION = "999.0.0-dra-lab"
_ANYWIDGET_VERSION = anywidget.AnyWidget.class_traits()["_model_module_version"].default_value
_VERSIONS = f"{_ANYWIDGET_VERSION}||{EXTENSION_VERSION}"

STATIC = Path(__file__).parent / "static"

_SETTLED = 2.0
"""Seconds after an answer in which the next edit may come: what the notebook stores does not follow each of them."""


def latest_plan(session: Session) -> Plan | None:
    """Return a session's latest answer, if it is one for its present cluster.

    It stays while the present drawing has no answer, such as while a selector is half written: the strip says so.
    A lesson hides it until the drawing is checked.
    """
    if session.answer is None or session.hides_answer or session.answer.cluster != session.cluster.name:
        return None
    return session.answer


class SessionView(anywidget.AnyWidget):
    """A view that follows a session with its panes, or stands alone with traits given by hand.

    The traits of the `panes` are traits of the view. The browser may send the messages of the methods of view and panes
    that have `@on`; any other is refused. `problem` has an error until the same action succeeds. The other parts of the
    view, and the other views, stay usable. `mode` is what the planner screen shows. `_stored` is the HTML that the
    notebook should store in place of the view, kept up to date while `_stores` is set, which the browser does if it can
    write it into the notebook.
    """

    panes: ClassVar[tuple[type[Pane], ...]] = ()
    actions: ClassVar[dict[str, Action]] = {}
    is_part = False
    """Whether another view of the same output speaks for it."""

    _model_module_version = traitlets.Unicode(_VERSIONS).tag(sync=True)
    _view_module_version = traitlets.Unicode(_VERSIONS).tag(sync=True)
    problem = traitlets.Unicode("").tag(sync=True)
    mode = traitlets.Unicode("plan").tag(sync=True)
    _stores = traitlets.Bool(False).tag(sync=True)
    _stored = traitlets.Unicode("").tag(sync=True)

    def __init_subclass__(cls, **options: Any) -> None:
        """Give the view the traits and the actions of its panes."""
        cls.actions = {**cls.actions}
        for pane in vars(cls).get("panes", ()):
            for name in dir(pane):
                if isinstance(trait := getattr(pane, name), traitlets.TraitType):
                    own = copy(trait)
                    own.class_init(cls, name)
                    setattr(cls, name, own)
            cls.actions |= actions_of(pane)
        cls.actions |= actions_of(cls)
        super().__init_subclass__(**options)

    def __init__(self, session: Session | None = None, **traits: Any) -> None:
        """Show what the session knows, or the traits given by hand."""
        self._session = session
        self._troubles: dict[str, str] = {}
        self._actors: list[Any] = [self]
        self.buffers: tuple[Any, ...] = ()
        inherited = anywidget.AnyWidget.class_traits()
        super().__init__(**{name: value if name in inherited else wire(value) for name, value in traits.items()})
        self.on_msg(self._on_message)
        self.observe(lambda _change: self._store(), "_stores")
        if session is not None:
            on_kernel_loop(session)
            for pane in self.panes:
                self._actors.append(pane(self, session))

    def close(self) -> None:
        """Stop following the session and take the view away."""
        for pane in self._actors[1:]:
            pane.close()
        del self._actors[1:]
        super().close()

    def stored_parts(self) -> list[Part]:
        """Return the document that a notebook stores of the view; nothing for a view without a session."""
        return answer_parts(self._session) if self._session is not None else []

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        shown = super()._repr_mimebundle_(**options)
        if shown is None or self._session is None:
            return shown
        wait_for_answer(self._session)
        return with_stored(shown[0], self.stored_parts()), shown[1]

    def _store(self) -> None:
        if self._stores and not self.is_part and not (self._session is not None and self._session.stale):
            self._stored = as_html(self.stored_parts())

    def report(self, what: str, words: str) -> None:
        """Show what is wrong with one part of the view until it is well again, which "" says."""
        self._troubles.pop(what, None)
        if words:
            self._troubles[what] = words
        self.problem = next(reversed(self._troubles.values()), "")

    @on
    def _dismiss_problem(self) -> None:
        """Hide what is wrong with a view."""
        self._troubles.clear()

    def _on_message(self, _widget: object, content: object, buffers: Sequence[Any]) -> None:
        self.buffers = tuple(buffers or ())
        attempt(self, "asked", lambda: self._act(content))

    def _act(self, content: object) -> None:
        """Do what a message asks. Raises InputError for a message that this widget does not take."""
        by_message = {action.message: action for action in self.actions.values()}
        try:
            message: Message = from_builtins(content, reduce(or_, by_message))
        except (msgspec.ValidationError, RecursionError) as error:
            raise InputError(f"the browser sent a message that this view does not accept: {error}") from error
        action = by_message[type(message)]
        for actor in self._actors:  # without a session there are no panes
            if isinstance(actor, action.owner):
                action.call(actor, message)


def attempt(view: SessionView, what: str, call: Callable[[], None]) -> None:
    """Do something for a part of a view; what is wrong is shown in the view until the part is well again."""
    try:
        with view.hold_sync():  # what one event changes travels as one message
            call()
    except DraLabError as error:
        view.report(what, str(error))
    except Exception as error:  # noqa: BLE001  a defect of one pane must not take the others with it
        view.report(what, f"this is a defect of dra_lab: {type(error).__name__}: {error}")
    else:
        view.report(what, "")


class Pane:
    """A part of a view of a session: its traits, what it shows after an event, and what a person does in it.

    `view` has the values of the traits. A view without a session has no panes. Nothing is shown in another mode than
    `only_in`.
    """

    only_in: ClassVar[str] = ""

    def __init__(self, view: Any, session: Session) -> None:
        """Begin to follow the session."""
        self.view = view
        self.session = session
        self.endings: list[Callable[[], object]] = []
        self._begin()

    def _begin(self) -> None:
        """Show what the session knows, now and after its events."""

    def close(self) -> None:
        """Stop following the session."""
        for end in self.endings:
            end()
        self.endings.clear()

    def when(self, show: Callable[[], None], *events: str) -> None:
        """Call back after each of the events, and once now."""
        safely = self._safely(show)
        self.endings.extend(self.session.on(event, safely) for event in events)
        safely()

    def shows(self, *events: str, **values: Callable[[Session], Any]) -> None:
        """Set traits to what functions find of the session, now and after each of the events."""

        def show() -> None:
            self.assign(**{name: find(self.session) for name, find in values.items()})

        show.__qualname__ = "-".join(values)
        self.when(show, *events)

    def watch(self, show: Callable[[], None], *traits: str) -> None:
        """Call back after each change of the traits."""
        safely = self._safely(show)
        self.view.observe(lambda _change: safely(), list(traits))

    def soon(self, show: Callable[[], None], seconds: float = MOMENT) -> Callable[[], None]:
        """Return what shows something a moment later, once for all that happens until then."""
        safely = self._safely(show)

        def later() -> None:
            post = self.session.events.post
            if isinstance(post, LoopPoster):
                post.soon(safely, seconds)
            else:
                safely()

        return later

    def _safely(self, show: Callable[[], None]) -> Callable[[], None]:
        def safely() -> None:
            if self.only_in in ("", self.session.mode):
                attempt(self.view, show.__qualname__, show)

        return safely

    def assign(self, **values: Any) -> None:
        """Set traits from values of the model and rows; what is equal is not sent again."""
        for name, value in values.items():
            setattr(self.view, name, wire(value))


class Shown(Pane):
    """The mode of the planner screen, and what a notebook stores of the view."""

    def _begin(self) -> None:
        self.shows("mode", mode=self._mode)
        self.when(self.soon(self.view._store, _SETTLED), "plan", "cluster")  # noqa: SLF001  they are one module

    def _mode(self, session: Session) -> str:
        return session.mode


class Highlight(Pane):
    """What is highlighted in all views; `highlight` is a request's name or a device id, "" for nothing.

    Either side writes it: what a person points at goes to the session, and from there to the other views.
    """

    highlight = traitlets.Unicode("").tag(sync=True)

    def _begin(self) -> None:
        self.watch(lambda: self.session.light(self.view.highlight), "highlight")
        self.shows("highlight", highlight=lambda session: session.highlight)

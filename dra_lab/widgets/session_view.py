"""The base of the views of a session: they follow its events until they are closed, and report a person's actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import msgspec
import traitlets

from dra_lab.errors import DraLabError, InputError
from dra_lab.model.decoding import from_builtins
from dra_lab.model.plan import Plan
from dra_lab.session import Session
from dra_lab.widgets.kernel_loop import MOMENT, LoopPoster, on_kernel_loop
from dra_lab.widgets.messages import DismissProblem, Message
from dra_lab.widgets.stored_output import answer_parts, wait_for_answer, with_stored
from dra_lab.widgets.wire import wire
from dra_lab.words.document import Part, as_html

Actions = Mapping[type[Message], Callable[[Any, Any], None]]
"""What a widget does with each message that it takes: called with the widget and the message."""

# JupyterLab takes the highest version that fits: the programs of our extension, which come from its files. Every other
# front end, and a JupyterLab without the extension, finds anywidget's own module under the same name, which imports
# `_esm` through a Blob URL. The version is a pre-release, so no other widget's range of versions includes it.
EXTENSION_VERSION = "999.0.0-dra-lab"
_ANYWIDGET_VERSION = anywidget.AnyWidget.class_traits()["_model_module_version"].default_value
_VERSIONS = f"{_ANYWIDGET_VERSION}||{EXTENSION_VERSION}"

STATIC = Path(__file__).parent / "static"

_SETTLED = 2.0
"""Seconds after an answer in which the next edit may come: what the notebook stores does not follow each of them."""


def latest_plan(session: Session | None) -> Plan | None:
    """Return a session's latest answer, if it is one for its present cluster.

    It stays while the present drawing has no answer, such as while a selector is half written: the strip says so.
    A lesson hides it until the drawing is checked.
    """
    if session is None or session.answer is None or session.hides_answer:
        return None
    return session.answer if session.answer.cluster == session.cluster.name else None


class FollowingWidget(anywidget.AnyWidget):
    """A view that follows a session, or stands alone with traits given by hand.

    Values of the model and rows are turned into what travels. `actions` are the messages that the browser may send, and
    what is done with each; any other is refused. `problem` has an error until the same action succeeds. The other parts
    of the view, and the other views, stay usable. `mode` is what the planner screen shows. `_stored` is the HTML that
    the notebook should store in place of the view, kept up to date while `_stores` is set, which the browser does if it
    can write it into the notebook.
    """

    is_part = False
    """Whether another view of the same output speaks for it."""

    _model_module_version = traitlets.Unicode(_VERSIONS).tag(sync=True)
    _view_module_version = traitlets.Unicode(_VERSIONS).tag(sync=True)
    problem = traitlets.Unicode("").tag(sync=True)
    mode = traitlets.Unicode("plan").tag(sync=True)
    _stores = traitlets.Bool(False).tag(sync=True)
    _stored = traitlets.Unicode("").tag(sync=True)

    def __init__(self, session: Session | None = None, **traits: Any) -> None:
        """Show what the session knows, or the traits given by hand."""
        self._session = session
        self._endings: list[Callable[[], None]] = []
        self._troubles: dict[str, str] = {}
        self._buffers: tuple[Any, ...] = ()
        inherited = anywidget.AnyWidget.class_traits()
        super().__init__(**{name: value if name in inherited else wire(value) for name, value in traits.items()})
        self.on_msg(self._on_message)
        if session is not None:
            on_kernel_loop(session)
            self._when(session, self._show_mode, "mode")
            self._follow(session)
            self._when(session, self._soon(self._store, _SETTLED), "plan", "cluster")
            self.observe(lambda _change: self._store(), "_stores")

    def close(self) -> None:
        """Stop following the session and take the view away."""
        for end in self._endings:
            end()
        self._endings.clear()
        super().close()

    def _follow(self, session: Session) -> None:
        raise NotImplementedError

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
        if self._stores and not self.is_part and self._session is not None and not self._session.stale:
            self._stored = as_html(self.stored_parts())

    def _show_mode(self) -> None:
        if self._session is not None:
            self.mode = self._session.mode

    def _when(self, session: Session, callback: Callable[[], None], *events: str) -> None:
        """Call back after each of the events, and once now."""

        def safely() -> None:
            self._try(callback.__name__, callback)

        self._endings.extend(session.on(event, safely) for event in events)
        safely()

    def _soon(self, show: Callable[[], None], seconds: float = MOMENT) -> Callable[[], None]:
        """Return what shows something a moment later, once for all that happens until then."""

        def safely() -> None:
            self._try(show.__name__, show)

        def soon() -> None:
            post = self._session.events.post if self._session is not None else None
            if isinstance(post, LoopPoster):
                post.soon(safely, seconds)
            else:
                safely()

        return soon

    def _try(self, what: str, call: Callable[[], None]) -> None:
        try:
            with self.hold_sync():  # what one event changes travels as one message
                call()
        except DraLabError as error:
            self.report(what, str(error))
        except Exception as error:  # noqa: BLE001  a defect of one pane must not take the others with it
            self.report(what, f"this is a defect of dra_lab: {type(error).__name__}: {error}")
        else:
            self.report(what, "")

    def report(self, what: str, words: str) -> None:
        """Show what is wrong with one part of the view until it is well again.

        Args:
            what: The name of the part.
            words: What is wrong; "" if nothing is.
        """
        self._troubles.pop(what, None)
        if words:
            self._troubles[what] = words
        self.problem = next(reversed(self._troubles.values()), "")

    def _dismiss_problem(self, _message: DismissProblem) -> None:
        self._troubles.clear()

    def _assign(self, **values: Any) -> None:
        """Set traits from values of the model and rows; what is equal is not sent again."""
        for name, value in values.items():
            setattr(self, name, wire(value))

    def _on_message(self, _widget: object, content: object, buffers: Sequence[Any]) -> None:
        self._buffers = tuple(buffers or ())
        self._try("asked", lambda: self._act(content))

    def _act(self, content: object) -> None:
        """Do what a message asks. Raises InputError for a message that this widget does not take."""
        try:
            message: Message = from_builtins(content, reduce(or_, self.actions))
        except (msgspec.ValidationError, RecursionError) as error:
            raise InputError(f"the browser sent a message that this view does not accept: {error}") from error
        self.actions[type(message)](self, message)

    actions: ClassVar[Actions] = {DismissProblem: _dismiss_problem}

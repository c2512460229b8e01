"""The exceptions of dra_lab. No other library's exceptions escape; "does not fit" is an answer and not an exception.

DraLabError
├── InputError                 what was given cannot be used.
│   ├── SourceError            a file, folder, sample or cluster cannot be read.
│   ├── ManifestError          a document is broken, of the wrong kind or type (carries an Origin).
│   ├── SketchError            a drawing is inconsistent or its file is broken.
│   ├── NodeError              a node that the cluster does not have.
│   ├── QuantityError          text that is no Kubernetes quantity.
│   └── SemverError            text that is no semantic version.
├── CelError                   a selector.
│   ├── CelCompileError        does not compile, has a wrong type, or may cost too much.
│   └── CelRuntimeError        fails on a device (kube-scheduler gives up the whole pod).
├── UnsupportedFeature         a rule of DRA that this part does not know yet, by its API name.
├── SolverError                the solver is missing or failed.
├── MissingPackage             a package that an extra of dra-lab installs is not there.
├── Cancelled                  the person cancelled before there was any answer.
└── ExportError                files could not be written, or would overwrite a person's change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import Any, ClassVar, Self

from dra_lab.findings import Origin, shortened


def did_you_mean(name: str, names: Iterable[str], start: str = "", end: str = "") -> str:
    """Return `; did you mean 'NAME'?` with the most similar of some names between `start` and `end`, "" if none is."""
    from difflib import get_close_matches

    similar = get_close_matches(name, names, 1, 0.75) if len(name) <= 253 else []
    return f"; did you mean {start + similar[0] + end!r}?" if similar else ""


_WORD_START = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class DraLabError(Exception):
    """Base of every exception that dra_lab raises.

    `origin` is the place of the cause, if it is in a document. `rule` is the name of the class in kebab case, such as
    "source-error", which `dra-lab help` explains.

    Example:
        >>> from dra_lab import DraLabError, load_cluster
        >>> try:
        ...     load_cluster("sample:two-socket")
        ... except DraLabError as error:
        ...     print(type(error).__name__)
        SourceError
    """

    rule: ClassVar[str] = "dra-lab-error"
    in_lines = False
    """Whether the line ends of the message are those of dra-lab, and not of a name in it."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Name the rule after the class."""
        super().__init_subclass__(**kwargs)
        cls.rule = _WORD_START.sub("-", cls.__name__).lower()

    def __init__(self, message: str, *, origin: Origin | None = None) -> None:
        """Keep the bare message and put the origin in front of it for printing."""
        self.message = message = shortened(message)
        self.origin = origin
        super().__init__(f"{origin}: {message}" if origin and str(origin) else message)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel between processes whole: Exception's own way would call `__init__` with the printed text alone."""
        return _received, (type(self), self.args, self.__dict__)


def _received(kind: type[DraLabError], args: tuple[Any, ...], state: dict[str, Any]) -> DraLabError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class InputError(DraLabError):
    """The given value cannot be used."""


class SourceError(InputError):
    """A file, folder, sample or cluster cannot be read."""


class ManifestError(InputError):
    """A document is broken, of the wrong kind, of an unknown version or has a wrong type."""


class SketchError(InputError):
    """A drawing is inconsistent (a link names an unknown request, ...) or its file is broken."""


class NodeError(InputError, KeyError):
    """A node that the cluster does not have."""

    def __str__(self) -> str:
        """Return the message as it is; KeyError would put it between quotes."""
        return Exception.__str__(self)

    @classmethod
    def unknown(cls, name: str, names: Sequence[str], where: str) -> Self:
        """Return the error for a name that is not among the nodes of `where`, with the most similar or the first."""
        start = f"there is no node {name[:253]!r} in {where}"
        if similar := did_you_mean(name, names):
            return cls(f"{start}{similar}")
        more = f" and {len(names) - 8:,} more" if len(names) > 8 else ""
        return cls(f"{start}; its nodes are: {', '.join(names[:8]) or 'none'}{more}")


class QuantityError(InputError, ValueError):
    """Text that is no Kubernetes quantity."""


class SemverError(InputError, ValueError):
    """Text that is no semantic version 2.0.0."""


class CelError(DraLabError):
    """A CEL selector cannot be used; `expression` is its text, `position` the offset of the problem or -1."""

    def __init__(self, message: str, *, expression: str = "", position: int = -1, origin: Origin | None = None) -> None:
        """Keep the expression in addition to the message."""
        self.expression = expression
        self.position = position
        super().__init__(message, origin=origin)


class CelCompileError(CelError):
    """A selector that does not compile, whose result type is wrong, or whose estimated cost is above the limit."""


class CelRuntimeError(CelError):
    """A selector that fails on a device; kube-scheduler then gives up the whole attempt of the pod."""


class UnsupportedFeature(DraLabError):
    """A rule of DRA that the called part does not know yet; `feature` is its API name (`sharedCounters`, ...)."""

    def __init__(self, feature: str, message: str, *, origin: Origin | None = None) -> None:
        """Keep the name of the feature in addition to the message."""
        self.feature = feature
        super().__init__(message, origin=origin)


class SolverError(DraLabError):
    """The solver is missing or failed; never used for a problem without a solution."""


class MissingPackage(DraLabError, ImportError):
    """A package is not installed that only an extra of dra-lab brings; the message says which extra."""


def require(package: str, extra: str) -> None:
    """Raise MissingPackage if a package is not installed, with the extra of dra-lab that brings it."""
    if find_spec(package) is None:
        raise MissingPackage(f"{package} is not installed; it comes with: pip install 'dra-lab[{extra}]'")


class Cancelled(DraLabError):
    """The person cancelled before there was any answer."""


class ExportError(DraLabError):
    """Files could not be written, or an existing file that a person changed would be overwritten."""


def a_kind(value: object) -> str:
    """Return the type of a value with its article, for a message: `an int`."""
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"

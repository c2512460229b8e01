"""Selectors: compiled once, evaluated once per distinct set of the values that the text names."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import Any

from cel_expr_python import cel
from google.protobuf.message import Error as ProtobufError

from dra_lab.cel import cost, hints
from dra_lab.cel.environment import ATTRIBUTES, CAPACITY, DEFAULTED, DEVICE, DRIVER, SHAREABLE, checker, runner
from dra_lab.cel.rewrite import bad_literal, hidden, inline, prepare
from dra_lab.cel.syntax_tree import Reads, Tree, decided_by_driver, reads, walk
from dra_lab.cel.values import quantity, semver, whole_text
from dra_lab.errors import CelCompileError, CelError, CelRuntimeError, QuantityError, SemverError, UnsupportedFeature
from dra_lab.model.device import Device, DeviceAttribute, has_empty_attributes, has_lists
from dra_lab.model.names import split_qualified
from dra_lab.model.release import KubernetesRelease

LENGTH_LIMIT = 10 * 1024
_MEMO_LIMIT = 65536
_ENGINE_ERRORS = (
    RuntimeError,  # the engine's own statuses
    ValueError,
    TypeError,
    ArithmeticError,
    LookupError,
    MemoryError,
    SystemError,
    ProtobufError,
)


def _attribute_value(attribute: DeviceAttribute) -> Any:
    if attribute.version is not None:
        return semver(attribute.version)
    if attribute.versions is not None:
        return [semver(version) for version in attribute.versions]
    value = attribute.value
    if value is None:
        raise CelRuntimeError("unsupported attribute value: an attribute of the device has no value")
    if isinstance(value, tuple):
        return [whole_text(item) if isinstance(item, str) else item for item in value]
    return whole_text(value) if isinstance(value, str) else value


class Selector:
    """One CEL expression over a device.

    `expression` is its text. `attributes` and `capacity` are the full names that it indexes with literals. `tree` is
    its checked syntax tree. `max_cost` is Kubernetes' estimate of its cost (the API server accepts `cost.LIMIT`).
    """

    def __init__(self, expression: str, tree: Tree, program: Any, found: Reads, *, list_type_attributes: bool) -> None:
        """Keep the parts; use `compile_selector`."""
        self.expression = expression
        self.list_type_attributes = list_type_attributes
        self.attributes = frozenset(found.attributes)
        self.capacity = frozenset(found.capacity)
        self.tree = tree
        self._program = program
        self._reads = found
        self._deciders: dict[str, Callable[[Device], bool]] = {}
        self._memos: dict[str, dict[Hashable, bool | str]] = {}

    @cached_property
    def max_cost(self) -> int:
        """Return the estimate in Kubernetes' units."""
        return cost.estimate(self.tree)

    def by_driver(self, driver: str) -> bool | None:
        """Say whether all devices of a driver match, None where more than the driver decides, or where it fails."""
        answer = decided_by_driver(self.tree, driver)
        read = self._reads
        if answer is not None or read.whole or read.attributes or read.capacity or read.shareable:
            return answer
        try:
            return self.decide(driver, Device(name=""))
        except CelRuntimeError:
            return None

    def keys_read(self, driver: str) -> frozenset[str] | None:
        """Return the keys of the attributes that it reads of a driver's devices, None if it reads whole devices."""
        return None if self._reads.whole else frozenset(_names(self.attributes, driver))

    def matches(self, driver: str, device: Device) -> bool:
        """Say whether a device of a driver matches.

        Raises CelRuntimeError where Kubernetes' evaluation fails, for example on an attribute that the device lacks.
        Without list-typed attributes, one list on a device makes every selector fail on it (Kubernetes 1.36).
        """
        if not self.list_type_attributes and has_lists(device):
            raise CelRuntimeError(
                f"device {device.name!r} has a list-typed attribute, and without the gate DRAListTypeAttributes "
                "every selector fails on it: unsupported attribute value",
                expression=self.expression,
            )
        if has_empty_attributes(device):
            raise CelRuntimeError(
                f"device {device.name!r} has an attribute without a value, and every selector fails on it: "
                "unsupported attribute value",
                expression=self.expression,
            )
        return self.decide(driver, device)

    def decide(self, driver: str, device: Device) -> bool:
        """Do what `matches` does for a device without lists, or where lists are known, and without empty attributes."""
        return (self._deciders.get(driver) or self.decider(driver))(device)

    def decider(self, driver: str) -> Callable[[Device], bool]:
        """Return `decide` for the devices of one driver; it evaluates once per distinct set of what is read of them."""
        known = self._deciders.get(driver)
        if known is not None:
            return known
        key_of, memo = self._key(driver), self._memos.setdefault(driver, {})

        def decide(device: Device) -> bool:
            key = key_of(device)
            answer = memo.get(key)
            if answer is None:
                if len(memo) >= _MEMO_LIMIT:
                    memo.clear()
                answer = memo[key] = self._evaluate(driver, device)
            if isinstance(answer, str):
                message = hints.runtime_message(self.expression, answer, driver, device)
                raise CelRuntimeError(message, expression=self.expression)
            return answer

        self._deciders[driver] = decide
        return decide

    def _key(self, driver: str) -> Callable[[Device], Hashable]:
        """Return what tells devices of a driver apart: the values that the selector reads, absent ones as None."""
        read = self._reads
        if read.whole:
            return _everything
        names = _names(self.attributes, driver)
        if not self.capacity and not read.shareable:
            if len(names) == 1:
                return lambda device: device.attributes.get(names[0])
            return lambda device: tuple(map(device.attributes.get, names))
        amounts = _names(self.capacity, driver)
        return lambda device: (
            tuple(map(device.attributes.get, names)),
            tuple(map(device.capacity.get, amounts)),
            device.allow_multiple_allocations,
        )

    def _evaluate(self, driver: str, device: Device) -> bool | str:
        """Return the result, or the engine's error message."""
        try:
            result = self._program.eval(data=self._bindings(driver, device))
            if result.type() == cel.Type.ERROR:
                return str(result.value()) or "unknown error"
            value = result.value()
        except (CelRuntimeError, SemverError, QuantityError) as error:
            return error.message
        except _ENGINE_ERRORS as error:
            return str(error) or type(error).__name__
        if not isinstance(value, bool):
            return f"the result is of type {result.type().name()}, not bool"
        return value

    def _bindings(self, driver: str, device: Device) -> dict[str, Any]:
        attributes: dict[str, dict[str, Any]] = {}
        for key, attribute in device.attributes.items():
            domain, identifier = split_qualified(key, driver)
            values = attributes.setdefault(domain, {})
            if "/" in key or identifier not in values:
                values[identifier] = _attribute_value(attribute)
        capacity: dict[str, dict[str, Any]] = {}
        for key, amount in device.capacity.items():
            domain, identifier = split_qualified(key, driver)
            capacity.setdefault(domain, {})[identifier] = quantity(amount.value)
        domains = (*map(whole_text, self._reads.literals), driver)
        return {
            DEVICE: {},
            DRIVER: driver,
            SHAREABLE: bool(device.allow_multiple_allocations),
            ATTRIBUTES: attributes,
            CAPACITY: capacity,
            DEFAULTED[ATTRIBUTES]: _with_defaults(attributes, domains),
            DEFAULTED[CAPACITY]: _with_defaults(capacity, domains),
        }


def _everything(device: Device) -> Hashable:
    return (
        device.allow_multiple_allocations,
        tuple(device.attributes.items()),
        tuple((name, capacity.value) for name, capacity in device.capacity.items()),
    )


def _names(full_names: frozenset[str], driver: str) -> tuple[str, ...]:
    """Return the full key of each name, and the bare key where that means the same for this driver."""
    split = ((name, *name.split("/", 1)) for name in sorted(full_names))
    return tuple(key for full, domain, bare in split for key in ((full, bare) if domain == driver else (full,)))


def _with_defaults(values: Mapping[str, Any], domains: tuple[str, ...]) -> dict[str, Any]:
    return {**{domain: {} for domain in domains}, **values}


@lru_cache(maxsize=4096)
def compile_selector(expression: str, *, list_type_attributes: bool = False) -> Selector:
    """Compile a selector as kube-scheduler compiles a stored one (whatever it may cost; see `admit_selector`).

    `list_type_attributes` is the gate DRAListTypeAttributes (KEP-5491). Raises CelCompileError with the position and
    what to do; also for more than 10 KiB and for a result that is neither bool nor an attribute's value. Raises
    UnsupportedFeature for a selector that is nested deeper than the engine reads.
    """
    size = len(expression.encode(errors="surrogatepass"))
    if size > LENGTH_LIMIT:
        raise CelCompileError(
            f"CEL selector has {size} bytes, more than {LENGTH_LIMIT}; split it into several selectors",
            expression=expression,
        )
    environment = checker(list_type_attributes=list_type_attributes)
    try:
        tree = _checked(environment, expression)
        inline(tree, expression)
        prepared = prepare(Tree(tree.serialized()))
        _refuse(expression, tree, ("any", "dyn") if list_type_attributes else ("any",))
        found = reads(tree)
        program = runner().deserialize(prepared)
    except _ENGINE_ERRORS as error:
        raise hints.compile_error(expression, str(error)) from None
    return Selector(expression, tree, program, found, list_type_attributes=list_type_attributes)


def _checked(environment: Any, expression: str) -> Tree:
    """Return the checked tree. Raises UnsupportedFeature for a text that is too deep for the engine."""
    try:
        return Tree(environment.compile(expression).serialize())
    except RuntimeError as error:
        if "recursion" not in str(error):
            raise
        message = (
            f"CEL selector {hints.short(expression)} is nested deeper than dra-lab reads, so it is not checked; "
            "split it into several selectors"
        )
        raise UnsupportedFeature("selector", message) from None


def _refuse(expression: str, tree: Tree, unknown_types: tuple[str, ...]) -> None:
    name = tree.type_of(tree.root)
    if name != "bool" and name not in unknown_types:
        raise hints.result_type_error(expression, name)
    inside = hidden(tree)
    if inside:
        raise hints.hidden_error(expression, inside)
    why, node = bad_literal(tree)
    if why:
        raise CelCompileError(
            f"CEL selector does not compile: {why}", expression=expression, position=tree.position(node)
        )


def admit_selector(expression: str, *, list_type_attributes: bool = False) -> Selector:
    """Compile a selector as the API server does when it is new or changed: one that may cost too much is refused.

    Raises CelCompileError, also for an estimate above `cost.LIMIT` (1,000,000).
    """
    selector = compile_selector(expression, list_type_attributes=list_type_attributes)
    if selector.max_cost > cost.LIMIT:
        raise CelCompileError(
            f"CEL selector may cost {selector.max_cost} units, more than {cost.LIMIT}, so the API server would "
            "refuse it. "
            "Use fewer nested loops and shorter lists, or split it into several selectors.",
            expression=expression,
        )
    return selector


_LISTS = frozenset(("slice", "flatten", "distinct", "reverse", "sort", "lists.range", "@sortByAssociatedKeys"))
_LISTS_SINCE = "1.35"
_GATED = {"includes": ("1.36", "DRAListTypeAttributes"), SHAREABLE: ("1.34", "DRAConsumableCapacity")}


def unknown_in(release: KubernetesRelease, expression: str) -> tuple[str, ...]:
    """Return what the API server of a release, with its gates, refuses of a new selector, each with what to do.

    Empty if it accepts all of it. Stored selectors go on working. Raises CelCompileError if no release accepts it.

    A new or changed selector is checked in the environment of the previous minor release, a stored one in all that the
    server knows (docs/semantics.md 4.3.1, `apiserver/pkg/cel/environment`). So a library of level 1.34 is taken in
    new selectors from 1.35 on; an option with a feature gate is taken in the release itself, where its gate is on.
    """
    found: dict[str, None] = {}
    for name, since, gate in _uses(compile_selector(expression, list_type_attributes=True)):
        if not release.is_at_least(since):
            found[f"`{name}` works in new selectors from Kubernetes {since} on, not in {release.version}"] = None
        elif gate and not release.enabled(gate):
            found[f"`{name}` needs the feature gate {gate}, which is off in {release}"] = None
    return tuple(found)


def _uses(selector: Selector) -> Iterator[tuple[str, str, str]]:
    """Yield (name, oldest release, feature gate or "") of everything that not every release has."""
    for node in walk(selector.tree.root):
        name = str(node.call.function) if node.HasField("call") else selector.tree.variable(node)
        if name in _LISTS:
            yield "sortBy" if name.startswith("@") else name, _LISTS_SINCE, ""
        elif name in _GATED:
            yield name, *_GATED[name]


# --------------------------------------------------------------------- guards
# A selector in a form that fails on no device: what it reads is tested with has(...) first.

_TEXT = r"""(?:"[^"\\\n]*"|'[^'\\\n]*')"""
_READ = rf"(device\.(?:attributes|capacity)\[{_TEXT}\])(?:\.([A-Za-z_][A-Za-z0-9_]*)|\[({_TEXT})\])"
_VALUE = rf"(?:{_TEXT}|[\w.]+(?:\([^()]*\))?|\[[^\[\]]*\])"
_TEST = re.compile(rf"{_READ}(?:\.\w+\([^()]*\))?(?:\s*(?:==|!=|<=|>=|<|>|\bin\b)\s*{_VALUE})?")
"""One read, with a method called on it and a comparison behind it, as far as they are there."""


def guarded(
    expression: str,
    devices: Iterable[tuple[str, Device]],
    others: Iterable[tuple[str, Device]] = (),
    *,
    lists: bool = False,
) -> str:
    """Return a selector that fails on none of `devices` (driver, device) and selects none of them.

    It guards what it reads with `has(...)` or `in`, at the front or in place (in `a || b` the other half still counts).
    If that is not possible, it excludes the driver of the devices. On every one of `others` on which the selector does
    not fail the result is that of the selector. The API server takes it as a new selector. "" where no such form is
    found.
    """
    tests = dict.fromkeys(map(_there, _TEST.finditer(expression)))
    candidates = []
    if tests:
        candidates.append(" && ".join([*tests, f"({expression})"]))
        candidates.append(_TEST.sub(lambda match: f"({_there(match)} && {match[0]})", expression))
    failing, rest = tuple(devices), tuple(others)
    drivers = {driver for driver, _ in failing}
    candidates += [f'device.driver != "{next(iter(drivers))}" && ({expression})'] if len(drivers) == 1 else []
    for text in candidates:
        with suppress(CelError, UnsupportedFeature):
            guard = admit_selector(text, list_type_attributes=lists)
            plain = compile_selector(expression, list_type_attributes=lists)
            selects = any(guard.matches(driver, device) for driver, device in failing)
            if not selects and all(_agree(guard, plain, driver, device) for driver, device in rest):
                return text
    return ""


def _there(read: re.Match[str]) -> str:
    """Return the test whether what is read is there: `has(...)`, which is for members behind a dot only, or `in`."""
    values, member, key = read[1], read[2], read[3]
    return f"has({values}.{member})" if member else f"{key} in {values}"


def _agree(guard: Selector, plain: Selector, driver: str, device: Device) -> bool:
    """Say whether a guard says what the selector says, where that does not fail."""
    try:
        wanted = plain.matches(driver, device)
    except CelError:
        return True
    return guard.matches(driver, device) is wanted

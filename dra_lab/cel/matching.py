"""Does a device match a request: the selectors of its class first, then its own (`structured/allocator.go`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial

from msgspec import Struct

from dra_lab.cel.selector import Selector, admit_selector, compile_selector
from dra_lab.errors import CelCompileError, CelError, CelRuntimeError, UnsupportedFeature
from dra_lab.model.claims import DeviceClass, expressions
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask

MATCH = "match"
CLASS = "class"
SELECTOR = "selector"
ERROR = "error"
NO_CLASS = "no-class"


class Match(Struct, frozen=True):
    """How far a device came.

    `stage` is "match", "class" (a class selector says no), "selector" (one of the request's own says no), "error" or
    "no-class". "error" means that a selector does not compile or fails on the device, so kube-scheduler gives up the
    whole pod. `expression` is the selector that decided, `error` the message for "error" and "no-class".
    """

    stage: str
    expression: str = ""
    error: str = ""

    def __bool__(self) -> bool:
        """Say whether the device matches."""
        return self.stage == MATCH


_MATCHED = Match(MATCH)
_Chain = tuple[tuple[Selector | str, Match], ...]
_Key = tuple[str, str, tuple[str, ...], str]


class _Driver(Struct, frozen=True):
    """A request's answer for the devices of one driver: `of_all` for all of them, or None and `match` for each."""

    of_all: Match | None
    match: Callable[[Device], Match]


def _constant(answer: Match) -> _Driver:
    return _Driver(answer, lambda _: answer)


def _decided(decide: Callable[[Device], bool], refusal: Match, then: _Driver, reference: str) -> _Driver:
    """Ask one selector, and what follows it of the devices that pass."""
    passed, follow = then.of_all, then.match

    def match(device: Device) -> Match:
        try:
            if not decide(device):
                return refusal
        except CelRuntimeError as error:
            return Match(ERROR, refusal.expression, f"request {reference!r}: {error.message}")
        return follow(device) if passed is None else passed

    return _Driver(None, match)


class Matching:
    """The selectors of a cluster's classes and of requests, compiled once for a release."""

    def __init__(self, cluster: Cluster, release: KubernetesRelease, classes: Mapping[str, DeviceClass]) -> None:
        """Keep the cluster and the classes that requests may name; nothing is compiled before its first use."""
        self._cluster, self.classes = cluster, classes
        self._lists = release.reads_lists
        self._compiled: dict[str, Selector | str] = {}
        self._drivers: dict[_Key, _Driver] = {}

    @cached_property
    def _looks_for_lists(self) -> bool:
        """Say whether a list or an empty attribute makes selectors fail on a device; one look at the whole cluster."""
        cluster = self._cluster
        return cluster.publishes_empty_attributes or (not self._lists and cluster.publishes_lists)

    def selector(self, expression: str) -> Selector:
        """Return a compiled selector; raises CelCompileError and UnsupportedFeature."""
        found = self._selector(expression)
        if isinstance(found, str):
            return compile_selector(expression, list_type_attributes=self._lists)
        return found

    def match(self, ask: Ask, driver: str, device: Device) -> Match:
        """Say whether a device of a driver matches an ask, and if not, where it stopped; raises nothing."""
        return self.matcher(ask, driver)(device)

    def matcher(self, ask: Ask, driver: str) -> Callable[[Device], Match]:
        """Return `match` for the devices of one driver: who asks of many looks the selectors up once."""
        known = self._drivers.get((ask.reference, ask.device_class_name, ask.selectors, driver))
        return (self._driver(ask, driver) if known is None else known).match

    def stage_of_all(self, ask: Ask, driver: str) -> str:
        """Return the stage at which every device of a driver stops, "" where that depends on more than the driver.

        So it is with selectors that read the driver alone, and with those that begin by comparing it with another one:
        `&&` then looks no further.
        """
        answer = self._driver(ask, driver).of_all
        return "" if answer is None or answer.stage in (ERROR, NO_CLASS) else answer.stage

    def keys_read(self, ask: Ask, driver: str) -> frozenset[str] | None:
        """Return the keys of the attributes on which an ask's answer for devices of a driver depends, None for all.

        It may also depend on capacity, on whether the device can be shared, and on whether it publishes a list.
        """
        chain = self._chain(ask.device_class_name, ask.selectors) or ()
        found = [selector.keys_read(driver) for selector, _ in chain if isinstance(selector, Selector)]
        read = [keys for keys in found if keys is not None]
        return frozenset().union(*read) if len(read) == len(found) else None

    def _driver(self, ask: Ask, driver: str) -> _Driver:
        key = (ask.reference, ask.device_class_name, ask.selectors, driver)
        known = self._drivers.get(key)
        if known is None:
            known = self._drivers[key] = self._made(ask, driver)
        return known

    def _made(self, ask: Ask, driver: str) -> _Driver:
        """Leave out of the chain what the driver alone decides; a refusal by it ends the chain."""
        chain = self._chain(ask.device_class_name, ask.selectors)
        if chain is None:
            return _constant(Match(NO_CLASS, error=self._missing_class(ask)))
        found = _constant(_MATCHED)
        for selector, refusal in reversed(chain):
            if isinstance(selector, str):
                found = _constant(Match(ERROR, refusal.expression, f"request {ask.reference!r}: {selector}"))
                continue
            decided = None if self._looks_for_lists else selector.by_driver(driver)
            if decided is False:
                found = _constant(refusal)
            elif decided is None:
                decide = partial(selector.matches, driver) if self._looks_for_lists else selector.decider(driver)
                found = _decided(decide, refusal, found, ask.reference)
        return found

    def problems(self, ask: Ask) -> tuple[CelError, ...]:
        """Return what the API server would refuse of an ask's own selectors (as new ones), in order."""
        found = []
        for expression in ask.selectors:
            try:
                admit_selector(expression, list_type_attributes=self._lists)
            except CelCompileError as error:
                found.append(error)
        return tuple(found)

    def _missing_class(self, ask: Ask) -> str:
        known = ", ".join(sorted(self.classes)) or "none"
        return (
            f"request {ask.reference!r}: DeviceClass {ask.device_class_name!r} is not in the cluster, which has "
            f"{known}; choose one of these or add the class"
        )

    def _chain(self, class_name: str, own: tuple[str, ...]) -> _Chain | None:
        """Return each selector, or why it does not compile, with the answer for a device that it refuses."""
        device_class = self.classes.get(class_name)
        if device_class is None:
            return None
        of_class = [(self._selector(text), Match(CLASS, text)) for text in expressions(device_class.spec.selectors)]
        return (*of_class, *((self._selector(text), Match(SELECTOR, text)) for text in own))

    def _selector(self, expression: str) -> Selector | str:
        found = self._compiled.get(expression)
        if found is None:
            try:
                found = compile_selector(expression, list_type_attributes=self._lists)
            except (CelCompileError, UnsupportedFeature) as error:
                found = error.message
            self._compiled[expression] = found
        return found

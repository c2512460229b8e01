"""Does a device match a request: the selectors of its class first, then its own (`structured/allocator.go`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from dra_lab.cel.selector import Selector, admit_selector, compile_selector, has_lists
from dra_lab.errors import CelCompileError, CelError, CelRuntimeError
from dra_lab.model.claims import expressions
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.release import RELEASES, KubernetesRelease
from dra_lab.model.sketch import Ask

MATCH = "match"
CLASS = "class"
SELECTOR = "selector"
ERROR = "error"
NO_CLASS = "no-class"


@dataclass(frozen=True, slots=True)
class Match:
    """How far a device came.

    `stage` is "match", "class" (a class selector says no), "selector" (one of the request's own says no), "error" (a
    selector does not compile or fails on the device: kube-scheduler gives up the whole pod) or "no-class".
    `expression` is the selector that decided, `error` the message for "error" and "no-class".
    """

    stage: str
    expression: str = ""
    error: str = ""

    def __bool__(self) -> bool:
        """Say whether the device matches."""
        return self.stage == MATCH


_MATCHED = Match(MATCH)
_LISTS = "_publishes_lists"
_Chain = tuple[tuple[Selector | str, Match], ...]


def knows_lists(release: KubernetesRelease) -> bool:
    """Say whether stored selectors see list-typed attributes: with the gate, and always from 1.37 (#139395)."""
    return release.enabled("DRAListTypeAttributes") or RELEASES.index(release.version) >= RELEASES.index("1.37")


def _publishes_lists(cluster: Cluster) -> bool:
    """Say whether any device publishes a list; looked up once for as long as the cluster lives."""
    found: bool | None = cluster.hardware.get(_LISTS)
    if found is None:
        devices = (device for slice_ in cluster.slices for device in slice_.spec.devices or ())
        found = cluster.hardware[_LISTS] = any(map(has_lists, devices))
    return found


class Matching:
    """The selectors of a cluster's classes and of requests, compiled once for a release."""

    def __init__(self, cluster: Cluster, release: KubernetesRelease) -> None:
        """Keep the cluster; nothing is compiled before it is asked for."""
        self._cluster = cluster
        self._lists = knows_lists(release)
        self._compiled: dict[str, Selector | str] = {}
        self._chains: dict[tuple[str, tuple[str, ...]], _Chain | None] = {}
        self._alike: dict[tuple[str, tuple[str, ...], str], str] = {}

    @cached_property
    def _decide(self) -> Callable[[Selector, str, Device], bool]:
        """Return how to ask a selector: the look for lists on every device is made once for the whole cluster."""
        return Selector.decide if self._lists or not _publishes_lists(self._cluster) else Selector.matches

    def selector(self, expression: str) -> Selector:
        """Return a compiled selector; raises CelCompileError."""
        found = self._selector(expression)
        if isinstance(found, str):
            return compile_selector(expression, list_type_attributes=self._lists)
        return found

    def match(self, ask: Ask, driver: str, device: Device) -> Match:
        """Say whether a device of a driver matches an ask, and if not, where it stopped; raises nothing."""
        key = (ask.device_class_name, ask.selectors)
        try:
            chain = self._chains[key]
        except KeyError:
            chain = self._chains[key] = self._chain(*key)
        if chain is None:
            return Match(NO_CLASS, error=self._missing_class(ask))
        decide = self._decide
        for selector, refusal in chain:
            if isinstance(selector, str):
                return Match(ERROR, refusal.expression, f"request {ask.reference!r}: {selector}")
            try:
                if not decide(selector, driver, device):
                    return refusal
            except CelRuntimeError as error:
                return Match(ERROR, selector.expression, f"request {ask.reference!r}: {error.message}")
        return _MATCHED

    def alike(self, ask: Ask, driver: str) -> str:
        """Return the stage at which every device of a driver stops, "" where that depends on more than the driver.

        So it is with selectors that read the driver alone, and with those that begin by comparing it with another one:
        `&&` then looks no further.
        """
        key = (ask.device_class_name, ask.selectors, driver)
        known = self._alike.get(key)
        if known is None:
            known = self._alike[key] = self._stage_of(key[:2], driver)
        return known

    def _stage_of(self, key: tuple[str, tuple[str, ...]], driver: str) -> str:
        if key not in self._chains:
            self._chains[key] = self._chain(*key)
        chain = self._chains[key]
        if chain is None or self._decide is not Selector.decide:
            return ""
        for selector, refusal in chain:
            if isinstance(selector, str):
                return ""
            answer = selector.by_driver(driver)
            if not answer:
                return "" if answer is None else refusal.stage
        return MATCH

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
        known = ", ".join(sorted(self._cluster.class_by_name)) or "none"
        return (
            f"request {ask.reference!r}: DeviceClass {ask.device_class_name!r} is not in the cluster (there are: "
            f"{known}); choose one of these or add the class"
        )

    def _chain(self, class_name: str, own: tuple[str, ...]) -> _Chain | None:
        """Return each selector, or why it does not compile, with the answer for a device that it refuses."""
        device_class = self._cluster.class_by_name.get(class_name)
        if device_class is None:
            return None
        of_class = [(self._selector(text), Match(CLASS, text)) for text in expressions(device_class.spec.selectors)]
        return (*of_class, *((self._selector(text), Match(SELECTOR, text)) for text in own))

    def _selector(self, expression: str) -> Selector | str:
        found = self._compiled.get(expression)
        if found is None:
            try:
                found = compile_selector(expression, list_type_attributes=self._lists)
            except CelCompileError as error:
                found = error.message
            self._compiled[expression] = found
        return found

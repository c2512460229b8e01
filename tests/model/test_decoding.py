"""The door to typed values: no thread sees a type of which msgspec has worked out only a part."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from dra_lab._workarounds import MSGSPEC_TYPES
from dra_lab.model.decoding import decoder, from_builtins, from_json
from dra_lab.model.device import Device
from dra_lab.model.slices import ResourceSlice

# A field's type that is looked up while its class is worked out gives the second thread its turn just then.
_SECOND_THREAD_MEANWHILE = """
from __future__ import annotations
import dataclasses, threading, msgspec
from dra_lab.model import decoding

def slowly():
    if not started:
        started.append(threading.Thread(target=use))
        started[0].start()
        started[0].join({patience})
    return int

{classes}

def use():
    print({use})

started = []
{first}
started[0].join()
"""
_STRUCTS = """
class Inner(msgspec.Struct, frozen=True):
    value: slowly()
class Outer(msgspec.Struct, frozen=True):
    inner: Inner
"""
_DATACLASSES = """
@dataclasses.dataclass(frozen=True)
class Inner:
    value: slowly()
@dataclasses.dataclass(frozen=True)
class Outer:
    inner: Inner
"""
_PLAIN, _JSON = "{'inner': {'value': 1}}", """b'{"inner": {"value": 1}}'"""
_DOORS = [
    f"decoding.from_builtins({_PLAIN}, Outer).inner.value",
    f"decoding.from_json({_JSON}, Outer).inner.value",
    f"decoding.decoder(Outer).decode({_JSON}).inner.value",
    f"decoding.from_builtins([{_PLAIN}], tuple[Outer, ...])[0].inner.value",
]


def errors_of_two_threads(classes: str, first: str, use: str, patience: float = 0.3) -> tuple[int, str]:
    """Return exit status and output of a process: `use` runs in a second thread while `first` works out the types."""
    script = _SECOND_THREAD_MEANWHILE.format(classes=textwrap.dedent(classes), first=first, use=use, patience=patience)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.strip() or done.stderr[-500:]


@pytest.mark.some(3)
@pytest.mark.parametrize("use", _DOORS)
@pytest.mark.parametrize("classes", [_STRUCTS, _DATACLASSES], ids=["struct", "dataclass"])
def test_a_second_thread_waits_until_a_type_is_worked_out(classes, use):
    """While one thread works out a type, another decodes to it: with msgspec's own functions that process crashes."""
    assert errors_of_two_threads(classes, _DOORS[0], use) == (0, "1")


@pytest.mark.parametrize(
    "use",
    [
        "msgspec.json.encode(Outer(Inner(1))).decode()",
        "msgspec.to_builtins(Outer(Inner(1)), builtin_types=())",
        "msgspec.structs.asdict(msgspec.structs.replace(Outer(Inner(1)), inner=Inner(2)))",
    ],
    ids=["encode", "to_builtins", "replace"],
)
def test_writing_needs_no_door(use):
    """Values are encoded and replaced while their type is being worked out: neither looks at what decoding needs."""
    status, said = errors_of_two_threads(_STRUCTS, _DOORS[0], use, patience=10)
    assert (status, "Inner" in said or "inner" in said) == (0, True), said


def test_decoding_waits_for_no_other_type():
    """A known type is decoded while another is being prepared, because decoding does not hold the lock."""
    from_json(b'{"name": "gpu-0"}', Device)
    with MSGSPEC_TYPES, ThreadPoolExecutor(1) as second:
        assert second.submit(from_json, b'{"name": "gpu-1"}', Device).result(timeout=10).name == "gpu-1"


def test_a_type_has_one_decoder():
    """The decoder of a type is made once, however many threads ask."""
    with ThreadPoolExecutor(4) as threads:
        assert len({id(found) for found in threads.map(decoder, [ResourceSlice] * 100)}) == 1


def test_a_type_that_failed_is_tried_again():
    """A type that cannot be decoded to is refused each time, and holds no lock."""
    for _ in range(2):
        with pytest.raises(TypeError, match="more than one dict-like type"):
            decoder(dict[str, int] | Device)  # type: ignore[arg-type]


def test_an_object_may_stand_for_a_dict():
    """With `from_attributes` a value of one class becomes one of another with the same names."""

    class Named(msgspec.Struct):
        name: str

    assert from_builtins(Device(name="gpu-0"), Named, from_attributes=True) == Named("gpu-0")

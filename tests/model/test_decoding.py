"""The door to typed values: no thread sees a type of which msgspec has worked out only a part."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

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

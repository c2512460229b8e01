"""`semver()`, `isSemver()` and the parts of a version (`library/semverlib.go`); comparisons stand with quantities."""

from __future__ import annotations

import re
from typing import Any

from cel_expr_python import cel

from dra_lab.cel.functions.declare import SCALARS, Declarations
from dra_lab.cel.values import SEMVER, kind_of, semver
from dra_lab.errors import SemverError
from dra_lab.model.quantity import semver_key

_T = cel.Type
_LOOSE = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?([-+].*)?\Z", re.DOTALL | re.ASCII)


def _normalized(text: str) -> str:
    match = _LOOSE.match(text)
    if match is None:
        return text
    return ".".join(str(int(part or 0)) for part in match.groups()[:3]) + (match[4] or "")


def _parse(text: str, normalize: bool = False) -> Any:  # noqa: FBT001, FBT002 - the engine passes by position
    return semver(_normalized(text) if normalize else text)


def _is_semver(text: str, normalize: bool = False) -> bool:  # noqa: FBT001, FBT002 - as above
    try:
        _parse(text, normalize)
    except SemverError:
        return False
    return True


def _part(value: Any, index: int) -> int:
    if kind_of(value) != "Semver":
        raise ValueError(f"no such overload: {kind_of(value)} is not a semantic version")
    numbers = semver_key(value.text)[:3]
    return numbers[index]


def _comparable(value: Any) -> Any:
    if kind_of(value) == "Semver":
        raise ValueError('no such overload: a version is compared with semver("..."), not with another type')
    return value


def declare(into: Declarations) -> None:
    """Add the library."""
    into.add("semver", SEMVER, [_T.STRING], _parse)
    into.add("semver", SEMVER, [_T.STRING, _T.BOOL], _parse)
    into.add("isSemver", _T.BOOL, [_T.STRING], _is_semver)
    into.add("isSemver", _T.BOOL, [_T.STRING, _T.BOOL], _is_semver)
    for kind in (*SCALARS, SEMVER, _T.List(_T.DYN)):
        into.add("@comparable", kind, [kind], _comparable)
    into.add("major", _T.INT, [SEMVER], lambda v: _part(v, 0), member=True)
    into.add("minor", _T.INT, [SEMVER], lambda v: _part(v, 1), member=True)
    into.add("patch", _T.INT, [SEMVER], lambda v: _part(v, 2), member=True)

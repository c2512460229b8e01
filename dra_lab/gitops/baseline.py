"""Manifests as they are at a git revision, under the names that the present files have."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct

from dra_lab.errors import InputError, ManifestError, SourceError
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.gitops.folder import MAX_FILE_BYTES, MAX_FILES, Manifests, is_manifest_file, manifests_of
from dra_lab.manifests.file_text import STANDARD_INPUT, expanded, utf8_text

_SECONDS = 60
MAX_BYTES = 256 * 2**20
"""Bytes of all manifests of a revision."""


class Baseline(Struct, frozen=True):
    """A revision as it was given, its commit, and the manifests in it."""

    revision: str
    commit: str
    manifests: Manifests

    @property
    def words(self) -> str:
        """Return the revision with the start of its commit."""
        return f"{self.revision} ({self.commit[:10]})"


def read_baseline(revision: str, paths: Iterable[str | Path]) -> Baseline:
    """Return what files and folders held at a revision of the git repository that they are in.

    Nothing is fetched. A path that the revision does not have holds nothing. Raises InputError for standard input, a
    path outside a repository or an unknown revision, and SourceError if git cannot be run.
    """
    findings: list[Finding] = []
    named: dict[str, str] = {}
    commit = ""
    for path in paths:
        if str(path) in ("-", STANDARD_INPUT):
            raise InputError(
                "--baseline compares files in git, so it cannot read standard input; give files or folders"
            )
        place = expanded(path)
        root = _root(place)
        commit = _commit(root, revision)
        for name, text in _texts(root, commit, place, findings):
            named.setdefault(name, text)
    return Baseline(revision, commit, manifests_of(named.items(), findings))


def _root(path: Path) -> Path:
    folder = path if path.is_dir() else path.parent
    try:
        return Path(os.fsdecode(_git(folder, "rev-parse", "--show-toplevel")).rstrip("\n"))
    except _GitError as error:
        raise InputError(f"--baseline needs a git repository around {str(path)!r}: {error}") from None


def _commit(root: Path, revision: str) -> str:
    try:
        return (
            _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
            .decode()
            .strip()
        )
    except _GitError:
        advice = (
            "run git fetch to get a branch of a remote (a shallow clone in CI lacks it), or git log to list commits"
        )
        raise InputError(f"there is no revision {revision!r} in {str(root)!r}; {advice}") from None


def _texts(root: Path, commit: str, path: Path, findings: list[Finding]) -> Iterator[tuple[str, str]]:
    """Yield the files of a path at a commit, by the names that `folder.read_manifests` gives them."""
    inside = PurePosixPath(path.resolve().relative_to(root.resolve()).as_posix())
    whole = str(inside) == "."
    listed = _git(root, "ls-tree", "-r", "-l", "-z", "--full-tree", commit, "--", *([] if whole else [str(inside)]))
    blobs: dict[str, str] = {}
    total = 0
    for row in filter(None, listed.split(b"\0")):
        head, _, file = row.partition(b"\t")
        mode, kind, digest, size = head.decode().split()
        below = PurePosixPath(os.fsdecode(file))
        rest = below if whole else below.relative_to(inside)
        if kind == "blob" and mode != "120000" and (below == inside or is_manifest_file(rest)):
            blobs[str(path if below == inside else path / rest)] = digest
            total += int(size)
    if len(blobs) > MAX_FILES:
        raise SourceError(f"{str(path)!r} contains {len(blobs):,} files at {commit[:10]}; the limit is {MAX_FILES:,}")
    # of a repository, a few bytes may be a gigabyte
    if total > MAX_BYTES:
        what = f"its manifests have {total:,} bytes at {commit[:10]}; the limit is {MAX_BYTES:,}"
        raise SourceError(f"{str(path)!r} cannot be compared: {what}")
    for name, data in zip(blobs, _blobs(root, [*blobs.values()]), strict=True):
        try:
            if len(data) > MAX_FILE_BYTES:
                raise ManifestError(f"the file is larger than {MAX_FILE_BYTES // 2**20} MiB")
            yield name, utf8_text(data, name)
        except ManifestError as error:
            advice = "dra-lab does not compare it."
            findings.append(
                Finding("file-broken", Severity.ERROR, Path(name).name, error.message, advice, Origin(name))
            )


def _blobs(root: Path, digests: Sequence[str]) -> Iterator[bytes]:
    out = _git(root, "cat-file", "--batch", given="\n".join(digests).encode() + b"\n") if digests else b""
    at = 0
    for _ in digests:
        end = out.index(b"\n", at)
        size = int(out[at:end].split()[-1])
        yield out[end + 1 : end + 1 + size]
        at = end + 2 + size


class _GitError(Exception):
    """What git says that it cannot do."""


def _git(folder: Path, *words: str, given: bytes = b"") -> bytes:
    """Return what a git command prints. It neither asks nor fetches."""
    quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    command = ["git", "-C", str(folder), *words]
    try:
        done = subprocess.run(  # noqa: S603  a fixed command, and a revision that cannot be an option
            command, input=given, capture_output=True, check=False, timeout=_SECONDS, env=os.environ | quiet
        )
    except FileNotFoundError:
        raise SourceError("git is not installed, and --baseline needs it to read a revision") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SourceError(f"git did not answer: {error}") from None
    if done.returncode:
        raise _GitError(done.stderr.decode(errors="replace").strip().removeprefix("fatal: ") or "git failed")
    return done.stdout

"""Two reviews of the same files, now and at a git revision: what is new, what is gone, what became of each claim."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import Struct

from dra_lab.errors import InputError, ManifestError, SourceError
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.gitops.folder import MAX_FILE_BYTES, Manifests, manifests_of
from dra_lab.gitops.report import Report, heading, markdown, review_json, review_sarif
from dra_lab.gitops.review import OUTCOME_WORDS, FitState, Review, Reviewed
from dra_lab.manifests.file_text import MAX_FILES, STANDARD_INPUT, expanded, is_manifest_file, utf8_text
from dra_lab.model.cluster import Cluster
from dra_lab.words.document import Detail, Lines, Part, Sentence, Table, Words, marked_up
from dra_lab.words.facts import counted, goal_number, goal_words, proof_words, telling
from dra_lab.words.plan_json import finding_value, plain_value

_RANK = {FitState.FITS: 0, FitState.NOT_DECIDED: 1, FitState.NOT_CHECKED: 1, FitState.DOES_NOT_FIT: 2}


def _order(one: Reviewed, *, same_claim: bool) -> tuple[int, tuple[int, ...], int]:
    """Return what makes one state worse than another: the outcome, and of the same claim its goals and number."""
    if not same_claim:
        return _RANK[one.fit], (), 0
    goals = tuple(goal.value for goal in one.plan.goals) if one.plan is not None and one.plan.fits else ()
    return _RANK[one.fit], goals, -(one.times or 0)


class Change(Struct, frozen=True):
    """A workload or claim before and after; None where it is not there."""

    subject: str
    before: Reviewed | None
    after: Reviewed | None

    @property
    def word(self) -> str:
        """Return what became of it: new, removed, worse, better, changed, or "" for the same."""
        if self.before is None or self.after is None:
            return "new" if self.before is None else "removed"
        drawn = [None if one.plan is None else one.plan.sketch for one in (self.before, self.after)]
        same = drawn[0] == drawn[1]
        before, after = (_order(one, same_claim=same) for one in (self.before, self.after))
        if before != after:
            return "worse" if after > before else "better"
        devices = [None if one.plan is None else one.plan.placements for one in (self.before, self.after)]
        return "" if same and devices[0] == devices[1] else "changed"

    @property
    def newly_open(self) -> FitState:
        """Return the outcome if it is worse than before, else that it fits: what was so before is not new."""
        if self.after is None or (self.before is not None and _RANK[self.before.fit] >= _RANK[self.after.fit]):
            return FitState.FITS
        return self.after.fit


class Comparison(Struct, frozen=True):
    """What changed since a revision: `new` and `gone` findings, and every workload and claim of both sides."""

    since: str
    review: Review
    changes: tuple[Change, ...]
    new: tuple[Finding, ...]
    gone: tuple[Finding, ...]

    @property
    def outcome(self) -> FitState:
        """Return the outcome of what is new: an error or a claim that fitted before decides, then one left open."""
        found = {change.newly_open for change in self.changes}
        if any(f.severity is Severity.ERROR for f in self.new):
            found.add(FitState.DOES_NOT_FIT)
        return max(found, key=_RANK.__getitem__, default=FitState.FITS)

    @property
    def new_only(self) -> Review:
        """Return the review without the findings and failing objects that were there before."""
        worse = {change.subject for change in self.changes if change.newly_open is not FitState.FITS}
        objects = tuple(o for o in self.review.objects if o.fit is FitState.FITS or o.subject in worse)
        reviewed = tuple(r for r in self.review.reviewed if r.fit is FitState.FITS or r.subject in worse)
        return replace(self.review, findings=self.new, objects=objects, reviewed=reviewed)


def compare_reviews(before: Review, after: Review, since: str) -> Comparison:
    """Return what changed from one review to another. Files that were renamed are the same if their objects are."""
    left, right = dict(states(before)), dict(states(after))
    subjects = dict.fromkeys((*right, *left))
    changes = (Change(key[0], left.get(key), right.get(key)) for key in subjects)
    telling = tuple(change for change in changes if any(one and one.sentence for one in (change.before, change.after)))
    new, gone = _left(after.findings, before.findings), _left(before.findings, after.findings)
    return Comparison(since, after, telling, new, gone)


def _left(findings: Sequence[Finding], others: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings that the others lack; a line that moved is the same finding."""
    known = Counter(map(_key, others))
    found = []
    for finding in findings:
        key = _key(finding)
        if known[key]:
            known[key] -= 1
        else:
            found.append(finding)
    return tuple(found)


def _key(finding: Finding) -> tuple[str, ...]:
    origin = finding.origin
    return finding.rule, finding.severity, finding.subject, finding.message, origin.object if origin else ""


def states(review: Review) -> Iterator[tuple[tuple[str, int], Reviewed]]:
    """Yield the workloads and claims with an answer, then the other objects; equal names are numbered."""
    seen: Counter[str] = Counter()
    sentences = {item.sentence for item in review.reviewed}
    names = {item.subject for item in review.reviewed} | {item.origin.object for item in review.reviewed}
    others = (o for o in review.objects if o.subject not in names and o.sentence not in sentences)
    for row in (*review.reviewed, *others):
        seen[row.subject] += 1
        yield (row.subject, seen[row.subject]), row


_WORDS = ("new", "removed", "worse", "better", "changed")

MOST_PICTURES = 20
"""Pictures beside a summary: those of the first changes."""


def changes_report(comparison: Comparison) -> Report:
    """Return the report of what changed; code scanning gets the findings that are new."""
    return Report(
        comparison.outcome.value,
        partial(changes_parts, comparison),
        partial(changes_json, comparison),
        lambda: review_sarif(comparison.new_only),
        partial(changes_markdown, comparison),
    )


def changes_parts(comparison: Comparison, detail: Detail = "short") -> Iterator[Part]:
    """Yield what changed: the sentence, a row for each workload or claim before and after, and the findings."""
    yield Sentence(_sentence(comparison))
    if detail == "answer":
        return
    yield Words(heading(comparison.review))
    rows = [_row(change) for change in comparison.changes if change.word or detail == "all"]
    yield Table(("claim", "change", "fits", "node", "paired", "goals"), rows, "Before → after")
    for change in comparison.changes:
        if change.newly_open is not FitState.FITS and change.after is not None:
            yield Lines(f"{change.subject}: {OUTCOME_WORDS[change.after.fit]}", [change.after.sentence])
    yield Lines("New findings", [str(finding) for finding in comparison.new])
    yield Lines("Findings that are gone", [str(finding) for finding in comparison.gone])


def changes_markdown(comparison: Comparison, pictures: Mapping[str, tuple[str, ...]] | None = None) -> str:
    """Return the summary for a pull request; `pictures` are the names of files by claim, for links to them."""
    text = markdown(changes_parts(comparison))
    for subject, names in (pictures or {}).items():
        sides = ((name.removesuffix(".svg").rpartition("-")[2], name) for name in names)
        links = " ".join(f"![{marked_up(subject)} {side}]({name})" for side, name in sides)
        text += f"\n{marked_up(subject)}:\n\n{links}\n"
    return text


def changes_json(comparison: Comparison) -> dict[str, Any]:
    """Return the review without what was so before, and what changed since the revision."""
    outcome = comparison.outcome
    value = review_json(comparison.new_only)
    value |= {"outcome": outcome.value, "valid": outcome is FitState.FITS}
    changes = [
        {"object": one.subject, "change": one.word, "before": _state(one.before), "after": _state(one.after)}
        for one in comparison.changes
    ]
    gone = [finding_value(finding) for finding in comparison.gone]
    return value | {"baseline": {"since": comparison.since, "changes": changes, "gone": gone}}


def changes_pictures(comparison: Comparison, cluster: Cluster) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """Return pictures of what changed as SVG by file name, and the names by claim, before and then after."""
    from dra_lab.pictures.hardware import hardware_svg

    texts: dict[str, str] = {}
    names: dict[str, tuple[str, ...]] = {}
    for change in comparison.changes:
        if not change.word or len(texts) >= MOST_PICTURES or change.subject in names:
            continue
        stem = re.sub(r"[^A-Za-z0-9.]+", "-", change.subject).strip("-.") or "claim"
        for side, state in (("before", change.before), ("after", change.after)):
            plan = state.plan if state is not None else None
            if plan is not None and plan.fits and plan.node in cluster.node_by_name:
                name = f"{stem}-{side}.svg"
                texts[name] = hardware_svg(cluster, plan.node, plan=plan)
                names[change.subject] = (*names.get(change.subject, ()), name)
    return texts, names


def _sentence(comparison: Comparison) -> str:
    words = Counter(change.word for change in comparison.changes)
    shown = ", ".join(f"{words[word]} {word}" for word in _WORDS if words[word])
    counts = f"{counted(len(comparison.changes), 'claim')}: {shown or 'none changed'}"
    new, gone = counted(len(comparison.new), "new finding"), f"{len(comparison.gone)} gone"
    verdict = {
        FitState.FITS: "No new failure",
        FitState.DOES_NOT_FIT: "New failures",
    }.get(comparison.outcome, "Not everything new is checked,")
    return f"{verdict} since {comparison.since}. {counts}; {new}, {gone}."


def _row(change: Change) -> tuple[str, ...]:
    """Return the cells of a change: a value that did not change once, else both; a side without one is a dash."""
    pairs = zip(_cells(change.before), _cells(change.after), strict=True)
    cells = (before if before == after else f"{before or '–'} → {after or '–'}" for before, after in pairs)
    return change.subject, change.word or "same", *cells


def _cells(state: Reviewed | None) -> tuple[str, str, str, str]:
    if state is None:
        return "", "", "", ""
    fits, plan = fit_words(state), state.plan
    if plan is None or not plan.fits:
        return fits, "", "", ""
    goals = [*telling(plan.goals)]
    paired = next((goal_number(goal)[0] for goal in goals if goal.goal == "unpaired"), "")
    others = [goal_words(goal) for goal in goals if goal.goal != "unpaired"]
    return fits, plan.node, paired, ", ".join((*others, proof_words(plan)))


def fit_words(state: Reviewed) -> str:
    """Return how often a workload or claim fits and on how many nodes, or its outcome."""
    if state.fit is not FitState.FITS or state.times is None:
        return OUTCOME_WORDS[state.fit]
    return f"{'at least ' if state.capped else ''}{counted(state.times, 'time')} on {counted(len(state.nodes), 'node')}"


def _state(state: Reviewed | None) -> dict[str, Any] | None:
    if state is None:
        return None
    plan = state.plan
    return {
        "outcome": state.fit.value,
        "sentence": state.sentence,
        "times": state.times,
        "node": "" if plan is None else plan.node,
        "goals": [] if plan is None else [plain_value(goal) for goal in plan.goals],
    }


# --------------------------------------------------------------------- manifests at a git revision

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

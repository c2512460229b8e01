"""`dra-lab capture`: a cluster as one folder or archive that every command reads."""

from __future__ import annotations

import argparse
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dra_lab.cli.options import add_cluster, cluster_of, print_answer
from dra_lab.cli.output import add_output
from dra_lab.errors import InputError

if TYPE_CHECKING:
    from dra_lab.findings import Finding
    from dra_lab.model.cluster import Cluster
    from dra_lab.sources.snapshots import Snapshot

_OTHER_FILES = frozenset((".zip", ".tar", ".gz", ".bz2", ".xz", ".zst", ".7z", ".json", ".yaml", ".yml"))
"""Endings of files; a folder of such a name is not what was meant. `.tgz` and `.tar.gz` are written."""


EXAMPLES = (
    "dra-lab capture sample:eks-p4d cluster.tar.gz",
    "dra-lab capture cluster/ shared.tar.gz --anonymise",
    "dra-lab capture cluster/ shared/ --anonymise --mapping names.json",
)


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_cluster(parser)
    parser.add_argument("out", metavar="OUT", type=Path, help="a folder, or a file ending in .tar.gz or .tgz")
    parser.add_argument(
        "--anonymise", action="store_true", help="replace names and identifiers, and list what was replaced"
    )
    parser.add_argument(
        "--mapping",
        type=Path,
        metavar="FILE",
        help="with --anonymise: write the original and new names to a file for yourself",
    )
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    """Read the cluster, write the snapshot, print where it is and what went into it."""
    from dra_lab.sources.snapshots import make_snapshot, write_snapshot

    _check(options)
    cluster = cluster_of(options)
    if options.anonymise:
        return _anonymous(cluster, options)
    snapshot = make_snapshot(cluster)
    write_snapshot(snapshot, options.out)
    return _print(options, snapshot, cluster.findings)


def _anonymous(cluster: Cluster, options: argparse.Namespace) -> int:
    from dra_lab.sources.anonymise import anonymise, changed_selectors, mapping_text
    from dra_lab.sources.drawing_files import write_whole
    from dra_lab.sources.snapshots import make_snapshot, write_snapshot

    hidden = anonymise(cluster)
    changed = changed_selectors(cluster, hidden.cluster)
    written = replace(hidden.cluster, findings=(*cluster.findings, *changed))
    snapshot = make_snapshot(written, replaced=hidden.counts, left_out=hidden.left_out)
    if options.mapping:
        _try_writing(options.mapping)
    write_snapshot(snapshot, options.out)
    if options.mapping:
        write_whole(options.mapping, mapping_text(hidden), private=True)
    return _print(options, snapshot, (*cluster.findings, *changed))


def _try_writing(mapping: Path) -> None:
    """Raise InputError where the mapping could not be written: a snapshot without it would have lost who is who."""
    try:
        mapping.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=mapping.parent):
            pass
        if mapping.is_dir():
            raise IsADirectoryError(21, "it is a folder")
    except OSError as error:
        raise InputError(
            f"--mapping {str(mapping)!r} cannot be written: {error.strerror or error}; nothing is written"
        ) from None


def _check(options: argparse.Namespace) -> None:
    """Raise InputError for an archive of another kind, for --mapping without --anonymise, or for one inside OUT."""
    if options.out.suffix.lower() in _OTHER_FILES and not options.out.name.lower().endswith(".tar.gz"):
        raise InputError(f"'{options.out}': give a folder, or a file ending in .tar.gz or .tgz")
    if not options.mapping:
        return
    if not options.anonymise:
        raise InputError("--mapping needs --anonymise, because nothing is replaced without it")
    out, mapping = options.out.absolute(), options.mapping.absolute()
    if mapping == out or out in mapping.parents:
        raise InputError(f"--mapping {options.mapping} would become part of the snapshot; put it outside {options.out}")


def _print(options: argparse.Namespace, snapshot: Snapshot, findings: Sequence[Finding]) -> int:
    from dra_lab.words.document import Lines, Sentence, Words
    from dra_lab.words.plan_json import answer_json

    info, mapping = snapshot.info, str(options.mapping or "")
    counts: dict[str, Any] = {"counts": info.counts, "leftOut": info.left_out, "replaced": info.replaced}
    answer = answer_json("Snapshot", "fits", findings, path=str(options.out), mapping=mapping, **counts)
    first = Sentence(f"Captured {_counted(info.counts)} to {options.out}.")
    changes = {"Left out": info.left_out, "Replaced": info.replaced}
    lines = [f"{word}: {_counted(counts)}" for word, counts in changes.items() if any(counts.values())]
    if mapping:
        lines.append(f"Original and new names: {mapping} (do not share it)")
    more = Words(f"Plan on it: dra-lab plan {shlex.quote(str(options.out))} --claim FILE")
    parts = (first, Lines("What differs from the cluster", lines), more)
    return print_answer(options, lambda: answer, parts, findings)


_NAMES = {
    "uid": "UID",
    "label": "label key",
    "slice": "name of ResourceSlices",
    "number": "number",
    "value": "value of attributes and labels",
    "added": "build of versions",
    "condition": "type of conditions",
    "part": "literal of selectors",
    "config": "device configuration",
    "labels": "label",
    "annotations": "annotation",
    "status.devices": "device status",
}
"""The words for what a snapshot leaves out or replaces; other kinds are names of objects."""


def _counted(counts: Mapping[str, int]) -> str:
    from dra_lab.words.drawing_words import Noun

    nouns = {what: _NAMES.get(what) or (what if what[0].isupper() else f"{what} name") for what in counts}
    return ", ".join(Noun(nouns[what], "").many(count) for what, count in counts.items() if count) or "nothing"

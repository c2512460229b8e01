"""`dra-lab capture`: a cluster as one folder or archive that every command reads."""

from __future__ import annotations

import argparse
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dra_lab.cli.exit_status import FITS
from dra_lab.cli.options import add_cluster, cluster_of
from dra_lab.cli.output import add_output, print_findings, print_json, print_parts
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
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read the cluster, write the snapshot, print where it is and what went into it."""
    from dra_lab.sources.snapshots import make_snapshot, write_snapshot

    _check(options)
    cluster = cluster_of(options)
    if options.anonymise:
        return _anonymous(cluster, options)
    snapshot = make_snapshot(cluster)
    write_snapshot(snapshot, options.out)
    _tell(options, snapshot, cluster.findings)
    return FITS


def _anonymous(cluster: Cluster, options: argparse.Namespace) -> int:
    from dra_lab.sources.anonymise import anonymise, mapping_text
    from dra_lab.sources.anonymise_check import changed_selectors
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
    _tell(options, snapshot, (*cluster.findings, *changed))
    return FITS


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


def _tell(options: argparse.Namespace, snapshot: Snapshot, findings: Sequence[Finding]) -> None:
    """Print what was captured and where it is, or all of it as JSON."""
    from dra_lab.words.answer_json import answer_json
    from dra_lab.words.document import Lines, Sentence, Words

    info, mapping = snapshot.info, str(options.mapping or "")
    if options.format == "json":
        counts: dict[str, Any] = {"counts": info.counts, "leftOut": info.left_out, "replaced": info.replaced}
        print_json(answer_json("Snapshot", "fits", findings, path=str(options.out), mapping=mapping, **counts))
        return
    print_findings(options, findings)
    first = Sentence(f"Captured {_counted(info.counts)} to {options.out}.")
    told = {"Left out": info.left_out, "Replaced": info.replaced}
    lines = [f"{word}: {_counted(counts)}" for word, counts in told.items() if any(counts.values())]
    if mapping:
        lines.append(f"Original and new names: {mapping} (do not share it)")
    more = Words(f"Plan on it: dra-lab plan {shlex.quote(str(options.out))} --claim FILE")
    print_parts([first] if options.detail == "answer" else [first, Lines("What changed", lines), more])


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {_plural(what, count)}" for what, count in counts.items() if count) or "nothing"


def _plural(what: str, count: int) -> str:
    """Return the name of a kind in the plural; words that are no kind are plural already."""
    return what if count == 1 or not what[0].isupper() else f"{what}{'es' if what.endswith('s') else 's'}"

"""The extra files of an export: one table for the command line, the Export sheet and Python."""

from __future__ import annotations

import pytest

from dra_lab import KubernetesRelease, Session, Wanted, load_cluster, read_sketch
from dra_lab.cli.main import main
from dra_lab.errors import InputError
from dra_lab.exports.bundle import make_bundle
from dra_lab.exports.extra_files import EXTRA_FILES
from dra_lab.sketch.manifest_target import Target
from dra_lab.widgets.export_sheet import export_row


def test_files_that_are_not_in_the_table_are_refused():
    """The message has the names that there are."""
    cluster, sketch = load_cluster("sample:two-sockets"), read_sketch("sample:two-sockets/lesson")
    with pytest.raises(InputError, match="no extra files 'picture'; use report"):
        make_bundle(sketch, cluster, Target(KubernetesRelease("1.36")), Wanted(extra=("picture",)))


def test_every_row_is_an_option_and_a_choice_of_the_sheet(capsys):
    """Neither the command nor the sheet has a list of its own."""
    with pytest.raises(SystemExit):
        main(["export", "--help"])
    said = capsys.readouterr().out
    options = [f"--{name}" in said for name in EXTRA_FILES]
    session = Session("sample:two-sockets")
    shown = [row.name for row in export_row(session).extras]
    session.close()
    assert (options, shown) == ([True] * len(EXTRA_FILES), list(EXTRA_FILES))

"""`dra-lab help`: what several commands share is explained once."""

from __future__ import annotations

import pytest

from dra_lab.cli import main


def test_help_clusters_names_every_form_of_a_cluster(capsys):
    """The topic has each form that a command reads."""
    status, text = main(["help", "clusters"]), capsys.readouterr().out
    forms = (
        "sample:NAME",
        "context:NAME",
        "FOLDER",
        "  - ",
        "--topology FILE --nodes 8 --driver D",
        "-A -o json",
    )
    assert (status, [form for form in forms if form not in text]) == (0, [])


@pytest.mark.parametrize("command", ["plan", "draw", "export", "check", "capture", "migrate"])
def test_the_help_of_a_command_points_to_the_topic(command, capsys):
    """A command's help names the topic and does not repeat it."""
    with pytest.raises(SystemExit):
        main([command, "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert ("dra-lab help clusters" in text, "lstopo" in text) == (True, False)


def test_a_mistyped_rule_has_one_way_out(capsys):
    """The nearest rule is named, or else the list of topics."""
    main(["help", "selector-matches-nothin"])
    error = capsys.readouterr().err
    assert ("did you mean 'selector-matches-nothing'" in error, "?;" in error) == (True, False)

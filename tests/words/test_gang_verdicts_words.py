"""Three verdicts of a gang as text, HTML, JSON and a table."""

from __future__ import annotations

import pytest

from dra_lab.model.gang_verdicts import (
    COUNTS,
    DEVICES,
    QUOTA,
    DomainVerdict,
    GangVerdicts,
    QuotaAmount,
    QuotaAnswers,
    Says,
    VerdictRow,
)
from dra_lab.words import workload_words as words
from dra_lab.words.shown import in_html, in_words

HOSTILE = "<b>\x1b[31mx\u202e"


def verdicts(quota=Says.YES, counts=Says.YES, devices=Says.YES, name="train", **fields):
    """Verdicts with these answers."""
    amounts = (QuotaAmount("memory", "h100", 4 * 2**30, 2**30, 2**33, 2**29),)
    rows = QuotaAnswers(VerdictRow(QUOTA, quota, f"Quota of {name}.", (f"Note of {name}.",)), name, "cq", amounts)
    found = {
        "domains": (DomainVerdict((name, "r1"), 8, 8, 6, 7, (f"lacks {name}",)),),
        "chosen": (name, "r1"),
        **fields,
    }
    return GangVerdicts(
        name, rows, VerdictRow(COUNTS, counts, "Counted."), VerdictRow(DEVICES, devices, "Free."), **found
    )


SENTENCES = {
    (Says.YES, Says.YES, Says.YES): "Neither quota nor devices stop train now. Kueue chooses nodes without counting "
    "devices, so pin the planned domain.",
    (Says.WAITS, Says.YES, Says.YES): "train waits for quota. Quota of train.",
    (Says.NEVER, Says.YES, Says.YES): "Quota stops train. Quota of train.",
    (Says.INADMISSIBLE, Says.YES, Says.YES): "Kueue refuses train. Quota of train.",
    (Says.YES, Says.NO, Says.YES): "Kueue's counts stop train. Counted.",
    (Says.YES, Says.UNKNOWN, Says.NO): "Devices stop train. Free.",
    (Says.NEVER, Says.YES, Says.NO): "Quota and devices stop train.",
    (Says.UNKNOWN, Says.UNKNOWN, Says.YES): "Nothing that is known stops train. Not known: quota, Kueue's counts.",
}


@pytest.mark.parametrize("says", SENTENCES)
def test_the_first_sentence_says_what_stops_the_gang(says):
    """One question with its reason, or all that stop it."""
    assert words.verdict_sentence(verdicts(*says)) == SENTENCES[says]


def test_a_choice_without_devices_is_in_the_first_sentence():
    """Otherwise it would read as if the gang could start."""
    found = verdicts(advice="Pin it.")
    assert words.verdict_sentence(found) == "train has devices, but Kueue may choose another domain. Pin it."


def test_hostile_names_reach_neither_html_nor_a_terminal():
    """Names come from a cluster."""
    found = verdicts(name=HOSTILE)
    html, text = in_html(found), in_words(found)
    assert "<b>" not in html.replace("</b>", "")
    assert not {"\x1b", "\u202e"} & {*html, *text}

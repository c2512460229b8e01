"""Multiples of a claim."""

from __future__ import annotations

import pytest

from dra_lab import multiple, read_sketch
from dra_lab.errors import InputError


def test_a_request_that_a_claim_does_not_have_is_refused():
    """The message names those that it has."""
    with pytest.raises(InputError, match="no request 'gpus' to scale; requests: gpu"):
        multiple(read_sketch("sample:two-sockets/lesson"), 2, ["gpus"])

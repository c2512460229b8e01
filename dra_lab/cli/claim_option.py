"""--claim with the options that stand after it and are about that claim."""

from __future__ import annotations

import argparse
from typing import Any

from dra_lab.cli.completion import complete_with, drawing_words
from dra_lab.cli.options import CLAIM_HELP, ClaimOptions, whole

MOST_REPLICAS = 1_000_000


class AddClaim(argparse.Action):
    """Keep every claim with its number of replicas; `claim` stays the first, for plans of one claim."""

    def __call__(
        self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None
    ) -> None:
        """Take a --claim."""
        del parser, option_string
        namespace.claims = [*(getattr(namespace, "claims", None) or []), ClaimOptions(values)]
        namespace.claim = namespace.claims[0].claim


class OfClaim(argparse.Action):
    """Keep an option of the claim before it, once for each claim."""

    def __call__(
        self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None
    ) -> None:
        """Take an option. Ends the command if it has no claim before it, or if it is there twice."""
        claims = list(getattr(namespace, "claims", None) or [])
        if not claims or claims[-1]._asdict()[self.dest] is not None:
            parser.error(f"write {option_string} {self.metavar} after the --claim that it is for, once for each")
        least = int(self.dest == "gang")
        if isinstance(values, int) and not least <= values <= MOST_REPLICAS:
            parser.error(f"{option_string} {values}: give a number from {least} to {MOST_REPLICAS}")
        claims[-1] = claims[-1]._replace(**{self.dest: values})
        namespace.claims = claims


def add_one_claim(parser: argparse.ArgumentParser) -> None:
    """Declare --claim for commands about one claim, after which the options of a gang may stand."""
    text = f"default: every pending pod of the cluster; {CLAIM_HELP}"
    claim = parser.add_argument("--claim", action=AddClaim, metavar="FILE", help=text)
    complete_with(claim, drawing_words)
    text = "with --gang: number of such gangs (default: 1)"
    parser.add_argument("--replicas", type=whole, action=OfClaim, metavar="N", help=text)

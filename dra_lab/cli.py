"""The command line: what the notebook does, without a browser. Results on standard output, findings on standard error.

Exit status 0 = fits or valid, 1 = does not fit or invalid, 2 = could not be answered.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dra_lab.errors import DraLabError
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.release import RELEASES

FITS, NOT, UNANSWERED = 0, 1, 2
CLUSTER_HELP = "sample:NAME, a file or folder of kubectl's JSON or YAML, or - for standard input"
CLAIM_HELP = "a drawing (*.dralab.yaml), a ResourceClaim or ResourceClaimTemplate, or sample:NAME/EXAMPLE"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status; an error of ours becomes one line and status 2."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] == "lab":
        return _lab(arguments[1:])
    options = _parser().parse_args(arguments)
    try:
        status: int = options.run(options)
    except DraLabError as error:
        print(f"error: {error}", file=sys.stderr)
        return UNANSWERED
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return UNANSWERED
    except BrokenPipeError:
        sys.stderr.close()
        return UNANSWERED
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dra-lab",
        description="A planning desk for Kubernetes Dynamic Resource Allocation. "
        "Without a command, or with `lab`, it opens JupyterLab on the planner; further words go to JupyterLab.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    commands.add_parser("lab", help="open JupyterLab on the planner notebook (the default)")
    samples = commands.add_parser("samples", help="list the shipped sample clusters")
    samples.set_defaults(run=_samples)
    plan = commands.add_parser("plan", help="find the best allocation of a claim on a cluster, or the reason why not")
    _claim_options(plan)
    plan.add_argument("--time-limit", type=float, metavar="S", help="seconds after which the best so far is given")
    plan.add_argument("--format", choices=("text", "json"), default="text")
    plan.add_argument("--output", type=Path, metavar="DIR", help="write the manifests to this folder as well")
    plan.set_defaults(run=_plan)
    draw = commands.add_parser("draw", help="draw the hardware of a node, with a claim's plan on it")
    _claim_options(draw, required=False)
    draw.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="FILE.svg or FILE.html")
    draw.set_defaults(run=_draw)
    export = commands.add_parser("export", help="write the ResourceClaimTemplate and a pod that uses it")
    _claim_options(export)
    export.add_argument("-o", "--output", type=Path, required=True, metavar="DIR")
    export.add_argument("--api-version", choices=("v1",), default="v1", help="of resource.k8s.io")
    export.add_argument("--overwrite", action="store_true", help="also over files that a person changed")
    export.set_defaults(run=_export)
    replay = commands.add_parser(
        "replay", help="answer recorded cases of Kubernetes, so that anybody can check our claims"
    )
    replay.add_argument(
        "cases", metavar="CASES", type=Path, help="a file of NDJSON, plain or .gz, or - for standard input"
    )
    replay.set_defaults(run=_replay)
    return parser


def _claim_options(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    parser.add_argument("cluster", metavar="CLUSTER", help=CLUSTER_HELP)
    parser.add_argument("--claim", required=required, metavar="FILE", help=CLAIM_HELP)
    parser.add_argument("--node", default="", metavar="NAME", help="plan on this node only")
    parser.add_argument("--release", choices=RELEASES, default="", help="default: the lowest kubelet version read")


def _lab(arguments: list[str]) -> int:
    from dra_lab.jupyter_launch import open_lab

    return open_lab(arguments, Path.cwd())


def _samples(options: argparse.Namespace) -> int:
    del options
    from dra_lab.sources import samples

    for sample in samples():
        print(f"sample:{sample.name:<16} {sample.teaches}")
        for example in sample.examples:
            print(f"  --claim sample:{sample.name}/{example}")
    return FITS


def _session(options: argparse.Namespace) -> Any:
    from dra_lab.session import Session

    return Session(
        options.cluster,
        sketch=_sketch(options),
        release=options.release,
        time_limit=getattr(options, "time_limit", None) or 60.0,
        node=options.node,
    )


def _sketch(options: argparse.Namespace) -> Any:
    from dra_lab.session import read_sketch

    return read_sketch(options.claim)


def _plan(options: argparse.Namespace) -> int:
    from dra_lab.exports.text import plan_json, plan_text
    from dra_lab.session.outputs import export

    session = _session(options)
    plan: Plan = _with_bar(session)
    session.wait()
    if options.format == "json":
        print(json.dumps(plan_json(plan), indent=2, ensure_ascii=False))
    else:
        print(plan_text(plan, session.cluster))
    for finding in session.findings:
        print(finding, file=sys.stderr)
    if options.output:
        for path in export(session, options.output):
            print(f"wrote {path}", file=sys.stderr)
    return _status(plan)


def _with_bar(session: Any) -> Plan:
    """Plan with a line of progress on a terminal; nothing is printed where standard error is no terminal."""
    from tqdm import tqdm

    with tqdm(disable=not sys.stderr.isatty(), leave=False, bar_format="{desc} {elapsed}", delay=0.5) as bar:
        session.on("progress", lambda: bar.set_description_str(str(getattr(session.progress, "text", ""))))
        plan: Plan = session.plan()
    return plan


def _draw(options: argparse.Namespace) -> int:
    from dra_lab.session.outputs import manifest, picture_page
    from dra_lab.sources import load_cluster

    if not options.claim:
        picture_page(load_cluster(options.cluster), None, options.node, options.output)
        print(f"wrote {options.output}", file=sys.stderr)
        return FITS
    session = _session(options)
    plan: Plan = session.plan()
    picture_page(session.cluster, plan, options.node, options.output, manifest(session).text)
    print(f"wrote {options.output}", file=sys.stderr)
    return _status(plan)


def _export(options: argparse.Namespace) -> int:
    from dra_lab.session.outputs import export, manifest

    session = _session(options)
    plan: Plan = session.plan()
    session.wait()
    paths = export(session, options.output, overwrite=options.overwrite)
    for finding in (*manifest(session).findings, *session.findings):
        print(finding, file=sys.stderr)
    for path in paths:
        print(path)
    return _status(plan)


def _replay(options: argparse.Namespace) -> int:
    from dra_lab.replay import replay_file

    for answer in replay_file(options.cases):
        sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
    return FITS


def _status(plan: Plan) -> int:
    if plan.fits:
        return FITS
    return NOT if plan.status is PlanStatus.INFEASIBLE else UNANSWERED

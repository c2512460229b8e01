"""The commands, in the order in which help lists them, each with what help says and its module.

A module is imported when its command is asked for: importing all takes longer than most answers.
"""

from __future__ import annotations

from collections.abc import Mapping

from dra_lab.cli.parser import Command, Listed


def _samples() -> Command:
    import dra_lab.cli.samples as command

    return command


def _plan() -> Command:
    import dra_lab.cli.plan as command

    return command


def _explain() -> Command:
    import dra_lab.cli.explain as command

    return command


def _diff() -> Command:
    import dra_lab.cli.diff as command

    return command


def _draw() -> Command:
    import dra_lab.cli.draw as command

    return command


def _export() -> Command:
    import dra_lab.cli.export as command

    return command


def _check() -> Command:
    import dra_lab.cli.check as command

    return command


def _migrate() -> Command:
    import dra_lab.cli.migrate as command

    return command


def _topology() -> Command:
    import dra_lab.cli.topology as command

    return command


def _capture() -> Command:
    import dra_lab.cli.capture as command

    return command


def _replay() -> Command:
    import dra_lab.cli.replay as command

    return command


def _help() -> Command:
    import dra_lab.cli.help as command

    return command


def _completion() -> Command:
    import dra_lab.cli.completion as command

    return command


COMMANDS: Mapping[str, Listed] = {
    "samples": Listed("list the shipped sample clusters", _samples),
    "plan": Listed("find the best allocation of a claim or of many replicas, or the reason why it does not fit", _plan),
    "explain": Listed("explain why a claim fits on a node or not, with kube-scheduler's search step by step", _explain),
    "diff": Listed("compare two plans: what each answers, and how their manifests differ", _diff),
    "draw": Listed("draw the hardware of a node, with the plan of a claim", _draw),
    "export": Listed("write the manifests that make kube-scheduler choose the plan", _export),
    "check": Listed("check manifests against a cluster, for CI", _check),
    "migrate": Listed("turn workloads that request nvidia.com/gpu: 8 into workloads with claims", _migrate),
    "topology": Listed("show what nvidia-smi topo -m, hwloc or NCCL files about one server contain", _topology),
    "capture": Listed("write what planning needs from a cluster to a folder or .tar.gz", _capture),
    "replay": Listed("answer recorded cases of Kubernetes, so that anyone can check our claims", _replay),
    "help": Listed("explain CLUSTER, plan files, output or the rule of a finding", _help),
    "completion": Listed("print the completion script of bash, zsh or fish", _completion),
}

"""The commands, in the order in which help lists them, each with what help says and its module.

A module is imported when its command is asked for: importing all takes longer than most answers.
"""

from __future__ import annotations

from collections.abc import Mapping

from dra_lab.cli.parser import Command, ListedCommand


def _samples() -> Command:
    import dra_lab.cli.samples_command as command

    return command


def _plan() -> Command:
    import dra_lab.cli.plan_command as command

    return command


def _explain() -> Command:
    import dra_lab.cli.explain_command as command

    return command


def _diff() -> Command:
    import dra_lab.cli.diff_command as command

    return command


def _draw() -> Command:
    import dra_lab.cli.draw_command as command

    return command


def _export() -> Command:
    import dra_lab.cli.export_command as command

    return command


def _check() -> Command:
    import dra_lab.cli.check_command as command

    return command


def _migrate() -> Command:
    import dra_lab.cli.migrate_command as command

    return command


def _topology() -> Command:
    import dra_lab.cli.topology_command as command

    return command


def _capture() -> Command:
    import dra_lab.cli.capture_command as command

    return command


def _replay() -> Command:
    import dra_lab.cli.replay_command as command

    return command


def _help() -> Command:
    import dra_lab.cli.help_command as command

    return command


COMMANDS: Mapping[str, ListedCommand] = {
    "samples": ListedCommand("list the shipped sample clusters", _samples),
    "plan": ListedCommand(
        "find the best allocation of a claim or of many replicas, or the reason why it does not fit", _plan
    ),
    "explain": ListedCommand(
        "explain why a claim fits on a node or not, with kube-scheduler's search step by step", _explain
    ),
    "diff": ListedCommand("compare two plans: what each answers, and how their manifests differ", _diff),
    "draw": ListedCommand("draw the hardware of a node, with the plan of a claim", _draw),
    "export": ListedCommand("write the manifests that make kube-scheduler choose the plan", _export),
    "check": ListedCommand("check manifests against a cluster, for CI", _check),
    "migrate": ListedCommand("turn workloads that request nvidia.com/gpu: 8 into workloads with claims", _migrate),
    "topology": ListedCommand(
        "show racks, blocks and NVLink domains of a cluster, or files of nvidia-smi topo -m, hwloc or NCCL", _topology
    ),
    "capture": ListedCommand("write what planning needs from a cluster to a folder or .tar.gz", _capture),
    "replay": ListedCommand("answer recorded cases of Kubernetes, so that anyone can check our claims", _replay),
    "help": ListedCommand("explain CLUSTER, plan files, output or the rule of a finding", _help),
}

"""The members of Volcano's HyperNodes: which nodes and which other HyperNodes each of them names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.cel.functions.strings import names_with
from dra_lab.model.nodes import Node
from dra_lab.model.topologies import HyperNode, Member, MemberSelector, NameMatch


class Members(Struct, frozen=True):
    """The names of the nodes and HyperNodes that a HyperNode names itself, and what is wrong with its selectors."""

    nodes: tuple[str, ...] = ()
    hyper_nodes: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


def members_of(item: HyperNode, nodes: Mapping[str, Node], hyper_nodes: Collection[str]) -> Members:
    """Return the members of a HyperNode among the nodes and HyperNodes of a cluster.

    Rule: `pkg/scheduler/api/hyper_node_info.go` of Volcano 1.15.1.
    """
    found: dict[str, dict[str, None]] = {"Node": {}, "HyperNode": {}}
    wrong: list[str] = []
    for member in item.spec.members:
        names = found.get(member.type)
        if names is None:
            wrong.append(f"a member has the type {member.type!r}; it must be Node or HyperNode")
            continue
        selected, problem = _selected(member, nodes, hyper_nodes if member.type == "HyperNode" else nodes)
        names.update(dict.fromkeys(selected))
        wrong += [problem] if problem else []
    return Members(tuple(found["Node"]), tuple(found["HyperNode"]), tuple(wrong))


def _selected(member: Member, nodes: Mapping[str, Node], names: Collection[str]) -> tuple[Iterable[str], str]:
    """Return the names that one member selects, and what is wrong with it or ""."""
    exact, pattern, labels = member.selector.exact_match, member.selector.regex_match, member.selector.label_match
    if [exact, pattern, labels].count(None) != 2:
        return (), "a member must have exactly one of exactMatch, regexMatch and labelMatch"
    found: Iterable[str] = ()
    reason = ""
    if exact is not None:
        found, reason = [exact.name] if exact.name in names else [], f"the member {exact.name!r} does not exist"
    elif pattern is not None:
        reason = f"no {member.type} has a name that matches {pattern.pattern!r}"
        try:
            found = names_with(names, pattern.pattern)
        except ValueError:
            reason = f"{pattern.pattern!r} is not a regular expression"
    elif labels is not None:
        if member.type != "Node":
            return (), "labelMatch selects nodes only, and a member of type HyperNode has it"
        found = [name for name, node in nodes.items() if labels.matches(node.metadata.labels)]
        reason = "no node has the labels of labelMatch"
    return found, "" if found else reason


def with_exact_members(item: HyperNode, nodes: Mapping[str, Node], hyper_nodes: Collection[str]) -> HyperNode:
    """Return a HyperNode that names each of its members, instead of patterns and labels that select them."""
    found = members_of(item, nodes, hyper_nodes)
    named = (*(("Node", name) for name in found.nodes), *(("HyperNode", name) for name in found.hyper_nodes))
    members = tuple(Member(type=k, selector=MemberSelector(exact_match=NameMatch(name=n))) for k, n in named)
    return replace(item, spec=replace(item.spec, members=members))

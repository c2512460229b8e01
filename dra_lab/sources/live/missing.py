"""Findings about what could not be read of a running cluster: the right that is missing, what the answer lacks."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from dra_lab.errors import SourceError
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.manifests.versions import GROUP
from dra_lab.sources.live.client import Refusal
from dra_lab.sources.live.connection import Context
from dra_lab.sources.live.kinds import KINDS, Kind, Served

_ROLE = "dra-lab-reader"
_USER = re.compile('User "([^"]+)" cannot ')
_RANKS = {"ResourceSlice": Severity.ERROR, "Pod": Severity.NOTE, "DeviceTaintRule": Severity.NOTE}


def can_i(context: Context, kind: Kind, namespace: str = "", verb: str = "list") -> str:
    """Return the command that says whether the context's user has the right to read a kind."""
    where = f" --namespace {namespace}" if namespace else " --all-namespaces" if kind.namespaced else ""
    return f"kubectl auth can-i {verb} {kind.resource}{where}{context.option}"


def right_missing(
    context: Context, kind: Kind, error: Refusal, namespace: str = "", verb: str = "list", lost: str = ""
) -> Finding:
    """Return what a 403 means for the plans made on the cluster; `lost` in place of what is lost without the kind."""
    where = f" in the namespace {namespace!r}" if namespace else ""
    who = f"the user {context.who!r}" if context.who else "the user"
    advice = f"Ask for the right to {verb} {kind.resource}{where}. To check it: {can_i(context, kind, namespace, verb)}"
    if kind.name == "ResourceClaim" and not namespace and verb == "list":
        name = context.namespace or "NAME"
        advice += f". To read one namespace that you may list: --read-namespace {name} (in Python namespaces=)"
    if error.detail:
        advice += f". The server says: {error.detail}"
    rank = _RANKS.get(kind.name, Severity.WARNING)
    if lost and rank is Severity.ERROR:  # the kind itself was read
        rank = Severity.WARNING
    message = f"{who} may not {verb} {kind.resource}{where}: {lost or _lost(kind, namespace)}"
    return Finding("right-missing", rank, kind.resource, message, advice, Origin(context.source))


def rights_missing(context: Context, refused: Mapping[str, Refusal], counts: Mapping[str, int]) -> str:
    """Return a table with a row for each kind, and the command that grants a user the missing rights.

    `refused` has the 403 of each kind that may not be listed, `counts` the number of objects of those that were read.
    """
    kinds = [kind for kind in KINDS if kind.name in refused or kind.name in counts]
    width = max(len(kind.resource) for kind in kinds)
    sentences = {
        kind: f"no      {kind.lost}" if kind.name in refused else f"yes     {counts[kind.name]:,} read"
        for kind in kinds
    }
    rows = [f"  {kind.resource:<{width}}  {words}" for kind, words in sentences.items()]
    found = next((match for error in refused.values() if (match := _USER.search(error.detail))), None)
    who = " ".join((found[1] if found else context.user).split())
    named = f"the user {who!r}" if who else "the user"
    table = (
        f"{context.source}: {named} may read neither ResourceSlices nor Nodes, so there is nothing to plan on.",
        "",
        f"  {'KIND':<{width}}  LIST    WITHOUT IT",
        *rows,
        "",
    )
    other = next((error.detail for error in refused.values() if " cannot list " not in error.detail), "")
    detail = " ".join(other.split())
    if detail:  # another right than those in the table, such as that to act as another user
        return "\n".join((*table, f"The server says: {detail}. To see it:", can_i(context, kinds[0])))
    wanted = ",".join(kind.resource for kind in kinds)
    grant = f"kubectl create clusterrole {_ROLE} --verb=get,list,watch --resource={wanted}"
    bind = f"kubectl create clusterrolebinding {_ROLE} --clusterrole={_ROLE} --user={shlex.quote(who or 'NAME')}"
    advice = "Ask an administrator of the cluster to grant the rights with this command, then load the cluster again:"
    return "\n".join((*table, advice, f"{grant}{context.option} && {bind}{context.option}"))


def _lost(kind: Kind, namespace: str) -> str:
    return kind.lost_there if namespace and kind.lost_there else kind.lost


def not_read(context: Context, kind: Kind, error: SourceError, namespace: str = "") -> Finding:
    """Return what a kind means that could not be read for another reason than a missing right."""
    where = f" of the namespace {namespace!r}" if namespace else ""
    message = f"{kind.plural}{where} could not be read: {_lost(kind, namespace)}"
    advice = f"{error.message}. Read the cluster again when the server works again."
    return Finding("kind-not-read", Severity.WARNING, kind.resource, message, advice, Origin(context.source))


def not_served(context: Context, served: Sequence[Served], release: str) -> tuple[Finding, ...]:
    """Return the finding about an API server without the kinds of DRA; taint rules are optional and may be missing."""
    there = {entry.kind.name for entry in served}
    lacking = [k for k in KINDS if k.group and k.name not in there and k.name != "DeviceTaintRule"]
    if not lacking:
        return ()
    of = f" of Kubernetes {release}" if release else ""
    message = (
        f"the API server{of} does not serve {', '.join(kind.plural for kind in lacking)} in a version that "
        f"dra-lab reads ({GROUP} v1, v1beta2, v1beta1), so there is no Dynamic Resource Allocation to plan for"
    )
    advice = (
        "DRA is on from Kubernetes 1.34. In 1.32 and 1.33, turn it on with the gate DynamicResourceAllocation "
        f"and --runtime-config. To check: kubectl api-resources --api-group {GROUP}{context.option}"
    )
    return (Finding("dra-not-served", Severity.ERROR, GROUP, message, advice, Origin(context.source)),)


def namespaces_only(context: Context, namespaces: Sequence[str]) -> Finding:
    """Return what it means that a person asked for the claims of some namespaces only."""
    names = ", ".join(namespaces)
    message = f"only the ResourceClaims of {names} were read, so devices in use by other namespaces look free"
    advice = "Read the cluster without namespaces to see all devices in use."
    place = Origin(context.source)
    return Finding("claims-some-namespaces", Severity.WARNING, "resourceclaims", message, advice, place)


def namespace_empty(context: Context, namespace: str) -> Finding:
    """Return what it means that nothing is in a namespace: the server says the same of one that does not exist."""
    message = (
        f"the namespace {namespace!r} has no ResourceClaims or does not exist; the server gives the same "
        "answer for both"
    )
    advice = f"Check the name: kubectl get namespace {namespace}{context.option}"
    return Finding("namespace-empty", Severity.NOTE, namespace, message, advice, Origin(context.source))


def server_not_verified(context: Context, server: str) -> Finding:
    """Return what insecure-skip-tls-verify means."""
    message = (
        f"the certificate of {server} is not checked (insecure-skip-tls-verify), so another server could "
        "answer in its place"
    )
    advice = "Use certificate-authority-data in the kubeconfig instead."
    return Finding("server-not-verified", Severity.NOTE, server, message, advice, Origin(context.source))


def refused_credentials(context: Context, error: Refusal) -> SourceError:
    """Return the error of a 401: who was refused, and what to do."""
    who = f"of the user {context.who!r} " if context.user else ""
    return SourceError(
        f"{context.source}: the server refuses the credentials {who}(401 {error.detail or 'Unauthorized'}). Log in "
        f"again, then check: kubectl get resourceslices{context.option}"
    )

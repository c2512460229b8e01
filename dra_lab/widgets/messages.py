"""What the browser can ask of a widget: one message each, told apart by `type`.

A message that only one mode takes is beside what answers it (`trace_mode`, `compare_mode`).
The browser's types are generated from these classes (`widgets/generate_models.py`). Python answers by its traits.
"""

from __future__ import annotations

from msgspec import Struct


def _kebab(name: str) -> str:
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("-")


class Message(
    Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    omit_defaults=True,
    forbid_unknown_fields=True,
    tag_field="type",
    tag=_kebab,
):
    """Base of the messages; the tag of `EditClaim` is `edit-claim`."""


class DismissProblem(Message, frozen=True):
    """Hide what is wrong with a view."""


# ---------------------------------------------------------------- the canvas


class Undo(Message, frozen=True):
    """Go one step back."""


class Redo(Message, frozen=True):
    """Do one undone step again."""


class Configure(Message, frozen=True):
    """Make a typed text (YAML or JSON) the parameters for a driver of some requests; an empty text removes them.

    `index` is the entry of the drawing's `config`, or one beyond the last for a new entry.
    """

    index: int
    requests: tuple[str, ...]
    driver: str
    text: str


# ---------------------------------------------------------------- the cluster's bar


class Load(Message, frozen=True):
    """Read another cluster: what `load_cluster` takes."""

    source: str


class OpenDrawing(Message, frozen=True):
    """Open one of the offered drawings, by its place in the offer."""

    number: int


class FileSize(Struct, frozen=True, forbid_unknown_fields=True):
    """The name and the bytes of a file that is about to be sent."""

    name: str
    size: int


class AnnounceFiles(Message, frozen=True, tag="upload"):
    """Announce files; their bytes follow as pieces with the same number."""

    number: int
    files: tuple[FileSize, ...]


class FilePiece(Message, frozen=True, tag="piece"):
    """The next bytes of the announced files, as the buffer of the message."""

    number: int


class Sources(Message, frozen=True):
    """Read the contexts of the kubeconfig: the choice of a cluster has opened."""


class Cancel(Message, frozen=True):
    """Give up what is being read or solved."""


class Follow(Message, frozen=True):
    """Begin or stop to follow the running cluster."""

    on: bool


class ShowMode(Message, frozen=True, tag="mode"):
    """Show another mode of the planner."""

    name: str


class StartEmpty(Message, frozen=True):
    """Clear the example's drawing."""


class DismissExample(Message, frozen=True):
    """Keep the example and hide the line about it."""


class Release(Message, frozen=True):
    """Write manifests for another release of Kubernetes."""

    value: str


class GiveAnswer(Message, frozen=True, tag="answer"):
    """Choose an answer to the question of `ask`."""

    id: str


# ---------------------------------------------------------------- the plan


class ShowExport(Message, frozen=True):
    """Show the Export sheet."""


class ShowUse(Message, frozen=True):
    """Count what is in use on each node or hardware type."""


class CloseExport(Message, frozen=True):
    """Close the Export sheet."""


class CancelExport(Message, frozen=True):
    """Stop looking for pins."""


class ChooseExport(Message, frozen=True):
    """Choose something of the export; None leaves what was chosen."""

    release: str | None = None
    api_version: str | None = None
    kind: str | None = None
    namespace: str | None = None
    example: str | None = None
    workload: str | None = None
    templates: tuple[str, ...] | None = None
    container: str | None = None
    patch: bool | None = None
    folder: str | None = None
    extra: tuple[str, ...] | None = None
    pin: bool | None = None


class WriteExport(Message, frozen=True):
    """Write the files that the sheet shows; `overwrite` replaces edited files, `allow_worse` accepts its sentence."""

    overwrite: bool = False
    allow_worse: bool = False


class WriteMeasure(Message, frozen=True):
    """Write the two Jobs that measure the link, to a folder beside that of the export."""


class UseMeasured(Message, frozen=True):
    """Use these bandwidths, with the link and without it, in place of the published range."""

    near: float
    far: float


class EditClaim(Message, frozen=True):
    """Make a typed text the drawing; `number` is repeated in the answer."""

    text: str
    number: int


class FixClaim(Message, frozen=True):
    """Correct a typed text, or without a text the drawing's."""

    text: str | None = None
    number: int = 0


class ApplySuggestion(Message, frozen=True):
    """Apply the suggestion with this id."""

    id: str


class LookAt(Message, frozen=True):
    """Show why a node, or one of its devices, does not serve the drawing."""

    node: str
    device: str = ""


class ShowDifference(Message, frozen=True):
    """Show the plan and kube-scheduler's choice over each other."""


class OrderGoals(Message, frozen=True):
    """Put the goals in this order; none for the usual order."""

    goals: tuple[str, ...]


# ---------------------------------------------------------------- the fleet


class AddWorkload(Message, frozen=True):
    """Add the workload of a file or `sample:NAME/EXAMPLE`; without a source, the drawing."""

    source: str = ""


class RemoveWorkload(Message, frozen=True):
    """Remove a workload."""

    name: str


class SetReplicas(Message, frozen=True):
    """Ask for another number of pods."""

    name: str
    replicas: int


class MakeGang(Message, frozen=True):
    """Make a workload, or the drawn pod, one gang of all its pods in one domain of the innermost level."""

    name: str = ""


class SetGang(Message, frozen=True):
    """Change the gang of a workload, or of the drawn pod: what `GangDrawing` has.

    `min` 0 stands for all pods, `size` 0 for no gang.
    """

    size: int
    name: str = ""
    min: int = 0
    level: str = ""
    hierarchy: str = ""
    prefer: str = ""
    queue: str = ""


class OpenWorkload(Message, frozen=True):
    """Show the claim of a workload on the canvas."""

    name: str


class PinPods(Message, frozen=True):
    """Run some pods of a workload on a node; 0 removes the pin."""

    name: str
    node: str
    pods: int


class MovePod(Message, frozen=True):
    """Pin one pod of a workload to another node."""

    name: str
    from_node: str
    to_node: str


class AddLayer(Message, frozen=True):
    """Add a what-if change."""

    change: str
    subject: str = ""
    count: int = 0


class RemoveLayer(Message, frozen=True):
    """Remove the what-if change at this position."""

    number: int


class KeepScenario(Message, frozen=True):
    """Keep the present answer as a scenario; without a name it gets the words of its changes."""

    name: str = ""


class RestoreScenario(Message, frozen=True):
    """Take the workloads and changes of a kept plan."""

    name: str


class ForgetScenario(Message, frozen=True):
    """Remove a kept plan."""

    name: str


class ComparePlans(Message, frozen=True):
    """Show the kept plans side by side."""


class StopFleet(Message, frozen=True):
    """Stop planning the fleet; the best plan so far stays."""


class ImproveFleet(Message, frozen=True):
    """Go on after a stop."""


# ---------------------------------------------------------------- the hardware


class ShowNode(Message, frozen=True, tag="node"):
    """Show the picture of another node, and ask why this device of it does not serve."""

    name: str
    device: str = ""


class PinNode(Message, frozen=True, tag="pin"):
    """Plan on this node only; "" for any."""

    name: str


class Graph(Message, frozen=True):
    """Open the graph of the node."""


class CloseGraph(Message, frozen=True):
    """Close the graph."""


class ByExample(Message, frozen=True):
    """Find the claims that ask for such devices as these on the node."""

    devices: tuple[str, ...]


class TakeExample(Message, frozen=True):
    """Draw one of these claims, or add it to the drawing."""

    number: int
    add: bool = False


class SetKind(Message, frozen=True):
    """Take the devices of a driver for this kind."""

    driver: str
    kind: str


class LoadSample(Message, frozen=True, tag="sample"):
    """Load the cluster of the example."""

"""The values of `ClaimCanvas` beside the sketch: rows of its palette, states of requests and links, the undo buttons.

They travel as camelCase dicts in synced traits; the browser's types are generated from these classes
(`widgets/generate_models.py`), so a field exists on both sides or on none.
"""

from __future__ import annotations

from msgspec import Struct


class Row(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """Base of the values sent to the browser: frozen, camelCase there, defaults left out."""


class PaletteRow(Row, frozen=True):
    """One thing that can be dragged onto the canvas.

    `kind` is gpu, nic, cpu, memory or other; `selectors` are CEL texts; where `capacity_key` is given the devices are
    shared by amount and the box's stepper changes `default_capacity` instead of `default_count`. `use` is a text: how
    many are free of how many, and whether the class is missing. `chip` is only the first number, "" if `use` is to be
    shown. `in_cluster` is False for a documented class that the cluster does not have.
    """

    key: str
    label: str
    device_class: str
    kind: str = "other"
    selectors: tuple[str, ...] = ()
    capacity_key: str = ""
    default_count: int = 1
    default_capacity: str = ""
    use: str = ""
    chip: str = ""
    in_cluster: bool = True
    driver: str = ""
    note: str = ""


class LinkOptionRow(Row, frozen=True):
    """A place at which a link can hold: a level or a full attribute name; greyed with its reason where not enabled."""

    where: str
    label: str
    enabled: bool = True
    reason: str = ""


class SelectorRow(Row, frozen=True):
    """A selector's result on the devices of its class ("16 of 28 match, 9 free"), or what is wrong with it."""

    text: str = ""
    error: str = ""


class AmountRow(Row, frozen=True):
    """What is known of an amount that is requested of each device.

    `unit` is what it counts ("CPUs"), "bytes" for an amount that is written with a suffix such as Gi. `note` is what
    the device's request policy makes of it, or with `wrong`, why no device can serve it.
    """

    key: str
    unit: str = ""
    note: str = ""
    wrong: bool = False


class PartRow(Row, frozen=True):
    """What is known of one way to serve a request: `exactly`, or one entry of `firstAvailable`.

    `class_words` says which devices the class selects; `text` how many match, and how many of them are free; `keys` are
    the further amounts that its devices have; `drivers` are the drivers of its devices.
    """

    class_words: str = ""
    text: str = ""
    selectors: tuple[SelectorRow, ...] = ()
    amounts: tuple[AmountRow, ...] = ()
    keys: tuple[str, ...] = ()
    drivers: tuple[str, ...] = ()


class RequestRow(Row, frozen=True):
    """What is known of a drawn request: its letter and colours in every picture, and which devices match it.

    `text` is the sentence under the name ("12 of 64 match; 3 lack the attribute"); `error` is the selector's message;
    `matching_ids` are at most 200 device ids, printed `driver/pool/device`, for lighting up. `field` is where it stands
    in the claim ("devices.requests[0]"), `note` what a release or the cluster cannot do of it.
    """

    letter: str = ""
    colour: str = ""
    text_colour: str = ""
    kind: str = "other"
    label: str = ""
    matching: int = 0
    total: int = 0
    text: str = ""
    error: str = ""
    matching_ids: tuple[str, ...] = ()
    field: str = ""
    note: str = ""
    parts: tuple[PartRow, ...] = ()


class LinkRow(Row, frozen=True):
    """What is known of a drawn link: its words, what is wrong, what else is worth saying, where it could hold.

    `field` is what it writes into the claim ("matchAttribute: resource.kubernetes.io/pcieRoot, one per pair").
    """

    label: str = ""
    field: str = ""
    problem: str = ""
    note: str = ""
    options: tuple[LinkOptionRow, ...] = ()


class ClaimRow(Row, frozen=True):
    """The form of a claim of a pod: the field with its name, and the name of its template."""

    field: str
    template: str


class ConfigRow(Row, frozen=True):
    """One entry of `config[]`: the driver, and its parameters as YAML; the requests it is for stand in the sketch."""

    driver: str = ""
    text: str = ""


class ConfigAnswer(Row, frozen=True):
    """What is wrong with the parameters that were typed last for the entry `index`; "" when they are drawn."""

    index: int = 0
    message: str = ""


class ProblemRow(Row, frozen=True):
    """A request or link (`kind`) that is part of the cause why the claim fits nowhere, and that cause in a sentence."""

    kind: str
    name: str
    text: str


class CanvasStatus(Row, frozen=True):
    """The state of every request and link by name.

    `pairs` is optional: the places at which two requests that are not linked yet could be, by their names sorted and
    joined with "|". A new link starts at the first enabled one. `counting`: the devices of a large cluster are still
    being counted, so that an empty palette says nothing yet. `claims` are those of a pod with several. `config` are
    the entries of the sketch's `config`; `gates` maps a field of the API that the target release does not have to the
    reason in words.
    """

    requests: dict[str, RequestRow] = {}
    links: dict[str, LinkRow] = {}
    pairs: dict[str, tuple[LinkOptionRow, ...]] = {}
    counting: bool = False
    claims: dict[str, ClaimRow] = {}
    config: tuple[ConfigRow, ...] = ()
    gates: dict[str, str] = {}


class CanvasHistory(Row, frozen=True):
    """Which of the two undo buttons can be pressed."""

    can_undo: bool = False
    can_redo: bool = False

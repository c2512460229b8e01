"""The catalogue of rules: what each finding and each error means, its cause, its remedy, an example and its source.

`rules/GROUP.yaml` has the texts of one group. A finding or error names its rule, `dra-lab help RULE` prints the entry,
and the documentation has a page for each group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

import msgspec
import yaml
from msgspec import Struct
from msgspec.structs import asdict

from dra_lab.errors import DraLabError, InputError, did_you_mean
from dra_lab.model.decoding import from_builtins

ORDER = (
    "claims",
    "kube-scheduler",
    "cluster",
    "devices-in-use",
    "reading",
    "topology-files",
    "releases",
    "exports",
    "manifests",
    "migration",
    "gangs",
    "domains",
    "other-schedulers",
    "errors",
)
"""The groups, in the order of the documentation."""


class RuleEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """What one rule means and what to do about it.

    `name` is the rule of a finding or error. `group` is the stem of its file, and `error` the class that raises it, ""
    for a finding. `means`, `cause`, `remedy` and `source` are sentences with code between backticks. `example` is
    literal text of one or more lines: input that causes the finding, or a command.
    """

    means: str
    cause: str
    remedy: str
    example: str
    source: str
    error: str = ""
    name: str = ""
    group: str = ""

    @property
    def page(self) -> str:
        """Return the address of the entry, relative to the root of the documentation."""
        return f"reference/rules/{self.group}.html#{self.name}"

    def lines(self) -> Iterator[str]:
        """Yield the entry as plain text."""
        yield f"{self.name}: {self.means}"
        yield ""
        yield f"Cause:   {self.cause}"
        yield f"Remedy:  {self.remedy}"
        yield f"Source:  {self.source}"
        yield f"Page:    {self.page}"
        yield "Example:"
        yield from (f"  {line}" for line in self.example.splitlines())


class _Group(Struct, frozen=True, forbid_unknown_fields=True):
    title: str
    rules: Mapping[str, RuleEntry]


@cache
def _groups() -> Mapping[str, _Group]:
    loader, found = getattr(yaml, "CSafeLoader", yaml.SafeLoader), {}
    for name in ORDER:
        path = Path(__file__).with_name("rules") / f"{name}.yaml"
        try:
            value = yaml.load(path.read_text("utf-8"), loader)  # noqa: S506  both are safe loaders
            found[name] = from_builtins(value, _Group)
        except (yaml.YAMLError, msgspec.ValidationError) as error:
            raise DraLabError(f"{path} of this dra-lab is broken: {error}") from error
    return found


def rule_groups() -> Mapping[str, str]:
    """Return the title of each group by the stem of its file, in the order of the documentation."""
    return {name: group.title for name, group in _groups().items()}


@cache
def rule_catalogue() -> Mapping[str, RuleEntry]:
    """Return every entry by the name of its rule: by group, then by name."""
    return MappingProxyType(
        {
            name: RuleEntry(
                **{key: text.strip() for key, text in asdict(entry).items()} | {"name": name, "group": group}
            )
            for group, found in _groups().items()
            for name, entry in sorted(found.rules.items())
        }
    )


def rule_entry(name: str) -> RuleEntry:
    """Return the entry of a rule, or of the class of an error such as `SourceError`. Raises InputError."""
    known = rule_catalogue()
    errors = {entry.error: entry.name for entry in known.values() if entry.error}
    if found := known.get(errors.get(name, name)):
        return found
    hint = did_you_mean(name, (*known, *errors)) or "; dra-lab help lists the topics"
    raise InputError(f"there is no topic or rule {name!r}{hint}")

"""The sample clusters that come with dra_lab."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import Struct

from dra_lab.errors import SourceError, did_you_mean
from dra_lab.shipped import samples_dir

PREFIX = "sample:"
_TEACHES = re.compile(r"^Teaches:\s*(.+)$", re.MULTILINE)
_TITLE = re.compile(r"^#\s+(.+)$", re.MULTILINE)


class Sample(Struct, frozen=True):
    """A shipped cluster: `name` for `sample:NAME`, its title, what it teaches in one line, and its folder."""

    name: str
    title: str
    teaches: str
    path: Path

    @property
    def examples(self) -> tuple[str, ...]:
        """Return the names of its example drawings, for `sample:NAME/EXAMPLE`."""
        return tuple(sorted(f.name.removesuffix(".dralab.yaml") for f in self.path.glob("examples/*.dralab.yaml")))


def samples() -> tuple[Sample, ...]:
    """Return the shipped sample clusters, sorted by name.

    Returns:
        One entry per sample, with its name, its title and its examples.

    Example:
        >>> from dra_lab import samples
        >>> samples()[0].name
        'dgx-h100'
    """
    folders = sorted(f for f in samples_dir().iterdir() if (f / "README.md").is_file() and f.name[0] not in "._")
    return tuple(_sample(folder) for folder in folders)


def is_shipped(name: str) -> bool:
    """Say whether a cluster is a shipped sample."""
    return any(name == f"{PREFIX}{sample.name}" for sample in samples())


def sample_path(name: str) -> Path:
    """Return the folder of `NAME` or `sample:NAME`. Raises SourceError with the known names."""
    wanted = name.removeprefix(PREFIX)
    known = {sample.name: sample.path for sample in samples()}
    if wanted not in known:
        advice = did_you_mean(wanted, known, PREFIX) or f"; samples: {', '.join(known)}"
        raise SourceError(f"there is no sample {wanted!r}{advice}")
    return known[wanted]


def example_path(name: str) -> Path:
    """Return the file of `sample:NAME/EXAMPLE`. Raises SourceError with the known examples."""
    sample, _, example = name.removeprefix(PREFIX).partition("/")
    folder = sample_path(sample)
    path = folder / "examples" / f"{example}.dralab.yaml"
    if not example or not path.is_file() or path.parent.parent != folder:
        known = ", ".join(_sample(folder).examples) or "none"
        raise SourceError(f"the sample {sample!r} has no example {example!r}; examples: {known}")
    return path


def _sample(folder: Path) -> Sample:
    text = (folder / "README.md").read_text(encoding="utf-8")
    title, teaches = _TITLE.search(text), _TEACHES.search(text)
    return Sample(folder.name, title[1] if title else folder.name, teaches[1].strip() if teaches else "", folder)

"""DeviceClasses in files that were not given, but are in the folder of one that was."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from dra_lab.errors import DraLabError
from dra_lab.gitops.folder import SUFFIXES, objects_of
from dra_lab.manifests.file_text import STANDARD_INPUT
from dra_lab.manifests.yaml_text import load_yaml

_MOST_FILES = 200
_MOST_BYTES = 2**20


def file_with_class(name: str, source: str) -> str:
    """Return the file in the folder of `source`, or in a folder of it, that has the DeviceClass `name`; "" for none.

    At most 200 files are looked at, none of more than 1 MiB.
    """
    if not source or source == STANDARD_INPUT or not Path(source).is_file():
        return ""
    folder = Path(source).parent
    files = (path for pattern in ("*", "*/*") for path in sorted(folder.glob(pattern)))
    files = (path for path in files if path.suffix.lower() in SUFFIXES and path.is_file())
    return next((str(path) for path in islice(files, _MOST_FILES) if _has_class(path, name)), "")


def _has_class(path: Path, name: str) -> bool:
    try:
        if path.stat().st_size > _MOST_BYTES:
            return False
        text = path.read_text(encoding="utf-8")
        if name not in text or "DeviceClass" not in text:
            return False
        documents = load_yaml(text, str(path), broken=lambda _: None)
        objects = (found for document in documents for found in objects_of(document, str(path)))
        return any(found.kind == "DeviceClass" and found.name == name for found in objects)
    except (OSError, UnicodeDecodeError, DraLabError):
        return False  # it is not a file that was given

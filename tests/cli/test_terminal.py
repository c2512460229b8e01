"""What is printed is text: nothing in a cluster or file moves the cursor, changes colours or turns a line around."""

from __future__ import annotations

import io
import json
import signal
import sys
from contextlib import redirect_stdout

import pytest

from dra_lab.cli import main
from dra_lab.cli.output import plain_output

EVIL = "n\x1b[31m\x1b]0;title\x07\r\x9b2J\u202eabc"
CLAIM = "sample:eks-p4d/gpu-nic-pairs"


@pytest.fixture
def cluster(tmp_path):
    """A cluster in which every name holds what a terminal obeys."""
    device = {"name": EVIL, "attributes": {"type": {"string": "gpu"}, "productName": {"string": EVIL}}}
    pool = {"name": EVIL, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.nvidia.com", "pool": pool, "nodeName": EVIL, EVIL: 1, "devices": [device]}
    api = "resource.k8s.io/v1"
    items = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": EVIL}},
        {"apiVersion": api, "kind": "ResourceSlice", "metadata": {"name": EVIL}, "spec": spec},
        {"apiVersion": api, "kind": EVIL, "metadata": {"name": EVIL}},
    ]
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(file)


@pytest.mark.parametrize(
    "words",
    [
        ["plan", "CLUSTER", "--claim", CLAIM],
        ["plan", "CLUSTER", "--claim", CLAIM, "-o", "json"],
        ["check", "CLUSTER", "CLUSTER"],
        ["check", "CLUSTER", "CLUSTER", "-o", "markdown"],
        ["plan", f"/nowhere/{EVIL.replace(chr(0), '')}", "--claim", CLAIM],
        ["plan", "CLUSTER", "--claim", EVIL],
    ],
    ids=["plan", "json", "check", "markdown", "no cluster", "no claim"],
)
def test_escapes_in_names_are_shown_and_not_obeyed(cluster, capsys, words):
    main([cluster if word == "CLUSTER" else word for word in words])
    out, err = capsys.readouterr()
    assert out + err
    assert not [sign for sign in out + err if not sign.isprintable() and sign not in "\n\t"]


def test_what_is_printed_as_json_stays_the_same_json(capsys):
    """Every escape is one that JSON reads."""
    with plain_output():
        print(json.dumps(EVIL, ensure_ascii=False))
    assert json.loads(capsys.readouterr().out) == EVIL


def test_a_bar_may_go_back_to_the_beginning_of_its_line(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with plain_output():
        print("\r10 %\rx", end="", file=sys.stderr)
    assert sys.stderr.getvalue() == "\r10 %\\u000dx"


def test_characters_that_an_encoding_lacks_are_written_as_escapes():
    """A terminal without Unicode shows the answer, and JSON stays the same JSON."""
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, "ascii")
    with redirect_stdout(stream), plain_output():
        print(json.dumps({"pods": "2 × gpu 😀"}, ensure_ascii=False), flush=True)
    assert json.loads(written.getvalue()) == {"pods": "2 × gpu 😀"}


EKS = "sample:eks-p4d"
FITS = ["plan", EKS, "--claim", f"{EKS}/gpu-nic-pairs"]
MISFIT = ["plan", EKS, "--claim", f"{EKS}/five-pairs"]
HGX = "sample:dgx-h100"
REPLICAS = ["plan", HGX, "--claim", f"{HGX}/gpu-nic-cpu", "--replicas"]


def printed(capsys, *arguments: str) -> str:
    main(list(arguments))
    return capsys.readouterr().out


@pytest.mark.parametrize("command", [FITS, MISFIT, [*REPLICAS, "3"]], ids=["fits", "misfit", "replicas"])
def test_quiet_prints_the_sentences_of_the_answer(command, capsys):
    first = printed(capsys, *command).splitlines()[0]
    assert printed(capsys, *command, "-q") == f"{first}\n"


@pytest.mark.parametrize("command", [FITS, MISFIT, [*REPLICAS, "3"]], ids=["fits", "misfit", "replicas"])
def test_json_is_the_same_with_every_option(command, capsys):
    """How much text is wanted does not change JSON."""
    options = ([], ["-q"], ["-v"])
    plain, *others = (without_times(json.loads(printed(capsys, *command, "-o", "json", *more))) for more in options)
    assert others == [plain, plain]


def without_times(value: object) -> object:
    """Return JSON without what depends on the speed of the machine."""
    if isinstance(value, dict):
        return {key: without_times(one) for key, one in value.items() if "second" not in key.lower()}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def test_quiet_and_verbose_exclude_each_other(capsys):
    with pytest.raises(SystemExit) as ended:
        main([*FITS, "-q", "-v"])
    assert (ended.value.code, "not allowed with" in capsys.readouterr().err) == (2, True)


FLEET = ["plan", "sample:dgx-h100", "--claim", "sample:dgx-h100/gpu-nic-cpu", "--replicas", "4"]


class Interrupted(io.StringIO):
    """Standard error that a person interrupts as soon as a plan asks whether it is a terminal."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    def isatty(self) -> bool:
        """Interrupt once Ctrl-C no longer ends the program."""
        while self.times and signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            self.times -= 1
            signal.raise_signal(signal.SIGINT)
        return False


def test_the_first_ends_with_an_answer_without_further_questions(capsys, monkeypatch):
    before, stream = signal.getsignal(signal.SIGINT), Interrupted(1)
    monkeypatch.setattr(sys, "stderr", stream)
    status = main(FLEET)
    assert "stopping: the best answer so far follows (Ctrl-C again ends without one)" in stream.getvalue()
    assert (status, "How many more fit" in capsys.readouterr().out) == (2, False)
    assert signal.getsignal(signal.SIGINT) is before


def test_the_second_ends_the_command(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Interrupted(2))
    assert (main(FLEET), capsys.readouterr().out) == (2, "")

"""How far a reading is, on a terminal: shown also while nothing comes, gone when it ends, absent where it is quick."""

import os
import struct
import sys

import pytest

from dra_lab.sources.live import Read, progress

termios = pytest.importorskip("termios", reason="there are terminals of this kind on POSIX only")


@pytest.fixture
def terminal(monkeypatch):
    """A terminal of 100 columns: the first call makes it standard error, the second returns what was written there."""
    import fcntl
    import pty

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    with os.fdopen(slave, "w") as end:

        def use_or_read() -> str:
            if sys.stderr is not end:  # not earlier: pytest puts its own in place before each test
                monkeypatch.setattr(sys, "stderr", end)
                return ""
            print("end", file=end, flush=True)
            text = b""
            while not text.endswith(b"end\r\n"):
                text += os.read(master, 65536)
            return text.decode()

        yield use_or_read
    os.close(master)


def test_a_bar_is_drawn_while_nothing_comes_and_is_cleared(terminal, monkeypatch):
    """Told the same counts again it is drawn again; at the end its line is empty for what is printed next."""
    monkeypatch.setattr(progress, "DELAY", -1.0)
    terminal()
    with progress.bar("context:test") as report:
        for _ in range(3):
            report((Read("Node", 10, 300),))
    lines = terminal().split("\r")
    assert sum("10/300" in line for line in lines) >= 3
    assert [line.strip() for line in lines[-3:]] == ["", "end", ""]


def test_a_quick_reading_shows_no_bar(terminal):
    """Nothing is written in the first half second."""
    terminal()
    with progress.bar("context:test") as report:
        report((Read("Node", 10, 300),))
    assert terminal() == "end\r\n"

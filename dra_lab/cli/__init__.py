"""The command line: what the notebook does, without a browser. Results on standard output, findings on standard error.

One module a command, each with `add(commands)`, which declares its options, and `run(options)`, which returns the exit
status: 0 = fits or valid, 1 = does not fit or invalid, 2 = not answered.
"""

from dra_lab.cli.main import main

__all__ = ["main"]

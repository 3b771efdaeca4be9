# SPDX-License-Identifier: BSD-3-Clause
"""What all benchmarks do: run commands, say something, fail."""
import pathlib
import subprocess
import sys


class Failure(Exception):
    """Ends the program with its text and exit status 2."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def command(arguments, **options):
    """Runs a command, returns its standard output; a failure shows what it said."""
    arguments = [str(each) for each in arguments]
    try:
        done = subprocess.run(arguments, text=True, capture_output=True, check=False, **options)
    except FileNotFoundError as error:
        raise Failure(f"{error.filename} is not installed") from error
    if done.returncode:
        raise Failure(f"{' '.join(arguments)}\nended with status {done.returncode}:\n"
                      f"{done.stderr or done.stdout}")
    return done.stdout


def line_of(path, key):
    """What stands behind the colon, in the first line that begins with `key`."""
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        if line.startswith(key):
            return line.split(":", 1)[1].strip()
    return "unknown"

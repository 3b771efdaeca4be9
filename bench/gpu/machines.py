# SPDX-License-Identifier: BSD-3-Clause
"""What is said of the machine that something was measured on."""
import datetime
import os
import pathlib
import platform
import subprocess


def asked(*command):
    """What a command prints; None where it is not there or fails."""
    try:
        found = subprocess.run(command, text=True, capture_output=True, check=False)
    except FileNotFoundError:
        return None
    return found.stdout.strip() or None if found.returncode == 0 else None


def described(known_commit=None):
    """The Heddle measured (of this checkout, unless a commit is told), the date, the machine."""
    here = str(pathlib.Path(__file__).resolve().parent)
    driver = asked("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
    gpus = asked("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")
    return {"commit": known_commit or asked("git", "-C", here, "rev-parse", "--short", "HEAD"),
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
            "gpus": gpus.splitlines() if gpus else [], "driver": driver.splitlines()[0] if driver else "unknown",
            "cores": os.cpu_count(), "kernel": platform.release()}

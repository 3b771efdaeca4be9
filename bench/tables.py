# SPDX-License-Identifier: BSD-3-Clause
"""Parts of the pages in bench/results/."""


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows] + [""]

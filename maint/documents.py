# SPDX-License-Identifier: BSD-3-Clause
"""The project's documents, whose lines and sentences are checked."""

DOCUMENTS = ["README.md", "README.gpu", "CHANGES.md", "CONTRIBUTING.md", "docs/*.md", "docs/notes/*.md"]


def documents(root):
    return sorted(file for pattern in DOCUMENTS for file in root.glob(pattern))

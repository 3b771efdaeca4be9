# SPDX-License-Identifier: BSD-3-Clause
"""Saving a diagram in few bytes: lines on white need few colours."""
import io

import matplotlib.pyplot as plt
from PIL import Image

COLORS = 16


def save(figure, path, dpi):
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=dpi)
    plt.close(figure)
    # By coverage: by count, thin lines of several colors would become one color.
    Image.open(drawn).convert("RGB").quantize(
        COLORS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)

# SPDX-License-Identifier: BSD-3-Clause
"""Saving a diagram in few bytes: lines on white need few colours."""
import io

import matplotlib.pyplot as plt
from PIL import Image

COLORS = 40


def save(figure, path, dpi):
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=dpi)
    plt.close(figure)
    Image.open(drawn).convert("RGB").quantize(COLORS, dither=Image.Dither.NONE).save(path, optimize=True)

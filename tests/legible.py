"""The letters of a drawing: large enough where it is shown, none cut off, none over another."""

from unittest import mock

import matplotlib
import numpy as np
from matplotlib.figure import Figure as Canvas
from matplotlib.path import Path as Outline
from matplotlib.text import Text

from longform.tables import RESOLUTION, STYLE

SMALLEST = 7.0  # points
CSS_PIXELS = 96  # in an inch
COLUMN = 46 * 16 / CSS_PIXELS  # inches: 46 letters of 16 pixels, a page's column on the web site


def refuse_bad_letters(draw, size):
    """Raises AssertionError: a letter of a drawing is too small, cut off, or covers another."""
    canvas, texts = laid_out(draw, size)
    bad = {
        "too small": too_small(texts, size),
        "cut off": cut_off(texts, canvas),
        "covered": covered(texts),
    }
    assert not any(bad.values()), bad


def laid_out(draw, size):
    """A drawing as it is saved, and the texts in it that are shown."""
    with matplotlib.rc_context(STYLE):
        canvas = Canvas(figsize=size, layout="constrained")
        draw(canvas)
        texts = []
        with mock.patch.object(Text, "draw", lambda text, renderer: texts.append(text)):
            canvas.draw_without_rendering()
    return canvas, [text for text in texts if text.get_visible() and text.get_text().strip()]


def too_small(texts, size):
    """Texts below seven points in the page, which shrinks pictures that are wider than its column."""
    scale = min(RESOLUTION / CSS_PIXELS, COLUMN / size[0])
    return [text.get_text() for text in texts if scale * text.get_fontsize() < SMALLEST - 1e-9]


def cut_off(texts, canvas):
    """Texts that leave the canvas by more than half a pixel."""
    room = canvas.bbox.padded(0.5)
    outside = []
    for text in texts:
        box = text.get_window_extent()
        if not (room.contains(*box.min) and room.contains(*box.max)):
            outside.append(text.get_text())
    return outside


def covered(texts):
    """Pairs of texts that cover each other, which may be rotated."""
    outlines = [_outline(text) for text in texts]
    pairs = []
    for second, outline in enumerate(outlines):
        for first in range(second):
            if outline.intersects_path(outlines[first], filled=True):
                pairs.append((texts[first].get_text(), texts[second].get_text()))
    return pairs


def _outline(text):
    """The rectangle around a text, rotated with it, less a pixel on every side."""
    upright = text.get_window_extent()
    middle = np.array([upright.x0 + upright.x1, upright.y0 + upright.y1]) / 2
    degrees = text.get_rotation()
    text.set_rotation(0)
    flat = text.get_window_extent()
    text.set_rotation(degrees)
    across, up = flat.width / 2 - 1, flat.height / 2 - 1
    corners = np.array([[-across, -up], [across, -up], [across, up], [-across, up], [-across, -up]])
    angle = np.deg2rad(degrees)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return Outline(corners @ turn + middle, closed=True)

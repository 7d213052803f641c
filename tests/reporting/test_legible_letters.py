"""What tests of figures refuse: letters that are small, cut off or covered, by hand on a few texts."""

import pytest

from tests.legible import covered, cut_off, laid_out, refuse_bad_letters, too_small


def drawing(*texts):
    """Draws (x, y, words, look) of each text, x and y as shares of the canvas."""

    def draw(canvas):
        for x, y, words, look in texts:
            canvas.text(x, y, words, **look)

    return draw


@pytest.mark.parametrize(
    ("width", "small"),
    [
        (4.0, []),  # shown 1.56 times as large, a pixel of the picture by one of the screen
        (46 / 6, ["6.9"]),  # as wide as a page's column: as it is
        (2 * 46 / 6, ["6.9", "7.1"]),  # shown at half its size
    ],
)
def test_letters_are_measured_at_the_size_in_which_a_page_shows_them(width, small):
    texts = [(0.1, 0.5, str(size), {"fontsize": size}) for size in (6.9, 7.1, 14.1)]
    _, shown = laid_out(drawing(*texts), (width, 1.0))
    assert too_small(shown, (width, 1.0)) == small


def test_a_text_over_the_edge_is_cut_off_and_an_empty_or_hidden_one_is_not():
    texts = [
        (0.5, 0.5, "inside", {}),
        (0.99, 0.2, "right", {}),
        (0.5, 0.99, "top", {}),
        (-0.01, 0.8, "left", {}),
        (0.5, -0.01, "bottom", {}),
        (2.0, 2.0, " ", {}),
        (2.0, 2.0, "hidden", {"visible": False}),
    ]
    canvas, shown = laid_out(drawing(*texts), (3.0, 2.0))
    assert cut_off(shown, canvas) == ["right", "top", "left", "bottom"]


@pytest.mark.parametrize(("degrees", "pairs"), [(0, []), (90, [("over", "under")])])
def test_texts_cover_each_other_as_they_are_rotated(degrees, pairs):
    """Two lines 20 points apart, of about 25 points each."""
    look = {"rotation": degrees, "ha": "center", "va": "center", "fontsize": 10}
    draw = drawing((0.5, 0.5 + 10 / 144, "over", look), (0.5, 0.5 - 10 / 144, "under", look))
    _, shown = laid_out(draw, (2.0, 2.0))
    assert covered(shown) == pairs


def test_parallel_oblique_texts_whose_upright_boxes_meet_do_not_cover():
    look = {"rotation": 45, "fontsize": 8}
    _, shown = laid_out(drawing((0.1, 0.1, "first", look), (0.2, 0.1, "second", look)), (2.0, 2.0))
    boxes = [text.get_window_extent() for text in shown]
    assert boxes[0].overlaps(boxes[1]) and covered(shown) == []


def test_a_drawing_with_bad_letters_is_refused_with_their_words():
    with pytest.raises(AssertionError, match="'too small': \\['tiny'\\], 'cut off': \\[\\]"):
        refuse_bad_letters(drawing((0.5, 0.5, "tiny", {"fontsize": 4})), (3.0, 2.0))

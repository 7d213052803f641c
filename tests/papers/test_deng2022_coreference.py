"""The article page and the figures of mentions, on texts small enough to count by hand."""

from __future__ import annotations

import numpy as np
import pytest
from samples.chains import pronoun_chains as drawn

from longform.critics.coreference.attribution import ChainInText, marks
from longform.critics.coreference.chains import Mention, person_chain
from longform.critics.coreference.score import MentionCritic
from longform.reporting.coreference_figures import figure_5, figure_doses, label
from longform.reporting.coreference_page import article_figure, article_html, wrap

CRITIC = MentionCritic().fit(drawn("real", 60))

TEXT = "Anna <b>met</b> Tom. He liked her & she liked him.\n\nNobody else came."
MENTIONS = [Mention(0, 4, 0, True), Mention(16, 19, 1, True), Mention(21, 23, 1), Mention(30, 33, 0)]


def in_text() -> ChainInText:
    """The chain of the text above, as a readout gives it back."""
    item = person_chain("d", "test", TEXT, MENTIONS)
    return ChainInText("d", "test", item.chain.symbols, True, item.spans, TEXT)


def test_page_colours_mentions_escapes_text_and_circles_what_is_improbable():
    item = in_text()
    found = marks(item, CRITIC, threshold=-2.0)
    assert any(mark.bad for mark in found) and not all(mark.bad for mark in found)
    page = article_html("A & B", TEXT, found)
    assert "&lt;b&gt;met&lt;/b&gt;" in page and "<b>" not in page and "A &amp; B" in page
    assert page.count('class="bad"') == sum(mark.bad and mark.symbol != "." for mark in found)
    assert page.count("<mark") == len(MENTIONS)
    plain = marks(item, CRITIC, threshold=-99.0)
    assert "No 5-gram below the threshold" in article_html("x", TEXT, plain)


def test_figure_draws_one_circle_per_improbable_symbol():
    item = in_text()
    found = marks(item, CRITIC, threshold=-2.0)
    figure = article_figure("title", TEXT, found)
    assert len(figure.axes[0].patches) == sum(mark.bad for mark in found)


@pytest.mark.parametrize("text", ["a bc def", "abcdefghijkl", "ab\n\ncd ef", "", "a " * 30, "x\n"])
def test_wrapped_lines_fit_and_keep_every_visible_character(text):
    rows = wrap(text, 5)
    assert all(b - a <= 5 for a, b in rows)
    assert "".join(text[a:b] for a, b in rows).replace(" ", "") == text.replace(" ", "").replace("\n", "")
    assert np.all(np.diff([a for a, _ in rows]) > 0)


def test_figure_5_prints_every_symbol_with_its_cost():
    item = in_text()
    figure = figure_5(TEXT, marks(item, CRITIC))
    written = [text.get_text() for text in figure.axes[0].texts]
    assert [label(symbol) for symbol in item.symbols] == [w for w in written if w == "." or w.startswith("[")]
    assert label("MALE:3") == "[Male]3" and label("he:0") == "[he]0" and label(".") == "."


def test_dose_figure_starts_every_critic_at_one():
    rows = [(d, "mentions", {"value": 2 + d, "low": 1.9 + d, "high": 2.2 + d}) for d in (0.5, 0.0)]
    line = figure_doses(rows, "wrong pronoun").axes[0].lines[0]
    assert line.get_ydata()[0] == 1.0 and line.get_ydata()[1] > 1.0 and list(line.get_xdata()) == [0.0, 0.5]

"""Words of a paragraph of Markdown, by the rules of CommonMark and of GitHub."""

import pytest

from longform.text.markdown import prose, prose_sections
from longform.text.markdown_inline import shown_words

WORDS = {  # a paragraph, and what its reader sees
    "strong words begin emphasised ones": ("blah ***hello* world***", "blah hello world*"),
    "a pair within another": ("***New** object:* it", "New object: it"),
    "two marks around": ("_**Warning**_: it", "Warning: it"),
    "within a word": ("Sha**nghai** and *H*<sub>c</sub>", "Shanghai and Hc"),
    "marks across a link": ("**x [a*b**c*](d)", "**x ab**c"),
    "long": ("**" + "word " * 200 + "end**", "word " * 200 + "end"),
    "struck": ("a ~~b c~~ d ~e", "a b c d ~e"),
    "hard break": ("a\\\nb  \nc", "a b c"),
    "image within a link": ("[![built](a.svg)](b) x", "x"),
    "address of mail": ("Ann <a@b.org> (<https://c.org/d%20e>)", "Ann a@b.org (https://c.org/d%20e)"),
    "tag": ("a <b class='x > y'>c</b> 1 < 2 <3", "a c 1 < 2 <3"),
    "tag of a block": ("a<br/>b<sup>2</sup>", "a b2"),
    "code first": ("`<b> [^1] *a*` b", "<b> [^1] *a* b"),
    "note": ("a [^1], b[^n *o*]. \\[^2]", "a, b. [^2]"),
    "entities": ("&amp; &copy; &copy &#65;", "& © &copy A"),
    "address with brackets": ("[wd](https://a.com/(wd)) [x](y z)", "wd [x](y z)"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "words"), WORDS.values(), ids=WORDS)
def test_a_reader_sees_the_words_without_their_marks(text, words):
    assert shown_words(text) == words


def test_a_label_may_hold_code_and_differ_in_case():
    text = "# T\n[`f()`] and [A b] and [c]\n\n[`f()`]: /x\n[a  B]: /y\n[^c]: A note.\n# U\nx"
    assert prose_sections(text) == [("T", "f() and A b and [c]"), ("U", "x")]


PARAGRAPHS = {  # lines, and their paragraphs
    "items begin in an item": ("* * foo\n* 1. - bar", ["foo", "bar"]),
    "a number within words": ("There are\n14. It is so.", ["There are 14. It is so."]),
    "one begins a list": ("There are:\n1. a\n2. b", ["There are:", "a", "b"]),
    "an item goes on": ("1. a\n\n   b\n2. c\n   3. d", ["a", "b", "c", "d"]),
    "a list has ended": ("1. a\n\nIn all\n2. b", ["a", "In all 2. b"]),
    "addresses alone": ("<https://a.org>\n<a@b.org>\n<b>\nx", ["https://a.org a@b.org", "x"]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "paragraphs"), PARAGRAPHS.values(), ids=PARAGRAPHS)
def test_signs_of_items_and_addresses_on_lines_of_their_own(text, paragraphs):
    assert prose(text.split("\n")) == paragraphs

"""Code and HTML of Markdown: no heading in them is one, and code ends with what holds it."""

import pytest

from longform.text.markdown import prose, sections_in
from longform.text.markdown_blocks import blocks_of

CASES = {  # a text, and its lines' kinds: c of code, h of HTML, a point for neither
    "fence behind an item's sign": ("- ```\n    foo\n  ```\n\n# A\n\n```\n# no\n```", "ccc.." + ".ccc"),
    "fence in an item of an item": ("1. a\n   - b\n\n     ~~~\n     # no\n     ~~~\n# A", "...ccc."),
    "fence far inside no item": ("text\n    ```\n# A", "..."),
    "the item's end closes": ("- ```\n  code\n# A", "cc."),
    "blank lines of an item": ("- ```\n\n  # no\n  ```\n# A", "cccc."),
    "fence in a quotation": ("> ```\n> # no\n> ```\n> said", "ccc."),
    "the quotation's end closes": ("> ```\nfoo\n```\n# no", "c.cc"),
    "item in a quotation": ("> - ```\n>   x\n>   ```\n# A", "ccc."),
    "quotation signs in code": ("```\n> ```\n# no\n```\n# A", "cccc."),
    "rules and underlines are no items": ("* * *\n- - -\nT\n---\n```\nx\n```", "....ccc"),
    "preformatted": ("<pre>\n# no\n\n```\n# no\n</pre>\n# A", "hhhhhh."),
    "preformatted on one line": ("<pre>x</pre>\n# A", "h."),
    "division up to a blank line": ("<div>\n# no\n</div>\n# no\n\n# A", "hhhh.."),
    "other tag alone": ("# A\n<example>\n</example>\n# no\n\n# B", ".hhh.."),
    "other tag in a paragraph": ("text\n<example>\n# A", "..."),
    "tag before words": ("<b>x</b> y\n# A", ".."),
    "comment around code": ("<!--\n```\n# no\n```-->\n# A", "hhhh."),
    "comment on one line": ("<!-- x -->\n# A", "h."),
    "comment that never ends": ("<!-- x\n# A", ".."),
}  # fmt: skip


@pytest.mark.parametrize(("text", "kinds"), CASES.values(), ids=CASES)
def test_lines_are_code_or_html_as_in_commonmark(text, kinds):
    letters = {"code": "c", "html": "h", "": "."}
    assert "".join(letters[kind] for kind in blocks_of(text.split("\n")).kinds) == kinds


def test_headings_behind_code_in_a_list_are_the_texts_own():
    text = "## A\n\n- ```\n    foo\n  ```\n\n## B\n\n```text\n# foo\n```\n\n## C\nx"
    assert [title for title, _ in sections_in(text)] == ["A", "B", "C"]


@pytest.mark.parametrize(("text", "sections"), [
    ("[a]: http://b\n---\nx", [(None, "[a]: http://b\n---\nx")]),
    ("# A\nx\n\n[a]: /b 'Its title'\nT\n---\ny", [("(lead)", "x\n\n[a]: /b 'Its title'"), ("T", "y")]),
    ("y\n\n[a]: /b\nT\n---\nx", [("(lead)", "y\n\n[a]: /b"), ("T", "x")]),
    ("[a]: is said\n---\nx", [("[a]: is said", "x")]),
    ("y[^1]\n\n[^1]: A note.\n---\nx", [(None, "y[^1]\n\n[^1]: A note.\n---\nx")]),
])  # fmt: skip
def test_addresses_of_links_and_footnotes_are_no_titles(text, sections):
    assert sections_in(text) == sections


def test_prose_has_no_code_of_lists_and_quotations():
    text = "1. One.\n\n    ```sh\n    run\n    ```\n\n    More.\n\n> Said:\n> ```\n> code\n> ```\n> He left."
    assert prose(text.split("\n")) == ["One.", "More.", "Said:", "He left."]

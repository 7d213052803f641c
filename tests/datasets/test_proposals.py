"""Proposals: sections of reStructuredText and Markdown as prose, years, titles by their counts, splits by year."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longform.datasets import proposals
from longform.text import markdown, restructured_text
from tests.refusals import refuses

PROPOSAL = """\
PEP: 9999
Title: Louder Prints
Created: 01-Apr-2025

========
Abstract
========

Printing is `too quiet <https://a.example/x>`__, says :pep:`20`; ``print("*a*")`` whispers [1]_.
It should *always* be **loud**, see `the list`_ and :class:`~io.Speaker`.

Examples
--------

Compare::

    print("a")

        deeper

- first item
  goes on
- second item

  with a paragraph

term
    its definition

.. note:: Mind the ears.
   They are sensitive.

.. code-block:: python
   :emphasize-lines: 1

   print("B")

>>> print("c")
c

=====  =====
loud   quiet
=====  =====
yes    no
=====  =====

+---+
| a |
+---+

No underline
--

.. [1] A footnote.
.. _the list: https://b.example
.. A comment
   of two lines.

========
Copyright
========

Public domain.
"""


def test_sections_of_restructured_text_are_prose():
    assert restructured_text.sections_in(PROPOSAL) == [
        (
            "Abstract",
            'Printing is too quiet, says PEP 20; print("*a*") whispers. It should always be loud, see '
            "the list and Speaker.\n"
            "Compare:\nfirst item goes on\nsecond item\nwith a paragraph\nterm\nits definition\n"
            "Mind the ears. They are sensitive.\nNo underline --",
        ),
        ("Copyright", "Public domain."),
    ]


@pytest.mark.parametrize(("paragraph", "plain"), [
    ("a_b and snake_case_name, not a reference_.", "a_b and snake_case_name, not a reference."),
    ("2 * 3 * 4 and \\*escaped\\*", "2 * 3 * 4 and *escaped*"),
    ("`C++ <x>`_ or `role`", "C++ or role"),
    (":rfc:`822#section-3` beats :ref:`this one <label>` and :c:func:`!PyX`", "RFC 822 beats this one and PyX"),
    ("``a`` and ``b_``", "a and b_"),
    ("|name| stays", "name stays"),
    ("coverage.__init__, __call__() and SSTATE_*, not a-b_ or a.b__", "coverage.__init__, __call__() and SSTATE_*, not a-b or a.b"),
    ("``TypeVar``\\ s, H\\ :sub:`2`\\ O and *re*\\ ``st``", "TypeVars, H2O and rest"),
    ("\\`a\\` \\\\ \\*b\\* :math:`\\beta`", "`a` \\ *b* \\beta"),
    ("**all of ``a``** and *some ``b_``*", "all of a and some b_"),
    ("`after`:role: and _`target`", "after and target"),
    ("one [29c3]_, two [#a.b]_, three [#]_, four [a-1]_", "one, two, three, four"),
])  # fmt: skip
def test_inline_markup_of_restructured_text_leaves_words(paragraph, plain):
    assert restructured_text.prose([paragraph]) == [plain]


@pytest.mark.parametrize(("lines", "prose"), [
    (["Said ::", "", "> quoted", "> code", "", "After."], ["Said", "After."]),
    (["Text", "    quoted text"], ["Text", "quoted text"]),
    (["| a line", "| another"], ["a line", "another"]),
    ([":Author: A. Person", ":Version: 2"], ["A. Person", "2"]),
    (["1. one", "2. two", "", "(a) three"], ["one", "two", "three"]),
    (["before", "", "----", "", "after"], ["before", "after"]),
    ([".. image:: a.png", "", ".. warning::", "   :class: x", "", "   Hot."], ["Hot."]),
    ([".. topic:: A", "", "   B.", "", ".. deprecated:: 3", "   C."], ["B.", "C."]),
    (["::", "", "  code only"], []),
    # below an item's literal block the item goes on
    (["- New::", "", "      code", "", "  It is new.", "", "- Old"], ["New:", "It is new.", "Old"]),
    (["1. a::", "", "   > quoted", "", "   b"], ["a:", "b"]),
    (["- a::", "", "b"], ["a:", "b"]),
    # a number within a paragraph is text
    (["The spirit of PEP", "402. We wrote", "it."], ["The spirit of PEP 402. We wrote it."]),
    (["A. Smith wrote", "this."], ["A. Smith wrote this."]),
    (["A. Smith wrote", "this", "here."], ["A. Smith wrote this here."]),
    (["A. one", "   more", "B. two"], ["one more", "two"]),
    # items begin in an item
    (["1. a. foo", "   b. bar"], ["foo", "bar"]),
    (["1. - foo", "   - bar", "2. A. Smith wrote", "   this."], ["foo", "bar", "A. Smith wrote this."]),
    (["(1) :Why: it", "      is"], ["it is"]),
    # lines below a field, a bar or an option begin anywhere behind it
    ([":Why: it is", "    so and", "    so", ":Who: we"], ["it is so and so", "we"]),
    (["| a", "      b", "| c"], ["a b", "c"]),
    (["* | a", "  | b"], ["a", "b"]),
    (["-a, --all  takes", "           all", "-o FILE  writes"], ["-a, --all takes all", "-o FILE writes"]),
    (["text", "", "__ https://a.example", "__ https://b.example"], ["text"]),
])  # fmt: skip
def test_blocks_of_restructured_text_without_code(lines, prose):
    assert restructured_text.prose(lines) == prose


DEFINITIONS = """
Abstract
========

Of |world|, |Big  Name|_ and ``|world|``: |logo| done |c| |today|.

.. |world| replace:: the *planet*
   Earth
.. |big name| replace:: `Big <https://a.example>`__
.. |logo| image:: logo.png
.. |c| unicode:: 0xA9 .. the copyright sign
"""


def test_names_between_bars_show_what_defines_them():
    [(_, shown)] = restructured_text.sections_in(DEFINITIONS)
    assert shown == "Of the planet Earth, Big and |world|: done © today."


def test_a_tab_is_an_indentation_to_the_eighth_column():
    assert restructured_text.sections_in("A\n=\n\nterm\n\tone\n        two\n") == [
        ("A", "term\none two")
    ]


def test_headings_need_a_line_as_long_and_levels_follow_styles():
    text = "AB\n=\n\nAbcdef\n====\nx\n\nSub\n~~~\n\nnot a\ntitle\n-----\n\nNext\n====\n"
    found = restructured_text.headings(text.split("\n"))
    assert [(heading.level, heading.title) for heading in found] == [
        (1, "Abcdef"),
        (2, "Sub"),
        (1, "Next"),
    ]
    for below in ("------", "====="):  # another sign, another length
        assert restructured_text.headings(["======", "Abcdef", below]) == []


MARKDOWN = """\
- Feature Name: loud
- Start Date: 2014-05-06

# Summary
[summary]: #summary

Be **very** loud, see [the _list_](https://a.example/b_(c)) or [summary]; `a[0]` and array[1] stay [as is].[^1]
<kbd>x</kbd> &amp; y \\*z\\*

> Quoted *text*
> goes on.

1. one
   more
2. [ ] two

```rust
fn a() {}
```

    indented code

| a | b |
|---|---|
| 1 | 2 |

![picture](a.png)
<!-- a comment -->
[^1]: A footnote.

## Details
Deeper.

# Drawbacks
Noise.
"""


def test_a_table_of_no_rows_ends_at_the_blank_line():
    assert markdown.prose(["| a |", "|---|", "", "Text."]) == ["Text."]


def test_sections_of_markdown_are_prose():
    assert markdown.prose_sections(MARKDOWN) == [
        (
            "Summary",
            "Be very loud, see the list or summary; a[0] and array[1] stay [as is]. x & y *z*\n"
            "Quoted text goes on.\none more\ntwo\nDeeper.",
        ),
        ("Drawbacks", "Noise."),
    ]


HTML = """## One

<nav>Home</nav><main><p>Text</p></main> a<br>b <b>bo</b>ld <td>c</td><td>d</td>

<script>
var x = 1;

alert(x);
</script>
After <style>p {color: red}</style>it `<br>`.
"""


def test_tags_of_blocks_part_words_and_scripts_are_no_text():
    assert markdown.prose_sections(HTML) == [("One", "Home Text a b bold c d\nAfter it <br>.")]


def test_a_heading_alone_on_its_level_is_the_documents_title():
    assert markdown.prose_sections("lead\n# My RFC\n## A\nx\n## B\ny\n### C\nz") == [
        ("A", "x"),
        ("B", "y\nz"),
    ]
    assert markdown.prose_sections("no heading") == []


def test_struck_words_linked_images_and_line_breaks_are_as_seen():
    text = "# One\na ~~b c~~ d ~ e ~/f~~g\n# Two\n[![alt](x.png)](http://x) h[][3]\\\ni \\\\\nj\\"
    assert markdown.prose_sections(text) == [
        ("One", "a b c d ~ e ~/f~~g"),
        ("Two", "h[][3] i \\ j\\"),
    ]


MARKS = st.text("a1 \n\t*_`[]()<>|#-=+:.\\~!&;\x00\u2028é", max_size=200)


@pytest.mark.parametrize("read", [markdown.prose_sections, restructured_text.sections_in])
@given(text=MARKS)
def test_whatever_the_marks_are_a_section_is_paragraphs_of_one_line(read, text):
    for title, body in read(f"A\n=====\n\n{text}\n\nB\n=====\n\nx\n"):
        assert title == " ".join(title.split())
        for paragraph in body.split("\n") if body else []:
            assert paragraph and paragraph == " ".join(paragraph.split())


@pytest.mark.parametrize("mark", ["*a ", "[", "![", "`a ", ":a", " _a", "|a ", "a_ "])
def test_marks_that_never_end_stay_words(mark):
    text = "x " + mark * 300
    for prose in (markdown.prose, restructured_text.prose):
        (paragraph,) = prose([text.rstrip()])
        assert paragraph.count("a") == text.count("a")


@pytest.mark.parametrize(("header", "year"), [
    ("PEP: 1\nCreated: 01-Apr-2025\n", 2025), ("---\neip: 1\ncreated: 2019-04-13\n---\n", 2019),
    ("- Start Date: (2016/08/04)\n", 2016), ("- Start Date: (fill me in, YYYY-MM-DD)\n", 0), ("# Created\n2020", 0),
])  # fmt: skip
def test_the_year_stands_behind_created_or_start_date(header, year):
    assert proposals.year(header) == year


def written(folder, texts):
    """Files of one line a section, each ``title: words`` under its heading; the year is the key's second part."""
    folder.mkdir(exist_ok=True)
    for (name, year), sections in texts.items():
        body = "".join(f"# {title}\n\n{text}\n\n" for title, text in sections)
        (folder / f"{name}.md").write_text(f"---\ncreated: {year}-01-01\n---\n{body}")


@pytest.fixture
def folder(tmp_path):
    """Ten documents before 2025 and two after; one has a title of its own, and all a copyright."""
    common = [("Motivations", "Why it is so."), ("Designs", "How it is done.")]
    texts = {(f"eip-{n}", 2010 + n): [*common, ("Copyright", "None.")] for n in range(10)}
    texts["eip-3", 2013] = [("Motivations", "Why it is so."), ("My Own", "Mine."), *common[1:]]
    texts |= {(f"eip-{n}", 2025): common for n in (20, 21)}
    texts["eip-30", 2015] = []
    written(tmp_path / "raw", texts)
    return tmp_path / "raw"


FILTERS = {"min_sections": 2, "min_tokens": 1, "min_title_count": 2}
SHARES = {"train": 0.6, "validation": 0.2, "test": 0.2}


def built(folder, **settings):
    given = {"name": "p", "seed": 1, "raw": folder, "filters": FILTERS, "shares": SHARES}
    return proposals.build(**given, **settings)


def test_a_rare_title_costs_its_document_or_its_section(folder):
    whole, alone = built(folder), built(folder, rare="section")
    assert whole.facts["dropped"] == {"infrequent title": 1}
    assert "eip-3" not in {document.id for document in whole.documents}
    (kept,) = [document for document in alone.documents if document.id == "eip-3"]
    assert [section.title for section in kept.sections] == ["motivation", "design"]
    assert alone.facts["rare_sections"] == 1 and alone.facts["dropped"] == {}


def test_boilerplate_is_deleted_and_counted_unless_the_entry_keeps_it(folder):
    corpus = built(folder, rare="section")
    assert corpus.facts["removed_sections"] == {"copyright": 9}
    kept = built(folder, rare="section", boilerplate=[])
    assert kept.facts["table_11"]["section_types"] == 3


def test_recent_documents_are_test_documents_and_can_be_read_apart(folder):
    corpus = built(folder, rare="section", recent=2025)
    splits = {document.id: document.split for document in corpus.documents}
    years = dict(zip(splits, corpus.truth["year"].tolist(), strict=True))
    assert {splits[name] for name in ("eip-20", "eip-21")} == {"test"} and years["eip-20"] == 2025
    assert list(splits.values()).count("train") == 6
    before = built(folder, rare="section", recent=2025, part="before")
    since = built(folder, rare="section", recent=2025, part="since")
    assert {d.id: d.split for d in (*before.documents, *since.documents)} == splits
    assert since.truth["year"].tolist() == [2025, 2025]
    assert since.truth["section_tokens_lengths"].tolist() == [2, 2]
    assert since.facts["dropped"] == {"not since 2025": 10}


def test_files_without_sections_are_counted_and_bad_settings_refused(folder):
    assert built(folder).facts["files"] == {"document": 12, "no sections": 1}
    refuses("no file matches 'pep-\\*'", built, folder, files="pep-*")
    refuses("rare is 'title'", built, folder, rare="title")
    refuses("part is 'since' and recent is None", built, folder, part="since")
    refuses("part is 'new'", built, folder, part="new", recent=2020)

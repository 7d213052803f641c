"""The synthetic wiki as a dump: well-formed XML, and sections that its markup leaves whole."""

import bz2
import xml.etree.ElementTree as ElementTree

from longform.datasets.synthetic_world.native_corpus import dump_files, write_page

PAGES = [write_page(3, number) for number in range(240)]
(DUMP,) = dump_files(3, 240).values()


def test_the_dump_is_one_xml_document_of_all_its_pages():
    space = {"m": "http://www.mediawiki.org/xml/export-0.10/"}
    found = ElementTree.fromstring(bz2.decompress(DUMP).decode()).findall("m:page", space)
    assert [p.findtext("m:title", None, space) for p in found] == [page.title for page in PAGES]
    assert [p.findtext("m:revision/m:text", None, space) for p in found] == [page.wikitext for page in PAGES]
    redirects = [p.find("m:redirect", space) is not None for p in found]
    assert redirects == [page.kind == "redirect" for page in PAGES]
    outside = [p.findtext("m:ns", None, space) != "0" for p in found]
    assert outside == [page.kind in ("talk", "template", "file") for page in PAGES]


def test_the_dump_has_every_kind_of_page_and_unique_ids():
    kinds = {page.kind for page in PAGES}
    assert kinds == {"article", "redirect", "disambiguation", "year", "talk", "template", "broken", "file"}
    assert len({page.page_id for page in PAGES}) == len(PAGES)
    wikitext = "".join(page.wikitext for page in PAGES)
    for mark in ("{{Infobox", "{|", "<ref", "[[File:", "<gallery>", "<!--", "#REDIRECT", "Ørsköping", "{{reflist"):
        assert mark in wikitext
    assert "%(" not in wikitext

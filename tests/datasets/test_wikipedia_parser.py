"""The guarded parser: a page that stalls, dies or raises costs its own tree and no other page."""

import signal

from longform.datasets.wikipedia.wikitext import GuardedParser

GOOD = "Zürich \U0001f600 東京.\n== Ω ==\nx"  # survives the pipe
SECTIONS = [("abstract", "Zürich \U0001f600 東京."), ("Ω", "x")]


def test_a_page_that_stalls_the_tree_is_scanned_within_its_cpu_seconds_and_the_next_page_is_parsed():
    with GuardedParser(page_seconds=1) as parser:
        stalled, outcome = parser.read("Intro. " + "[[a|" * 25_000 + "\n== One ==\nText.")
        assert outcome == "time-out: scanned"
        assert [title for title, _ in stalled] == ["abstract", "One"]
        assert parser.read(GOOD) == (SECTIONS, "parsed")


def test_a_killed_parser_is_replaced_and_its_page_scanned():
    with GuardedParser(page_seconds=5) as parser:
        assert parser.read(GOOD)[1] == "parsed"
        parser._child.send_signal(signal.SIGKILL)
        parser._child.wait()
        assert parser.read(GOOD) == (SECTIONS, "parser died: scanned")
        assert parser.read(GOOD) == (SECTIONS, "parsed")


def test_a_parser_that_sleeps_is_ended_by_the_wall_clock():
    with GuardedParser(page_seconds=1, wall_factor=8) as parser:
        parser.read(GOOD)
        parser._child.send_signal(signal.SIGSTOP)
        assert parser.read(GOOD) == (SECTIONS, "time-out: scanned")


def test_the_tree_of_a_page_that_needs_too_much_memory_is_given_up():
    with GuardedParser(page_seconds=30, memory=70 * 2**20) as parser:
        found, outcome = parser.read("[[a]] <b>b</b> " * 40_000)
    assert outcome != "parsed"
    assert found is None or found[0][0] == "abstract"

"""Headings of a marked-up text, and the sections of its highest level."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Heading:
    """A heading and the lines that it takes up."""

    level: int  # 1 is the highest
    title: str
    first: int  # lines from ``first`` to before ``after`` are the heading
    after: int


def top_sections(lines: Sequence[str], headings: Sequence[Heading]) -> list[tuple[str, list[str]]]:
    """Title and lines of each section of the highest level.

    Subsections and their headings are among the lines. A heading that is alone on the
    highest level is the text's own title; its subsections are the sections then. What stands before
    the first section belongs to none.

    Args:
        lines: the lines of the text.
        headings: its headings, in reading order.
    """
    if not headings:
        return []
    levels = [heading.level for heading in headings]
    if levels.count(min(levels)) == 1 and len(levels) > 1:
        levels.remove(min(levels))
    top = [heading for heading in headings if heading.level == min(levels)]
    sections = []
    for number, heading in enumerate(top, 1):
        stop = top[number].first if number < len(top) else len(lines)
        sections.append((heading.title, list(lines[heading.after : stop])))
    return sections

"""The expected time of a comparison, printed before any critic runs."""

from collections.abc import Sequence

from longform.criticize.panels import Panel
from longform.datasets.own_texts import Texts
from longform.errors import counted

COPIES_PACE = 200_000  # words a second in which near copies are looked for and lengths counted


def announcement(panels: Sequence[Panel], real: Texts, *systems: Texts) -> str:
    """A line that says how many words each critic will read, and in what time on one core.

    Args:
        panels: the critics.
        real, systems: the texts of all sides.
    """
    # 1. Words of each side; each critic reads them all at its pace.
    real_words = _num_words(real)
    generated_words = sum(map(_num_words, systems))
    total_words = real_words + generated_words
    total_seconds = 0.0
    times = []  # name and time of each critic
    for panel in panels:
        if panel.absent:
            continue
        seconds = total_words / panel.pace
        total_seconds += seconds
        how_to_spare = f" ({panel.spared})" if panel.spared else ""
        times.append(f"{panel.name} {duration(seconds)}{how_to_spare}")
    # 2. The search for copies comes on top.
    total = duration(total_seconds + total_words / COPIES_PACE)
    about = total if total.startswith("under") else f"about {total}"
    num_texts = " + ".join(str(len(side.documents)) for side in systems)
    return (
        f"{len(real.documents)} real and {num_texts} generated texts, "
        f"{real_words:,} and {counted(generated_words, 'word')}; "
        f"up to {counted(len(times), 'critic')}, {about} on one core: {'; '.join(times)}"
    )


def _num_words(texts: Texts) -> int:
    """Words, between blanks, of all texts of a side."""
    return sum(len(document.text.split()) for document in texts.documents)


def duration(seconds: float) -> str:
    """A time as text in s, min or h, whichever suits its size."""
    if seconds < 1:
        return "under 1 s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"

"""What a comparison will cost, said before any critic runs."""

from collections.abc import Sequence

from longform.criticize.panels import Panel
from longform.datasets.own_texts import Texts

COPIES_PACE = 200_000  # words a second in which near copies are looked for and lengths counted


def announcement(panels: Sequence[Panel], real: Texts, *systems: Texts) -> str:
    """How many words are read, by which critics, and for about how long on one core."""
    counts = [
        sum(len(document.text.split()) for document in side.documents) for side in (real, *systems)
    ]
    searched = sum(counts) / COPIES_PACE
    readers = [panel for panel in panels if not panel.absent]
    seconds = [sum(counts) / panel.pace for panel in readers]
    shares = []
    for panel, own in zip(readers, seconds, strict=True):
        shares.append(
            f"{panel.name} {duration(own)}" + (f" ({panel.spared})" if panel.spared else "")
        )
    whole = duration(sum(seconds) + searched)
    about = whole if whole.startswith("under") else f"about {whole}"
    return (
        f"{len(real.documents)} real and {' + '.join(str(len(side.documents)) for side in systems)} generated texts, "
        f"{counts[0]:,} and {sum(counts[1:]):,} words; "
        f"{len(readers)} critics, {about} on one core: {'; '.join(shares)}"
    )


def duration(seconds: float) -> str:
    """In the unit that a person would choose."""
    if seconds < 1:
        return "under 1 s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"

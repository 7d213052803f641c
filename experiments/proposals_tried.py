"""What ``longform criticize`` says of real texts that no critic was made on: Python's proposals.

    PYTHONPATH=src:. python experiments/proposals_tried.py --raw FOLDER

``FOLDER`` holds ``pep-*.rst``. A draw takes proposals at random: some are the real side, others the
generated one, and the same others once more with their sections in a random order. A critic's p
below 0.05, were it the only test, counts as a difference. Without ``--raw`` the table of the
committed record is printed.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.false_alarms import (
    ALARM,
    compared,
    generated,
    interval,
    quick_panels,
    random_texts,
    section_shuffles,
)
from longform.criticize.judging import judge
from longform.criticize.panels import Panel
from longform.datasets.proposals import read_folder
from longform.documents import Document
from longform.errors import BadInput
from longform.files.artefacts import read_json, write_json
from longform.statistics.random_streams import generator

REAL, OTHERS = 160, 80  # texts of a draw
MIN_SECTIONS = 2  # one section has no order
OUT = Path("experiments/matrix/measured/proposals_tried.json")


def main(argv: Sequence[str] | None = None) -> None:
    """Judge the draws where there are texts, and print how often each critic saw a difference."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--raw", type=Path, help="folder with pep-*.rst")
    parser.add_argument("--draws", type=int, default=20, help="random draws of texts (20)")
    parser.add_argument("--out", type=Path, default=OUT, help="JSON file of the p-values")
    options = parser.parse_args(argv)
    if options.raw is not None:
        documents = []
        for document in read_folder(options.raw, "pep-*.rst")[0]:
            if len(document.sections) >= MIN_SECTIONS:
                documents.append(document)
        write_json(options.out, tried(documents, options.draws))
    print(summary(read_json(options.out)))


def tried(documents: Sequence[Document], draws: int) -> dict[str, Any]:
    """Test random draws of proposals with every critic that needs no network.

    Args:
        documents: proposals to draw real and other texts from, at least ``REAL + OTHERS``.
        draws: number of draws.

    Returns:
        ``documents`` and ``draws``: their numbers. ``p_values``: by generated side (``others``,
        ``shuffled``) and critic, a list with one p-value for each draw in which it applied.

    Raises:
        BadInput: too few documents.
    """
    if len(documents) < REAL + OTHERS:
        raise BadInput(
            f"{len(documents)} proposals have {MIN_SECTIONS} sections or more; "
            f"{REAL + OTHERS} are needed"
        )
    p_values: dict[str, dict[str, list[float]]] = {"others": {}, "shuffled": {}}
    critics = quick_panels()
    for number in range(draws):
        rng = generator("proposals tried", number)
        sample = random_texts(documents, REAL + OTHERS, rng)
        real, others = sample[:REAL], generated(sample[REAL:])
        for name, side in (("others", others), ("shuffled", section_shuffles(others, rng))):
            for critic, p_value in judged(critics, real, side, seed=number).items():
                p_values[name].setdefault(critic, []).append(p_value)
        print(f"draw {number + 1} of {draws}", flush=True)
    return {"documents": len(documents), "draws": draws, "p_values": p_values}


def judged(
    critics: Sequence[Panel], real: Sequence[Document], others: Sequence[Document], seed: int
) -> dict[str, float]:
    """The p-value of each critic that applies, by critic, as ``longform criticize`` computes it.

    A critic that does not apply to these texts is left out, and its reason printed.
    """
    texts = compared(real, others, equal=True)
    p_values = {}
    for panel in critics:
        try:
            p_values[panel.name] = judge(panel, texts, seed).difference.p_value
        except BadInput as problem:
            print(f"{panel.name}: {problem}", flush=True)
    return p_values


def summary(record: dict[str, Any]) -> str:
    """Markdown: in how many draws each critic saw a difference, with exact 95 % intervals.

    ``record`` is that of :func:`tried`. Against others, which are real too, a difference is a false
    alarm; with sections shuffled it is a find.
    """
    lines = ["| critic | against others | against others, sections shuffled |", "|---|---|---|"]
    for critic in record["p_values"]["others"]:
        cells = [critic]
        for side in ("others", "shuffled"):
            values = record["p_values"][side].get(critic, [])
            alarms = sum(p_value < ALARM for p_value in values)
            low, high = interval(alarms, len(values))
            percent = f"{100 * low:.0f}, {100 * high:.0f} %"
            cells.append(f"{alarms} of {len(values)} [{percent}]")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()

"""Word PPL and Latent PPL of every system in one file, which ``dvc plots`` draws and ``dvc plots diff`` compares over a sweep."""

from __future__ import annotations

import csv

from longform.core.artefacts import read_json, whole
from longform.core.experiment import Experiment

COLUMNS = ("corpus", "system", "word_ppl", "latent_ppl")


def curve(experiment: Experiment, study: str) -> None:
    """Metrics of the perplexity and section order critics -> ``data/plots/systems.csv``, one system a line."""
    folder = experiment.data / "metrics" / study
    words, latents = read_json(folder / "perplexity.json"), read_json(folder / "section_order.json")
    with whole(experiment.data / "plots" / "systems.csv") as path, path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for corpus, systems in words.items():
            for system, metrics in systems.items():
                latent = latents.get(corpus, {}).get(system, {}).get("latent_ppl")
                writer.writerow([corpus, system, metrics["word_ppl"], latent])

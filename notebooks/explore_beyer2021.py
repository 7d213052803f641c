# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Is incoherence surprising?
#
# Beyer, Loáiciga and Schlangen (2021) damage a text and ask whether a language model finds the damaged version more
# surprising. This notebook reads the records of the default run, draws the accuracies anew, and asks one question
# more. The items are synthetic and the network is small; what real items say is in `docs/results/real_suites.md`.

# %%
from pathlib import Path

import matplotlib.pyplot as plt

from longform.results import read_results

ROOT = next(folder for folder in [Path.cwd(), *Path.cwd().parents] if (folder / "dvc.yaml").is_file())

records = read_results(ROOT / "data/scores/suites/surprisal.json").where(metric="accuracy")
SUITES = [task for task in records.values("task") if not task.startswith("connective")]

# %% [markdown]
# ## The main figure: items passed, trained against untrained
#
# A dot is the share of items of a suite in which the sound version costs fewer bits, with its 95 % interval. The 49
# suites of connectives are left out here.

# %%
figure, axes = plt.subplots(figsize=(6, 0.28 * len(SUITES) + 1))
for system, colour, marker in (("gpt2", "#0072b2", "o"), ("untrained", "0.55", "s")):
    found = [records.find(task=task, system=system) for task in SUITES]
    places = [place for place, record in enumerate(found) if record]
    shown = [record for record in found if record]
    errors = [[r.value - r.low for r in shown], [r.high - r.value for r in shown]]
    values = [record.value for record in shown]
    axes.errorbar(values, places, xerr=errors, fmt=marker, color=colour, label=system, capsize=2, markersize=4)
axes.axvline(0.5, color="0.3", linestyle=":", linewidth=1)
axes.set_yticks(range(len(SUITES)), [task.replace("_", " ") for task in SUITES], fontsize=8)
axes.invert_yaxis()
axes.set(xlabel="items passed (share; one half is chance on most suites)", xlim=(0, 1.03))
axes.legend(fontsize=8, loc="lower left")
plt.show()

# %% [markdown]
# ## One question more: where does an untrained network do better or worse than a coin?
#
# It knows no word. Where its interval leaves one half, length or the number of repeated tokens gives the answer away,
# and the trained network's share is to be read against that floor.

# %%
for record in records.where(system="untrained"):
    if record.low > 0.5 or record.high < 0.5:
        trained = records.one(task=record.task, system="gpt2")
        interval = f"[{record.low:.2f}, {record.high:.2f}]"
        print(f"{record.task:45} untrained {record.value:.2f} {interval}, trained {trained.value:.2f}")

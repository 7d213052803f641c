# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Does BBScore tell a text from its shuffle?
#
# Sheng, Zhang, Jiang and Kang (2024) rank an article against versions whose sentences were shuffled in blocks. This
# notebook reads the records of the default run, draws the accuracies anew, and asks one question more. The articles
# are synthetic; what real ones say is in `docs/results/bbscore.md`.

# %%
from pathlib import Path

import matplotlib.pyplot as plt

from longform.results import read_results

ROOT = next(folder for folder in [Path.cwd(), *Path.cwd().parents] if (folder / "dvc.yaml").is_file())

SCORES = ROOT / "data/scores/articles"
records = read_results(SCORES / "bbscore.json", SCORES / "entity_grid.json")
BLOCKS = [1, 2, 5, 10]
CRITICS = {
    "BBScore": {"critic": "bbscore", "seed": None, "variant": ""},
    "three-layer classifier of its features": {"critic": "three_layer", "seed": None, "variant": ""},
    "entity grid, role transitions": {"critic": "grid_transitions"},
}


def accuracy(critic, block):
    """The record of a critic's pairwise accuracy on blocks of so many sentences."""
    filters = {"metric": "pairwise_accuracy", "corpus": "wiki", "task": f"block_{block}"}
    return records.one(**filters, **CRITICS[critic])

# %% [markdown]
# ## The main figure: accuracy by size of the shuffled block
#
# One half is chance. Larger blocks keep more of the original order, so they are harder.

# %%
figure, axes = plt.subplots(figsize=(6, 3.5))
for place, critic in enumerate(CRITICS):
    found = [accuracy(critic, block) for block in BLOCKS]
    values = [record.value for record in found]
    errors = [[r.value - r.low for r in found], [r.high - r.value for r in found]]
    x = [index + (place - 1) * 0.08 for index in range(len(BLOCKS))]  # side by side
    axes.errorbar(x, values, errors, marker="o", capsize=3, label=critic)
axes.axhline(0.5, color="0.3", linestyle=":", linewidth=1, label="chance")
axes.set_xticks(range(len(BLOCKS)), BLOCKS)
axes.set(xlabel="sentences in a shuffled block", ylabel="pairs ranked correctly (share)", ylim=(0.4, 1))
axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
plt.show()

# %% [markdown]
# ## One question more: does one training decide it?
#
# BBScore's encoder is trained three times. How far apart are the three, against the interval of one?

# %%
print("block  lowest  highest  of three trainings; width of one training's own 95 % interval")
for block in BLOCKS:
    filters = {"critic": "bbscore", "metric": "pairwise_accuracy", "variant": "", "corpus": "wiki"}
    trainings = [r for r in records.where(task=f"block_{block}", **filters) if r.seed is not None]
    values = [record.value for record in trainings]
    width = sum(record.high - record.low for record in trainings) / len(trainings)
    print(f"{block:5}  {min(values):6.3f}  {max(values):7.3f}  {width:.3f}")

# %% [markdown]
# Where the spread is as wide as an interval over articles, a comparison of two critics needs several trainings of
# each: the records without a seed are means over trainings, whose intervals cover both.

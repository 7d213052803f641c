# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Which measure of coherence goes with people?
#
# Lapata and Barzilay (2005) correlate models of coherence with people's ratings of summaries. This notebook reads the
# records of the default run, draws the correlations anew, and asks one question more. Summaries and raters are
# simulated, with known damage; what real raters say is in `experiments/lapata2005/rated_summaries.md`.

# %%
from pathlib import Path

import matplotlib.pyplot as plt

from longform.results import read_results

ROOT = next(folder for folder in [Path.cwd(), *Path.cwd().parents] if (folder / "dvc.yaml").is_file())

records = read_results(ROOT / "data/scores/human_ratings/summaries.json")
correlations = sorted(records.where(metric="spearman"), key=lambda record: abs(record.value))

# %% [markdown]
# ## The main figure: rank correlation with the mean rating
#
# Bars are 95 % intervals over clusters of summaries. Measures that fall where coherence rises (perplexity, repeats,
# distances) point to the left when they work.

# %%
figure, axes = plt.subplots(figsize=(6, 0.27 * len(correlations) + 1))
for place, record in enumerate(correlations):
    sure = record.low > 0 or record.high < 0
    colour = "#0072b2" if sure else "0.6"
    error = [[record.value - record.low], [record.high - record.value]]
    axes.errorbar(record.value, place, xerr=error, fmt="o", color=colour, capsize=2, markersize=4)
axes.axvline(0, color="0.3", linestyle=":", linewidth=1)
axes.set_yticks(range(len(correlations)), [r.critic.replace("_", " ") for r in correlations], fontsize=8)
axes.set(xlabel="Spearman correlation with the mean rating (blue: its interval leaves zero)")
plt.show()

# %% [markdown]
# ## One question more: how much of what raters agree on does the best measure reach?
#
# Raters agree with one another only so far (their mean correlation). Both are correlations, so their ratio is a rough
# share, not an estimate with an interval.

# %%
agreement = records.one(metric="rater_agreement").value
best = correlations[-1]
reached = abs(best.value) / agreement
print(f"best: {best.critic}, {best.value:.2f} [{best.low:.2f}, {best.high:.2f}]; raters: {agreement:.2f}")
print(f"it reaches {reached:.0%} of the raters' agreement; it is the best of {len(correlations)} measures")

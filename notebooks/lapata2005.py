# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Automatic evaluation of text coherence: a reading guide
#
# Lapata and Barzilay (2005) compare an entity grid, which models how roles of entities change from sentence to
# sentence, with measures of lexical cohesion, against how people rate summaries. All magnitudes of the paper are lost
# from the text that could be read; what survives are statements on which models go with people and how many signs are
# negative.
#
# Nothing is computed here: every cell shows what `make repro` wrote to `paper_figures/lapata2005` and names the command
# behind it. Printed numbers are in `experiments/lapata2005/expected.yaml`, departures from the paper
# in `experiments/lapata2005/deviations.md`.

# %%
from exhibits import Exhibits

exhibits = Exhibits("lapata2005")

# %% [markdown]
# ## Correlations with people and with each other
#
# The first column correlates each model's values with people's mean marks, the others correlate models with one
# another. Jiang-Conrath is a distance, so it works where its sign is negative. Intervals resample whole clusters,
# because summaries of one source share their words; no model should pass people's own agreement.

# %%
exhibits.show("correlations")

# %% [markdown]
# ## A combined model
#
# Stepwise regression chooses among the paper's models on two thirds of the clusters and is judged on the rest. The
# paper's procedure is lost; ours is written in the notes.

# %%
exhibits.show("regression")

# %% [markdown]
# ## Every scorer on every shuffle
#
# Pairwise accuracy against shuffled order, with a test against chance. A dash is a scorer that ties on every pair and
# so is blind to that kind of order. `meta_evaluation` asks which scorer goes with people better than which.

# %%
exhibits.show("matrix", "meta_evaluation")

# %% [markdown]
# ## What else the run wrote, and the records behind it all

# %%
exhibits.rest()
exhibits.scores()

# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # What each critic sees: a reading guide
#
# Every critic of the five papers judges one corpus that is damaged in one known way at a time, at five doses. A
# critic should react to the failure that it is meant for, and it is no shame if it is blind to the others. No paper
# has this table.
#
# Nothing is computed here: every cell shows what `make repro` wrote to `paper_figures/matrix` and names the command
# behind it. The corruptions are described in `docs/data_cards/synthetic_world.md`, the scorers in
# `experiments/matrix/README.md`.

# %%
from exhibits import Exhibits

exhibits = Exhibits("matrix")

# %% [markdown]
# ## The matrix and its figure
#
# A cell of the table is the mean difference of damaged from sound text, paired by document, at one dose; its unit is
# the critic's own, so compare along a row, not down a column. In the figure each row has one scale, shaded panels are
# the failures that a critic is meant for, and a dot marks a dose seen at p < 0.01. The notes count responses off the
# diagonal, which are reported as they are: a repeated sentence, say, also moves scores of cohesion.

# %%
exhibits.show("corruption_matrix", "corruption_responses")

# %% [markdown]
# ## What else the run wrote, and the records behind it all

# %%
exhibits.rest()
exhibits.scores()

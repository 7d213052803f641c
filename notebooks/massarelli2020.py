# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Decoding and verifiability: a reading guide
#
# Massarelli et al. (2020) let a model continue the first sentence of encyclopedia pages under nine decoders and check
# the first five sentences of each continuation. SPG is supported sentences per generation, SPV supported among
# verified ones; a U in front counts equal evidence once, so that a decoder cannot win by saying one true thing five
# times. The checker of the default run knows the synthetic pages.
#
# Nothing is computed here: every cell shows what `make repro` wrote to `paper_figures/massarelli2020` and names the command
# behind it. Printed numbers are in `experiments/massarelli2020/expected.yaml`, departures from the paper
# in `experiments/massarelli2020/deviations.md`.

# %%
from exhibits import Exhibits

exhibits = Exhibits("massarelli2020")

# %% [markdown]
# ## Tables 1 and 3: decoders
#
# People's own text is the first row. Read SPG beside the 4-grams: beam search says more that can be supported, and
# repeats itself. The rows at the settings of the paper and those that validation chose here stand apart; Table 3
# shows the choice by USPG, over the whole grid.

# %%
exhibits.show("table_1", "table_3")

# %% [markdown]
# ## Table 2: people
#
# What the paper's annotators found, and exact repeats counted here; ours appear once somebody has filled the sheet in
# the study app.

# %%
exhibits.show("table_2")

# %% [markdown]
# ## Table 4 and the figures
#
# Table 4 counts sentences, entities and such by decoder, by rules. Figure 2 compares training corpora (and sizes, in
# the scale `three_seeds`), Figures 3 and 5 the length of the delay and of the blocked n-grams; Figure 4 asks what kind of sentence gets
# supported. `trade_off` is ours: support against repetition for every decoder at once.

# %%
exhibits.show("table_4", "figure_2", "figure_3", "figure_4", "figure_5", "trade_off")

# %% [markdown]
# ## How far the checker can be trusted
#
# Recall and precision of the checker on claims whose label is known, and support corrected for them. A measure of
# verifiability is never better than this table.

# %%
exhibits.show("checker")

# %% [markdown]
# ## What else the run wrote, and the records behind it all

# %%
exhibits.rest()
exhibits.scores()

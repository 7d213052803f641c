# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Model criticism for long-form text: a reading guide
#
# Deng, Kuleshov and Rush (2022) map a text to a latent chain (section titles, mentions, topics, languages), fit a
# simple model of that chain on real text (the critic), and ask how likely generated chains are under it. The finding
# to look for: models that are close to real text word by word can be far from it in the latent space. Nearness to
# real text's own score is good, not a low score.
#
# Nothing is computed here: every cell shows what `make repro` wrote to `paper_figures/deng2022` and names the command
# behind it. Printed numbers are in `experiments/deng2022/expected.yaml`, departures from the paper
# in `experiments/deng2022/deviations.md`.

# %%
from exhibits import Exhibits

exhibits = Exhibits("deng2022")

# %% [markdown]
# ## Table 1: a language whose truth is known
#
# The corpus is sampled from a hidden semi-Markov process, so the first row is exact and the second is what finite
# data score. Read across a row: a transformer may be near in word PPL and far in Latent PPL. *Survival* is the share
# of samples that the oracle could decode; a low one means that Latent PPL speaks of the better part of the samples
# only. Printed values belong to a larger process and are not comparable.

# %%
exhibits.show("table_1")

# %% [markdown]
# ## Tables 2 and 3: section titles
#
# Real text's own Latent PPL is the yardstick; W/ Title models saw titles between sections, W/O Title ones did not,
# and their sections are labelled by a classifier. Table 3 repeats it on articles short enough that two neighbouring
# sections fit into the window, so that a short memory cannot be the excuse. Table 5, whether a larger network helps,
# is drawn where there are several sizes: in the scales `three_seeds` and `sizes`.

# %%
exhibits.show("table_2", "table_3")

# %% [markdown]
# ## Can the classifier be trusted?
#
# `title_calibration` says how often the title classifier is right and whether its confidence means anything.
# `inference_error` takes its errors out of Latent PPL: compare the corrected number with gold titles and with the
# exact one. `appendix_a` splits the score into the parts of the paper's appendix.

# %%
exhibits.show("title_calibration", "inference_error", "appendix_a")

# %% [markdown]
# ## Which transitions are bad
#
# Table 12 lists the most common improbable transitions between sections, as a share of all transitions of that set; a
# section after itself is the typical one. Figure 4 draws the model's transition probabilities less those of real
# text, framed where the critic objects. Table 13 and Figure 1 show single articles.

# %%
exhibits.show("table_12", "figure_4", "table_13", "figure_1")

# %% [markdown]
# ## Tables 6, 7 and 15-17: mentions of persons
#
# A chain here is the sequence of gendered mentions of persons, names and pronouns. Columns differ in the critic (add-
# delta bigram or Kneser-Ney 5-gram) and in who read the chains: gold ones, or one resolver on both sides as in the
# paper. A critic of gold chains applied to read ones mixes the resolver's errors with the text's, and the notes under
# the table say where that turns an ordering over. Tables 6 and 15-17 name the 5-grams behind the gap.

# %%
exhibits.show("table_7", "table_6", "table_15", "table_16", "table_17", "table_resolvers")

# %% [markdown]
# ## Figures 5 and 10-13: mentions in their text
#
# Each symbol of the chain with its log probability below the sentence it comes from; circled ones are those that the
# critic finds improbable. `figure_wrong_pronoun` is ours: pronouns get the wrong gender in ever more places, and only
# the critic of mentions should react.

# %%
exhibits.show("figure_5", "figures_10_13", "figure_wrong_pronoun")

# %% [markdown]
# ## Table 9, Table 14, Figures 6, 8 and 9: topics
#
# Topic logits of whole documents under a correlated topic model; the critic is a Gaussian and its score a density, so
# negative log likelihoods may be compared within a corpus only. The figures show covariances of topics: a model that
# follows real text shows the same pattern. Table 14 has the documents that lie farthest out.

# %%
exhibits.show("table_9", "table_14", "figure_6", "figure_8", "figure_9")

# %% [markdown]
# ## Table 10 and Figure 7: mixed languages
#
# Translations that mix two target languages word by word. A corner of the simplex is a text in one language; the
# autoregressive translator should keep to corners, the non-autoregressive one should scatter inside, as it chooses
# every word alone.

# %%
exhibits.show("table_10", "figure_7")

# %% [markdown]
# ## Table 11: the corpora
#
# Articles per split and statistics of sections, after the filters that the notes count. Lengths are counted in pieces
# where no GPT-2 tokenizer is at hand, which is a lower bound.

# %%
exhibits.show("table_11")

# %% [markdown]
# ## What else the run wrote, and the records behind it all

# %%
exhibits.rest()
exhibits.scores()

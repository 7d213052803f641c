# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # BBScore: a reading guide
#
# Sheng, Zhang, Jiang and Kang (2024) encode each sentence, and ask whether the path of latents through a document
# looks like a Brownian bridge from its first sentence to its last. The score is a negative mean log density: the
# lower, the more coherent. Lines without a variant use a trained encoder, *gold* ones the synthetic world's own bridge,
# *likelihood* ones another training objective.
#
# Nothing is computed here: every cell shows what `make repro` wrote to `paper_figures/sheng2024` and names the command
# behind it. Printed numbers are in `experiments/sheng2024/expected.yaml`, departures from the paper
# in `experiments/sheng2024/deviations.md`.

# %%
from exhibits import Exhibits

exhibits = Exhibits("sheng2024")

# %% [markdown]
# ## Tables 1-3: telling a text from its shuffle
#
# Table 1 counts pairs. Table 2 shuffles blocks of sentences over the whole text, Table 3 only within windows;
# accuracy is the share of pairs in which the original has the better score, so one half is chance. Within a document
# of fixed length the variance cannot change who wins a pair, which is why the control in Figure 9 is flat.

# %%
exhibits.show("table_1", "table_2", "table_3")

# %% [markdown]
# ## Figures 4 and 9: one threshold for all documents
#
# ROC curves pool all originals and all shuffles, so that a score must mean the same in every document; that is harder
# than winning within pairs. Figure 9 varies the diffusion estimate: the area may depend on it, pairwise accuracy may
# not.

# %%
exhibits.show("figure_4", "figure_9")

# %% [markdown]
# ## Tables 4 and 5, Figures 5-7: human or machine
#
# The paper's six language models are not run here, so its rows stand apart from those of the model trained here, GPT-2
# with three decoders (the scale `three_seeds` adds GPT-2 XL). An
# accuracy below one half is no noise: the machine's text then gets the better score. Figure 6 compares whole
# distributions of diffusion estimates; Figure 7 shows how far latents lie from the origin along a document.

# %%
exhibits.show("table_4", "table_5", "figure_5", "figure_6", "figure_7")

# %% [markdown]
# ## Table 6 and length
#
# Table 6 predicts three classes of rated coherence; read it against the majority baseline, which the paper leaves
# out. `length` is ours: how far a score is only a measure of the number of sentences.

# %%
exhibits.show("table_6", "length")

# %% [markdown]
# ## What else the run wrote, and the records behind it all

# %%
exhibits.rest()
exhibits.scores()

# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Is incoherence surprising? A reading guide
#
# Beyer, Loáiciga and Schlangen (2021) write minimal pairs of texts, one of them damaged on purpose, and predict in
# which of the two a named region costs a language model more bits. A score is the share of items for which the
# prediction holds; one half is what a model without a clue gets on most suites. The networks here are small ones
# trained on synthetic text, beside an untrained one, so orderings are compared, not levels.
#
# Nothing is computed here: every cell shows what `make repro` wrote to `paper_figures/beyer2021` and names the command
# behind it. Printed numbers are in `experiments/beyer2021/expected.yaml`, departures from the paper
# in `experiments/beyer2021/deviations.md`.

# %%
from exhibits import Exhibits

exhibits = Exhibits("beyer2021")

# %% [markdown]
# ## Table 1: order
#
# *All* shuffles every sentence (N, narration) or utterance (D, dialogue), *context* all but the last, whose surprisal
# is then what counts. The paper finds the first easier than the second and dialogue harder to fool in its context.

# %%
exhibits.show("table_1")

# %% [markdown]
# ## Tables 2 and 3: stories, schemas, re-mention
#
# Story cloze and Winograd schemas need knowledge, and the paper finds them near chance. Winograd *partial* judges
# only what follows the candidate. Table 3 replaces a pronoun by the name it stands for, where real text would use the
# pronoun.

# %%
exhibits.show("table_2", "table_3")

# %% [markdown]
# ## Table 4: connectives
#
# One row a connective and sense, one column a replacement. A replacement that is possible in that sense should be
# hard to detect, and a low share there is no failure of the model.

# %%
exhibits.show("table_4")

# %% [markdown]
# ## Table 5: who commits to what
#
# Two contradicting statements by one speaker or by two. A model without a sign for a change of speaker sees one text
# twice and can pass no item; that cell is a property of the format.

# %%
exhibits.show("table_5")

# %% [markdown]
# ## Claims, sizes, regions
#
# Each table has the statements of the paper about it with their verdicts; the untrained network is held to chance.
# `size_sweep` is the paper's future work: does a suite grow easier with the model? `region_surprisal` shows the bits
# per token behind the decisions.

# %%
exhibits.show("size_sweep", "region_surprisal", "other_suites")

# %% [markdown]
# ## For other programs
#
# The suites as a sheet of pairs for human judges; the key lies in a file of its own. As tasks of lm-evaluation-harness:
# `longform export harness scratch/harness_tasks data/corpora/probes/suites`.

# %%
exhibits.show("human_sheet")

# %% [markdown]
# ## What else the run wrote, and the records behind it all

# %%
exhibits.rest()
exhibits.scores()

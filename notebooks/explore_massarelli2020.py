# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Which decoder says what can be checked, without repeating itself?
#
# Massarelli et al. (2020) let a model continue pages under several decoders and check its sentences. This notebook
# reads the records of the default run, draws support against repetition anew, and asks one question more. Pages and
# facts are synthetic, with one training and one small network; real ones are in `docs/results/real_decoders.md`.

# %%
from pathlib import Path

import matplotlib.pyplot as plt

from longform.results import read_results

ROOT = next(folder for folder in [Path.cwd(), *Path.cwd().parents] if (folder / "dvc.yaml").is_file())

records = read_results(ROOT / "data/scores/facts/verifiability.json").where(corpus="test", variant="")
supported = {record.system: record for record in records.where(metric="SPG", task="")}
different = {record.system: record for record in records.where(metric="distinct_4grams", task="")}
DECODERS = [name for name in supported if name in different]

# %% [markdown]
# ## The main figure: support against repetition
#
# Up is more support, right is less repetition. The cross is people's own text.

# %%
# Names that would cover others on the right stand on the left, so many points above their marks.
LEFT = {"group_beam": 14, "sibling_beam": -10, "top_k": 4}
figure, axes = plt.subplots(figsize=(6, 4))
for place, name in enumerate(DECODERS):
    x, y = different[name], supported[name]
    x_error = [[x.value - x.low], [x.high - x.value]]
    y_error = [[y.value - y.low], [y.high - y.value]]
    colour, marker = ("0.3", "X") if name == "human" else ("#0072b2", "o")
    axes.errorbar(x.value, y.value, y_error, x_error, fmt=marker, color=colour, alpha=0.8, linewidth=0.8)
    label = name.replace("_", " ")
    side, offset = ("right", (-4, LEFT[name])) if name in LEFT else ("left", (4, 4 if place % 2 else -10))
    axes.annotate(label, (x.value, y.value), offset, textcoords="offset points", fontsize=8, ha=side)
axes.margins(x=0.12)
axes.set(xlabel="different 4-grams a text", ylabel="share of sentences that the checker supports (SPG)")
plt.show()

# %% [markdown]
# ## One question more: which decoders does another one beat on both?
#
# A decoder is dominated where another has more support and fewer repeats. These are point values: two decoders whose
# intervals meet may change places.

# %%
for name in DECODERS:
    better = []
    for other in DECODERS:
        more_support = supported[other].value > supported[name].value
        fewer_repeats = different[other].value > different[name].value
        if other != "human" and more_support and fewer_repeats:
            better.append(other)
    print(f"{name:14} {'beaten by ' + ', '.join(better) if better else 'beaten by none'}")

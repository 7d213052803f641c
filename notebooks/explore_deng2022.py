# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Does word perplexity foretell Latent PPL?
#
# Deng, Kuleshov and Rush (2022) say no: a model may be near real text word by word and far from it in the order of
# its sections. This notebook reads the records of the default run, draws that comparison anew, and asks one question
# more. The texts are synthetic and each network was trained once; what real articles say is in
# `docs/results/real_articles.md`.

# %%
from pathlib import Path

import matplotlib.pyplot as plt

from longform.results import read_results

ROOT = next(folder for folder in [Path.cwd(), *Path.cwd().parents] if (folder / "dvc.yaml").is_file())

sections = read_results(ROOT / "data/scores/articles/section_order.json")
perplexity = read_results(ROOT / "data/scores/articles/perplexity.json")
CORPORA = {"wiki": "o", "pubmed": "s", "arxiv": "^"}
COLOURS = {True: "#0072b2", False: "#d55e00"}  # with titles, without

# %% [markdown]
# ## The main figure: Latent PPL over word PPL
#
# A record is one number with its 95 % interval. `where` filters them, `one` takes the only one that fits. Dotted
# lines are real text's own Latent PPL: the goal is to come near them.

# %%
figure, axes = plt.subplots(figsize=(6, 4))
for corpus, marker in CORPORA.items():
    real = sections.one(metric="latent_ppl", variant="", corpus=corpus, system="data")
    axes.axhline(real.value, color="0.3", linestyle=":", linewidth=1)
    for titles, colour in COLOURS.items():
        same = {"corpus": corpus, "system": "gpt2", "titles": titles}
        words = perplexity.one(metric="word_ppl", **same)
        latent = sections.one(metric="latent_ppl", variant="", **same)
        error = [[latent.value - latent.low], [latent.high - latent.value]]
        name = f"{corpus}, {'with' if titles else 'without'} titles"
        axes.errorbar(words.value, latent.value, error, color=colour, marker=marker, label=name, capsize=3)
axes.set(xlabel="word PPL", ylabel="Latent PPL of section titles (log scale)", yscale="log")
axes.set_title("Titles change little in words and much in the order of sections", fontsize=10)
axes.legend(fontsize=8)
plt.show()

# %% [markdown]
# ## One question more: by what factor do titles lower each of the two?
#
# The same pairs, as ratios. If word perplexity foretold Latent PPL, the two columns would rise together.

# %%
print(f"{'corpus':8} word PPL  Latent PPL   (without titles over with titles)")
for corpus in CORPORA:
    ratios = []
    for records, metric in ((perplexity, "word_ppl"), (sections, "latent_ppl")):
        same = {"metric": metric, "variant": "", "corpus": corpus, "system": "gpt2"}
        without, with_titles = records.one(titles=False, **same), records.one(titles=True, **same)
        ratios.append(without.value / with_titles.value)
    print(f"{corpus:8} {ratios[0]:8.2f}  {ratios[1]:10.1f}")

# %% [markdown]
# Three corpora and one training each: the size of the second column against the first is the finding, its order over
# corpora is not.

# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # The synthetic world: one article with its truth drawn on it
#
# Every latent of a synthetic article is drawn before its text. This page shows one article three times: as text, as
# sentences coloured by section with their topic and their mentions of persons, and as the path of its sentence topics.
# Nothing is computed here; all that is drawn is the truth that lies beside the text.

# %%
import textwrap

import matplotlib.pyplot as plt
import numpy as np

from synthetic_world.articles import write
from synthetic_world.corpus import to_document
from synthetic_world.corruptions import CORRUPTIONS, corrupt
from synthetic_world.domains import domain
from synthetic_world.grammar import CONNECTIVES, SENSES

DOMAIN, SEED, INDEX = "wiki", 1, 1
world = domain(DOMAIN)
article = write(SEED, DOMAIN, INDEX)

# %% [markdown]
# ## The text
#
# Persons are marked with their number in the cast, sentences that state a fact with the relation, clauses that were
# joined by a relation with its sense.


# %%
def marked(sentence):
    text = sentence.text
    for mention in reversed(sentence.mentions):
        text = f"{text[: mention.start]}[{text[mention.start : mention.end]}]{mention.person}{text[mention.end :]}"
    notes = [
        *sentence.relations,
        f"{SENSES[sentence.sense]}: {CONNECTIVES[sentence.connective]}" if sentence.sense else "",
    ]
    note = ", ".join(filter(None, notes))
    return f"{text} ({note})" if note else text


print(article.title, "-", article.kind)
for title, sentences in article.sections:
    print(f"\n== {title} ==")
    print(textwrap.fill(" ".join(map(marked, sentences)), 110))

# %% [markdown]
# ## Sections, topics, mentions
#
# One row a sentence, from the top. Bands are sections; the square is the sentence's topic; a dot is a mention, filled
# for a name and open for a pronoun, in the column of its person.

# %%
names = [topic.name for topic in world.vocabulary.topics]
colours = plt.get_cmap("tab20")(np.arange(len(names)) / len(names))
rows = [(title, sentence) for title, sentences in article.sections for sentence in sentences]
figure, axes = plt.subplots(figsize=(9, 0.24 * len(rows) + 1))
start = 0
for number, (title, sentences) in enumerate(article.sections):
    axes.axhspan(start - 0.5, start + len(sentences) - 0.5, color="0.93" if number % 2 else "0.84", lw=0)
    axes.text(-6.2, start, title, va="center")
    start += len(sentences)
for y, (_, sentence) in enumerate(rows):
    axes.scatter(-0.8, y, marker="s", s=60, color=colours[sentence.topic])
    for mention in sentence.mentions:
        named = mention.tag.isupper()
        axes.scatter(mention.person, y, s=36, facecolor="black" if named else "white", edgecolor="black", zorder=3)
axes.set(
    xlim=(-6.5, max(len(article.cast), 1)), ylim=(len(rows), -1), yticks=[], title="Truth of one synthetic article"
)
axes.set_xticks(range(len(article.cast)), [person.short for person in article.cast], rotation=60, ha="right")
figure.tight_layout()
plt.show()

# %% [markdown]
# ## The drift of the topics
#
# A Brownian bridge from the document's main idea back to it, shown as the topic weights of each sentence.

# %%
weights = world.prior.weights(article.path)
figure, axes = plt.subplots(figsize=(9, 3))
axes.stackplot(range(len(weights)), weights.T, labels=names, colors=colours)
axes.set(xlabel="sentence", ylabel="topic weight", xlim=(0, len(weights) - 1), ylim=(0, 1))
axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=7)
figure.tight_layout()
plt.show()

# %% [markdown]
# ## The eleven corruptions
#
# The same article, struck at every place that a corruption can strike; one edit of each is shown.

# %%
for corruption in CORRUPTIONS:
    damaged = corrupt(article, domain_name=DOMAIN, corruption=corruption, severity=1.0, seed=SEED)
    print(f"{corruption}: {len(damaged.edits)} edits")
    for edit in damaged.edits[-1:]:
        print("   before:", textwrap.shorten(edit["before"], 100))
        print("   after: ", textwrap.shorten(edit["after"], 100))
assert corrupt(article, domain_name=DOMAIN, corruption=corruption, severity=0.0, seed=SEED) == to_document(
    article, DOMAIN
)

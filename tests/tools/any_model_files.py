"""Small files in the forms that the commands for any model read."""

from pathlib import Path

import torch
from tiny import bpe_folder
from transformers import BertConfig, BertForSequenceClassification

from longform.examples import write_examples

PAIRS = "good,bad,context\nThe town is old.,Old town the is.,It lies on a river.\nShe sang.,Sang she.,Anna met Ben.\n"


PROMPTS = (
    '{"id": "a", "text": "The town lies on a river"}\n{"id": "b", "text": "Many old houses"}\n'
)
PAGES = {"Riverton": "Riverton is a town. It lies on a river.", "Anna Berg": "She was a singer."}


def write_samples(folder: Path) -> None:
    """``pairs.csv``, ``prompts.jsonl``, ``texts``, ``pages``, ``models/judge``."""
    (folder / "pages").mkdir()
    for title, text in PAGES.items():
        (folder / "pages" / f"{title}.txt").write_text(text, encoding="utf-8")
    judge_folder(folder / "models" / "judge", "entailment")
    write_examples(folder / "texts")
    (folder / "prompts.jsonl").write_text(PROMPTS, encoding="utf-8")
    (folder / "pairs.csv").write_text(PAIRS, encoding="utf-8")


def judge_folder(folder: Path, says: str) -> Path:
    """An entailment model that says one thing whatever it reads, in a folder."""
    names = ("entailment", "neutral", "contradiction")
    labels = {"id2label": dict(enumerate(names)), "label2id": {n: i for i, n in enumerate(names)}}
    sizes = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
    }
    bpe_folder(folder)
    torch.manual_seed(0)
    network = BertForSequenceClassification(BertConfig(vocab_size=300, **labels, **sizes))
    with torch.no_grad():
        network.classifier.weight.zero_()
        network.classifier.bias.copy_(5.0 * torch.tensor([name == says for name in names]))
    network.save_pretrained(folder)
    return folder

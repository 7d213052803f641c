"""Translation step by step as it was before the cache: each step reads all that is written again."""

import numpy as np
import torch

from longform.language_models.translation import BEGIN, END, PAD, UNKNOWN


@torch.no_grad()
def one_by_one(network, source, uniforms, temperature):
    memory = network.encode(source)
    rows = [[] for _ in uniforms]
    written = torch.full((len(uniforms), 1), BEGIN)
    for step in range(max(map(len, uniforms))):
        busy = [i for i, row in enumerate(rows) if END not in row and step < len(uniforms[i])]
        if not busy:
            break
        logits = network.next_scores(memory[busy], source[busy], written[busy])[:, -1]
        chosen = pick(logits, np.array([uniforms[i][step] for i in busy]), temperature)
        fresh = torch.full((len(uniforms), 1), PAD)
        fresh[busy, 0] = torch.from_numpy(chosen)
        written = torch.cat([written, fresh], dim=1)
        for i, token in zip(busy, chosen.tolist(), strict=True):
            rows[i].append(token)
    return rows


def pick(logits, uniforms, temperature):
    logits = logits.clone()
    logits[:, [PAD, BEGIN, UNKNOWN]] = -torch.inf
    if temperature == 0:
        return logits.argmax(1).numpy()
    chances = torch.softmax(logits.double() / temperature, dim=1).cumsum(1).numpy()
    places = (chances < uniforms[:, None] * chances[:, -1:]).sum(1)
    return np.minimum(places, chances.shape[1] - 1)

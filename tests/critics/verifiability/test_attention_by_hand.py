"""The trained entailment network against its sentences in numpy: attend, compare, aggregate; nothing beyond a text's end counts."""

import numpy as np
import torch

from longform.critics.verifiability.train import DecomposableAttention

CLAIM = [3, 1, 4]
SENTENCE = [1, 5, 2, 3]


def network():
    torch.manual_seed(3)
    return DecomposableAttention(7, 4).double().eval()


def ids(rows, width):
    return torch.tensor([row + [0] * (width - len(row)) for row in rows])


def equal(claims, sentences):
    return (claims[:, :, None] == sentences[:, None, :]) & (claims > 0)[:, :, None]


def layer(module, values):
    return values @ module.weight.detach().numpy().T + module.bias.detach().numpy()


def two_layers(modules, values):
    first = np.maximum(layer(modules[0], values), 0)
    return layer(modules[2], first)


def states(made, words, shared):
    table = made.embed.weight.detach().numpy()[words]
    table = table + made.shared.weight.detach().numpy()[shared.astype(int)]
    padded = np.pad(table, ((1, 1), (0, 0)))
    kernel, bias = made.near.weight.detach().numpy(), made.near.bias.detach().numpy()
    near = [
        sum(kernel[:, :, k] @ padded[place + k] for k in range(3)) + bias
        for place in range(len(words))
    ]
    return table + np.maximum(near, 0)


def softmax(scores):
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def pools(made, words, attended):
    joined = np.concatenate([words, attended, words * attended], axis=1)
    compared = np.maximum(two_layers(made.compare, joined), 0)
    return [compared.mean(axis=0), compared.max(axis=0)]


def test_the_network_is_attend_compare_and_aggregate():
    made = network()
    same = np.array([[a == b for b in SENTENCE] for a in CLAIM])
    a, b = states(made, CLAIM, same.any(1)), states(made, SENTENCE, same.any(0))
    similarity = layer(made.attend, a) @ layer(made.attend, b).T / np.sqrt(4)
    scores = similarity + 4.0 * same
    joined = pools(made, a, softmax(scores) @ b) + pools(made, b, softmax(scores.T) @ a)
    expected = two_layers(made.label, np.concatenate(joined))
    claims, sentences = ids([CLAIM], 3), ids([SENTENCE], 4)
    found = made(claims, sentences, equal(claims, sentences)).detach().numpy()[0]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_padding_and_other_pairs_of_a_batch_change_nothing():
    made = network()
    claims, sentences = ids([CLAIM, [2, 2, 6, 1]], 6), ids([SENTENCE, [6]], 5)
    together = made(claims, sentences, equal(claims, sentences))
    for row, (claim, sentence) in enumerate(((CLAIM, SENTENCE), ([2, 2, 6, 1], [6]))):
        one, other = ids([claim], len(claim)), ids([sentence], len(sentence))
        alone = made(one, other, equal(one, other))[0]
        np.testing.assert_allclose(together[row].detach(), alone.detach(), rtol=1e-9)

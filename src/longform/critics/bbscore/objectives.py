r"""The three losses of the bridge encoder, on latents alone.

With times $s < t < e$ of a triplet, $a = (t - s)/(e - s)$, $v = (t - s)(e - t)/(e - s)$ and
$d = -\lVert z_t - (1 - a) z_s - a z_e \rVert^2 / 2 v$.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch.nn.functional import cross_entropy

EPS = 1e-6  # BBScore release and Time Control


def paper_loss(latents: torch.Tensor, times: torch.Tensor) -> torch.Tensor:
    r"""Mean of $-\log (e^{d_{jj}} / \sum_k e^{d_{jk}})$: ends, share and variance of triplet j, middle of triplet k.

    Args:
        latents: (batch, 3, dims) of first, middle and last sentence.
        times: (batch, 3), increasing.
    """
    first, middle, last = latents.unbind(1)
    s, t, e = times.to(latents.dtype).unbind(1)
    share, variance = (t - s) / (e - s), (t - s) * (e - t) / (e - s)
    means = (1 - share)[:, None] * first + share[:, None] * last
    distance = -(means[:, None] - middle[None]).square().sum(-1) / (2 * variance[:, None])
    return cross_entropy(distance, torch.arange(len(latents), device=latents.device))


def released_loss(latents: torch.Tensor, times: torch.Tensor) -> torch.Tensor:
    r"""The code's contrast: over all ends $j$ for a fixed middle $k$, whose own time is set between another's ends.

    $a_{jk} = (t_k - s_j)/(e_j - s_j + \epsilon)$ may leave $[0, 1]$ and $v_{jk}$ may be negative, which turns that
    negative example into an attraction; kept for fidelity. Shapes as :func:`paper_loss`.
    """
    first, middle, last = latents.unbind(1)
    s, t, e = times.to(latents.dtype).unbind(1)
    share = (t[None] - s[:, None]) / (e - s + EPS)[:, None]
    variance = (t[None] - s[:, None]) * (e[:, None] - t[None]) / (e - s + EPS)[:, None]
    means = (1 - share)[..., None] * first[:, None] + share[..., None] * last[:, None]
    distance = -(means - middle[None]).square().sum(-1) / (2 * variance + EPS)
    floor = torch.full_like(distance[0], math.log(EPS))  # ln(EPS + sum of exp), without overflow where v < 0
    return (torch.logaddexp(distance.logsumexp(0), floor) - distance.diagonal()).mean()


def pin_loss(latents: torch.Tensor, times: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
    """Mean square of first latents that open a document, plus that of (absolute last latent minus one) at its end.

    A term without any row is left out (release; not in the print).

    Args:
        total: (batch,) sentences of each triplet's document.
    """
    opens, ends = times[:, 0] == 0, times[:, 2] == total - 1
    loss = latents.new_zeros(())
    if opens.any():
        loss = loss + latents[opens, 0].square().mean()
    if ends.any():
        loss = loss + (latents[ends, 2].abs() - 1).square().mean()
    return loss


def likelihood_loss(documents: Sequence[torch.Tensor]) -> torch.Tensor:
    r"""Half of $\ln\det\Sigma_{bridge} - \ln\det\Sigma_{independent}$, per inner sentence, both by maximum likelihood.

    $\Sigma_{bridge}$ is the joint bridge's (scatter of steps less that of the chord), $\Sigma_{independent}$ the
    covariance around the batch's mean. The ratio does not change under any invertible linear map of the latents, so it
    cannot be lowered by shrinking them; it falls as neighbours become alike and documents spread. Its form is ours.
    """
    kept = [z for z in documents if len(z) >= 3]
    steps = torch.cat([z.diff(dim=0) for z in kept])
    chords = torch.stack([(z[-1] - z[0]) / (len(z) - 1) ** 0.5 for z in kept])
    everything = torch.cat(kept)
    centred = everything - everything.mean(0)
    bridge = (steps.T @ steps - chords.T @ chords) / sum(len(z) - 2 for z in kept)
    independent = centred.T @ centred / len(everything)
    ridge = EPS * torch.eye(everything.shape[1], device=everything.device)
    level = independent.diagonal().mean().detach()
    return 0.5 * (torch.logdet(bridge + ridge * level) - torch.logdet(independent + ridge * level))

"""Pay once, while an environment is set up, for what every later process would wait for.

``python -m longform_lab.warm_up`` imports the libraries that commands use, which keeps their
bytecode, and calls each compiled loop once, which keeps numba's machine code. Both lie beside the
sources. Without it the first two processes that run side by side compile everything, each for
itself.
"""

import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context


def main() -> int:
    """Do every part, two at once, and print what each took."""
    parts = (compile_topics, compile_scans, import_libraries, compile_short_loops)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for name, seconds in pool.map(timed, parts):
            print(f"warm-up: {name}, {seconds:.0f} s", file=sys.stderr)
    return 0


def timed(part: Callable[[], None]) -> tuple[str, float]:
    """A part's name, and the seconds that it took."""
    started = time.perf_counter()
    part()
    return part.__name__.replace("_", " "), time.perf_counter() - started


def import_libraries() -> None:
    """What stages, commands and tests import, by themselves or through our modules."""
    import dvc.repo  # noqa: F401
    import matplotlib.pyplot  # noqa: F401
    import pandas  # noqa: F401
    import pytorch_lightning  # noqa: F401
    import scipy.stats  # noqa: F401
    import sklearn.linear_model  # noqa: F401
    import torch_struct  # noqa: F401
    import transformers.models.bert.modeling_bert
    import transformers.models.gpt2.modeling_gpt2  # noqa: F401


def compile_topics() -> None:
    """The coordinate ascent of the correlated topic model."""
    from longform.critics import Topics
    from longform.examples import real_articles

    articles = real_articles()
    Topics(topics=3).fit(articles[:12]).score(articles[12:])


def compile_scans() -> None:
    """The forward and backward steps of the hidden semi-Markov model, and its counts."""
    from longform.hsmm import HSMM

    sequences = [[0, 1, 0, 1, 2, 3], [2, 3, 0, 1], [0, 1, 2, 3, 2, 3]]
    model = HSMM(num_states=2, max_duration=2).fit(sequences)
    model.log_prob(sequences)
    model.posterior(sequences)
    model.sample(1, 3, seed=1)


def compile_short_loops() -> None:
    """Sampling of tokens, back-off n-grams of mention chains, language mixes, gloss overlaps."""
    import numpy as np
    import torch

    from longform.critics import CodeMixing, Coreference
    from longform.critics.lexical.wordnet import phrase_overlap
    from longform.decoding.exact_sampling import Truncation, exact_sampling
    from longform.examples import real_articles

    logits, words = torch.zeros(1, 8), torch.zeros(1, 2, dtype=torch.int32)
    exact_sampling(logits, words, Truncation(), 1e-3, on_device=False)
    definition = np.array([1, 2])
    phrase_overlap(definition, definition, 1)
    articles = real_articles()
    for critic in (Coreference(), CodeMixing()):
        critic.fit(articles[:12]).score(articles[12:])


if __name__ == "__main__":
    sys.exit(main())

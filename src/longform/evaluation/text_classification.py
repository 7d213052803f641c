"""Classes of single texts from what a critic sees of them: human or machine, or three levels of rated coherence.

sheng2024 section 5.3 (Table 5) and appendix B (Table 6), whose majority baseline the paper leaves out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from longform.core.critic import Better, SumScored, Tally, clustered, compare
from longform.core.documents import BadInput
from longform.core.resampling import generator
from longform.core.results import Record
from longform.evaluation.measurements import measured

CLASSIFIERS = ("linear", "three_layer")
Features = Callable[[Any], np.ndarray | None]


@dataclass(frozen=True)
class ClassAccuracy(SumScored):
    """Texts of which the right class was told, over all texts."""

    classifier: str = "three_layer"
    better: ClassVar[Better] = "higher"
    divided: ClassVar[tuple[str, str]] = ("right", "texts")


def text_classification(
    features: Features,
    label: Callable[[Any], Any],
    train: Sequence[Any],
    evaluate: Sequence[Any],
    *,
    classifier: str = "three_layer",
    document: Callable[[Any], str] = lambda unit: unit.unit_id,
    **fields: Any,
) -> Record:
    """Accuracy of a classifier that has learnt from the training texts, tested against their commonest class.

    Args:
        features: what is seen of a text, (features,), nan where a feature is missing; None where the text cannot be read.
        label: its class; None where it has none.
        classifier: "linear" (logistic) or "three_layer" (a perceptron of two hidden layers).
        document: name of the document that a text belongs to: texts of one document are resampled together.
        fields: of the record.

    Returns:
        A record with metric ``class_accuracy``; ``reference`` is the accuracy of the commonest class.

    Raises:
        BadInput: fewer than two classes to learn from, or an unknown classifier.
    """
    tally = class_tally(features, label, train, evaluate, classifier, document)
    metric, baseline = ClassAccuracy(classifier), tally.values.copy()
    baseline[:, 0] = tally.column("majority")
    names = ("text classification", classifier, *fields.values())
    tested = compare(metric, tally, Tally(tally.unit_ids, tally.columns, baseline), generator(*names, "permutation"))
    texts = tally.total("texts")
    classes = Counter(str(label(unit)) for unit in evaluate if label(unit) is not None)
    return measured(
        metric, tally, names, metric="class_accuracy", p_value=tested.p_value, difference=tested.difference, paired=True,
        reference=tally.total("majority") / texts if texts else None,
        details={"classes": dict(sorted(classes.items()))}, **fields,
    )  # fmt: skip


def class_tally(
    features: Features,
    label: Callable[[Any], Any],
    train: Sequence[Any],
    evaluate: Sequence[Any],
    classifier: str,
    document: Callable[[Any], str] = lambda unit: unit.unit_id,
) -> Tally:
    """Columns right, texts, majority (right by the training texts' commonest class) and excluded, one row a document."""
    known = [(seen, label(unit)) for unit in train if label(unit) is not None and (seen := features(unit)) is not None]
    if len({kind for _, kind in known}) < 2:
        raise BadInput(f"text classification: {len(known)} texts in {len({k for _, k in known})} classes; give two")
    table, kinds = np.array([seen for seen, _ in known]), [kind for _, kind in known]
    there = np.isfinite(table)
    filling = np.where(there, table, 0.0).sum(0) / np.maximum(there.sum(0), 1)  # for a window that does not fit
    model = _classifier(classifier).fit(np.where(there, table, filling), kinds)
    majority = Counter(kinds).most_common(1)[0][0]
    rows = np.tile([0.0, 0.0, 0.0, 1.0], (len(evaluate), 1))
    for row, unit in zip(rows, evaluate, strict=True):
        seen, kind = features(unit), label(unit)
        if seen is not None and kind is not None:
            guess = model.predict(np.where(np.isfinite(seen), seen, filling)[None])[0]
            row[:] = guess == kind, 1.0, majority == kind, 0.0
    ids = tuple(unit.unit_id for unit in evaluate)
    return clustered(Tally(ids, ("right", "texts", "majority", "excluded"), rows), [document(u) for u in evaluate])


def _classifier(name: str) -> Any:
    from sklearn.linear_model import LogisticRegression  # a second to import, needed here only
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if name not in CLASSIFIERS:
        raise BadInput(f"classifier {name!r}; allowed are {list(CLASSIFIERS)}; fix the entry")
    network = MLPClassifier((64, 32), max_iter=400, random_state=0, alpha=1e-3, tol=1e-3)
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000) if name == "linear" else network)

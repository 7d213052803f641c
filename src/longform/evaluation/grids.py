"""What sheng2024 asks of entity grids: original or shuffled, human or machine (its Tables 2 to 4)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from longform.critics.entity_grid.score import EntityGrid, ranking, units_from_predictions
from longform.documents import Predictions
from longform.errors import BadInput
from longform.evaluation.human_vs_machine import human_vs_machine, sides_of
from longform.evaluation.order_discrimination import BLOCKS, WINDOWS, order_discrimination
from longform.results import Record
from longform.text.permutations import ShuffleTask

MODELS: Mapping[str, Callable[..., Any]] = {"transitions": EntityGrid, "ranking": ranking}


def _models(models: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Grid models by the name that tables know them by. Raises BadInput: an unknown model, or none."""
    if not models or set(models) - set(MODELS):
        raise BadInput(
            f"grid models {sorted(models)}; allowed are {sorted(MODELS)}; fix params.yaml"
        )
    return {f"grid_{name}": MODELS[name](**settings) for name, settings in models.items()}


def shuffle_tasks(
    *, train: Predictions, texts: Predictions, models: Mapping[str, Mapping[str, Any]]
) -> list[Record]:
    """Pairs of originals and shuffles; the ranking model learns every task anew."""
    tasks = [ShuffleTask("block", (size,)) for size in BLOCKS] + [
        ShuffleTask("window", tuple(w)) for w in WINDOWS
    ]
    known = [unit for unit in units_from_predictions(train) if unit.split == "train"]
    judged = [unit for unit in units_from_predictions(texts) if unit.split == "test"]
    return order_discrimination(_models(models), judged, tasks, train=known)


def sources(
    *,
    train: Predictions,
    texts: Predictions,
    models: Mapping[str, Mapping[str, Any]],
    sources: Sequence[str],
) -> list[Record]:
    """Human above machine, source by source, by models that have seen human texts alone."""
    known = [
        side.human for side in sides_of(units_from_predictions(train)) if side.split == "train"
    ]
    judged = [side for side in sides_of(units_from_predictions(texts)) if side.split == "test"]
    return human_vs_machine(
        {name: model.fit(known) for name, model in _models(models).items()}, judged, sources
    )

"""Experiments of sheng2024 on entity grids: shuffles, and human or machine (Tables 2 to 4)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from longform.critics.entity_grid.score import EntityGrid, ranking, units_from_predictions
from longform.documents import Predictions
from longform.errors import ConfigError
from longform.evaluation.human_vs_machine import human_vs_machine, sides_of
from longform.evaluation.order_discrimination import BLOCKS, WINDOWS, order_discrimination
from longform.results import Record
from longform.text.permutations import ShuffleTask

MODELS: Mapping[str, Callable[..., Any]] = {"transitions": EntityGrid, "ranking": ranking}


def _models(models: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Grid models with their settings, by the names of their rows in tables (``grid_ranking``).

    Raises ConfigError: an unknown model, or none.
    """
    if not models or set(models) - set(MODELS):
        raise ConfigError(
            f"grid models {sorted(models)}; allowed are {sorted(MODELS)}; fix params.yaml"
        )
    grid_models = {}
    for name, settings in models.items():
        grid_models[f"grid_{name}"] = MODELS[name](**settings)
    return grid_models


def shuffle_tasks(
    *, train: Predictions, texts: Predictions, models: Mapping[str, Mapping[str, Any]]
) -> list[Record]:
    """Order discrimination: pairs of originals and shuffles (Tables 2 and 3).

    The ranking model is fitted anew for each task.

    Args:
        train, texts: entity grids, of which the splits train and test are taken.
        models: name of one of ``MODELS`` -> its settings.

    Raises:
        ConfigError: an unknown model, or none.
    """
    tasks = []
    for size in BLOCKS:
        tasks.append(ShuffleTask("block", (size,)))
    for sizes in WINDOWS:
        tasks.append(ShuffleTask("window", sizes))
    training = [unit for unit in units_from_predictions(train) if unit.split == "train"]
    tested = [unit for unit in units_from_predictions(texts) if unit.split == "test"]
    return order_discrimination(_models(models), tested, tasks, train=training)


def machines(
    *,
    train: Predictions,
    texts: Predictions,
    models: Mapping[str, Mapping[str, Any]],
    sources: Sequence[str],
) -> list[Record]:
    """Human against machine texts, by models fitted on human texts alone (Table 4).

    Args:
        train, texts, models: as for :func:`shuffle_tasks`; the grids of completions.
        sources: names of the machines.

    Returns:
        Records of each model and machine, see :func:`human_vs_machine`.

    Raises:
        ConfigError: an unknown model, or none.
        InputError: no document has a human and a machine text.
    """
    human_texts = []
    for document in sides_of(units_from_predictions(train)):
        if document.split == "train":
            human_texts.append(document.human)
    documents = sides_of(units_from_predictions(texts))
    tested = [document for document in documents if document.split == "test"]
    fitted = {}
    for name, model in _models(models).items():
        fitted[name] = model.fit(human_texts)
    return human_vs_machine(fitted, tested, sources)

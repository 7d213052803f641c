"""The registries behind ``critics`` in ``params.yaml``: the library's entries and the world's.

They stand apart from :mod:`longform_lab.settings.registries`, so that a stage that makes texts does
not load them.
"""

from longform.critics.metrics import METRICS as METRICS_OF_CRITICS
from longform.critics.metrics import MetricSettings
from longform.critics.readings import READINGS as READINGS_OF_THE_LIBRARY
from longform.critics.readings import Reading
from longform.critics.trainings import TRAININGS as TRAININGS_OF_THE_LIBRARY
from longform.critics.trainings import CriticTraining
from longform.evaluation.settings import EVALUATIONS
from longform.evaluation.settings import METRICS as METRICS_OF_ANSWERS
from synthetic_world.critic_settings import METRICS as METRICS_OF_THE_WORLD
from synthetic_world.critic_settings import READINGS as READINGS_OF_THE_WORLD
from synthetic_world.critic_settings import TRAININGS as TRAININGS_OF_THE_WORLD

__all__ = ["EVALUATIONS", "METRICS", "READINGS", "TRAININGS"]

TRAININGS: dict[str, type[CriticTraining]] = {
    **TRAININGS_OF_THE_LIBRARY,
    **TRAININGS_OF_THE_WORLD,
}
READINGS: dict[str, type[Reading]] = {**READINGS_OF_THE_LIBRARY, **READINGS_OF_THE_WORLD}
METRICS: dict[str, type[MetricSettings]] = {
    **METRICS_OF_CRITICS,
    **METRICS_OF_ANSWERS,
    **METRICS_OF_THE_WORLD,
}

"""The registries of all rooms together: the library's own entries and those of the synthetic world.

The only module here that knows the world. The position of an entry in ``params.yaml`` decides which
registry its ``kind`` is looked up in.
"""

from longform.datasets.settings import REGISTRY as FILE_DATASETS_OF_THE_LIBRARY
from longform.datasets.settings import Dataset, FileDataset
from synthetic_world.settings import DATASETS as DATASETS_OF_THE_WORLD

DATASETS: dict[str, type[Dataset]] = {**DATASETS_OF_THE_WORLD}  # corpora
FILE_DATASETS: dict[str, type[FileDataset]] = {**FILE_DATASETS_OF_THE_LIBRARY}  # corpora_from_files

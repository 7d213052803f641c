"""Which stages use a GPU, so that the others leave it to them.

What the code of a stage imports tells it. One module chooses the device
(:mod:`longform.language_models.device`); what opens networks imports it, as does what trains them.
A stage whose code does not reach it computes on the processor: topic models, coreference rules,
samples of the semi-Markov model. Source files are parsed to find out, and none is run
(:mod:`longform_lab.source_code`).
"""

from functools import cache
from pathlib import Path

from longform.errors import BadInput
from longform_lab.code import code_file, entry_points, source_tree
from longform_lab.experiment import Experiment
from longform_lab.source_code import SourceTree

SOURCE = Path(__file__).parents[1]
CHOOSER = "longform.language_models.device"  # the module that chooses a device
# Stages that may use one.
STAGES = ("language_model", "generate", "complete", "decode", "train", "read")
COMMAND = "python -m longform_lab "


def uses_gpu(command: str, experiment: Experiment) -> bool:
    """Whether a stage's command may compute on a GPU.

    Args:
        command: as ``dvc.yaml`` has it; one that is not ours, of a stage that a user added, is
            taken to need none.
        experiment: the parameters that the stage reads.
    """
    words = command.partition(COMMAND)[2].split()
    if not words or words[0] not in STAGES:
        return False
    try:
        params = experiment.params
    except BadInput:  # the stage itself says what is wrong
        return False
    tree = _tree(SOURCE)
    starts = entry_points(params, {}, tree).get(code_file(words), [])
    return CHOOSER in tree.closure(starts)


@cache
def _tree(folder: Path) -> SourceTree:
    """The source files, parsed once."""
    return source_tree(folder)

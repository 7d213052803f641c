"""What names a critic in a record: its class and every setting that would change its number."""

from dataclasses import fields
from typing import Any

# Metadata of fields that a record's signature leaves out: one that fitting sets is no setting, and
# one that says how texts are read belongs to the predictions.
FITTED = {"fitted": True}
READING = {"reading": True}


def signature(critic: Any) -> str:
    """Class and settings of a critic, as records have it: ``BigramCritic(delta=1.0)``.

    Args:
        critic: an instance of a dataclass; fields that are ``FITTED`` or ``READING`` are left out.
            A class that was renamed since records were committed has its old name in
            ``recorded_as``.
    """
    settings = []
    for field in fields(critic):
        if not field.metadata.keys() & {"fitted", "reading"}:
            settings.append(f"{field.name}={getattr(critic, field.name)}")
    name = vars(type(critic)).get("recorded_as", type(critic).__name__)
    return f"{name}({','.join(settings)})"

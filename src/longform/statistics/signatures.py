"""What names a critic in a record: its class and every setting that would change its number."""

from dataclasses import fields
from typing import Any

# Metadata of fields that a record's signature leaves out: one that fitting sets is no setting, and
# one that says how texts are read belongs to the predictions.
FITTED = {"fitted": True}
READING = {"reading": True}


def signature(critic: Any) -> str:
    """Class and settings of a critic, as records name it: ``BigramCritic(delta=1.0)``.

    Args:
        critic: an instance of a dataclass; fields whose metadata are ``FITTED`` or ``READING`` are
            left out. A class that was renamed after records were committed has its old name in
            the class variable ``recorded_as``.
    """
    left_out = FITTED.keys() | READING.keys()
    settings = []
    for field in fields(critic):
        if not field.metadata.keys() & left_out:
            settings.append(f"{field.name}={getattr(critic, field.name)}")
    # ``vars`` has the class's own variables: a subclass does not inherit the old name.
    name = vars(type(critic)).get("recorded_as", type(critic).__name__)
    return f"{name}({','.join(settings)})"

"""Input that cannot be used is refused in a sentence."""

import pytest

from longform.errors import BadInput


def refuses(sentence, call, *given, **named):
    """The call ends in a bad input whose sentence matches."""
    with pytest.raises(BadInput, match=sentence):
        call(*given, **named)

"""Numbers with their nouns, for sentences that users read."""


def counted(number: float, one: str, more: str = "", form: str = ",") -> str:
    """``1 text``, ``0 texts``, ``2,800 tokens``.

    Args:
        number: how many.
        one: what stands behind a one, a noun or a phrase: ``text of a person``.
        more: what stands behind any other number; by default ``one`` and an s.
        form: how the number is formatted.
    """
    what = one if number == 1 else more or f"{one}s"
    return f"{number:{form}} {what}"

"""How settings spell the code that they name."""

PACKAGE = "longform"
Request = tuple[str, str]  # a module by its dotted name, and a name in it


def source_of(critic: str, code: str) -> str:
    """Where a critic's code lies: a module of its folder, or, with a slash, any path below ``src/longform``."""
    return code if "/" in code else f"critics/{critic}/{code}"


def requested(code: str, default: str) -> Request:
    """The module and the function that a setting names: ``critics/topics/read.read_gold``.

    Args:
        code: a path below ``src/longform``; behind a dot may stand the function.
        default: the function where none stands there.
    """
    path, _, name = code.removesuffix(".py").partition(".")
    return f"{PACKAGE}.{path.replace('/', '.')}", name or default

"""How settings spell the code that they name."""

PACKAGES = (
    "longform",
    "longform_lab",
    "synthetic_world",
    "experiments",
)  # whose modules settings may name
Request = tuple[str, str]  # a module by its dotted name, and a name in it


def source_of(critic: str, code: str) -> str:
    """Where a critic's code lies: a module of its folder, or, with a slash, any path that :func:`dotted` takes."""
    return code if "/" in code else f"critics/{critic}/{code}"


def dotted(code: str) -> str:
    """The full name of a module that settings name: ``hsmm/train`` is ``longform.hsmm.train``, ``synthetic_world/facts`` its own."""
    name = code.replace("/", ".")
    return name if name.partition(".")[0] in PACKAGES else f"longform.{name}"


def place_of(name: str) -> str:
    """Where a module should lie, by its dotted name."""
    return "src/" * (not name.startswith("experiments.")) + name.replace(".", "/")


def requested(code: str, default: str) -> Request:
    """The module and the function that a setting names: ``critics/topics/read.read_gold``.

    Args:
        code: a path that :func:`dotted` takes; behind a dot may stand the function.
        default: the function where none stands there.
    """
    path, _, name = code.removesuffix(".py").partition(".")
    return dotted(path), name or default

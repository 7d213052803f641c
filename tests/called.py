"""What classes of settings call, read from their source."""

import ast
import importlib
import inspect
import textwrap

METHODS = {"build", "load", "train", "fit", "write", "predict", "metric", "units", "evaluate"}


def calls(settings):
    """The functions that a class of settings imports and calls, and the keywords of the calls."""
    own = METHODS & {name for kind in settings.__mro__[:-3] for name in vars(kind)}
    texts = [textwrap.dedent(inspect.getsource(getattr(settings, name))) for name in sorted(own)]
    source = ast.parse("\n".join(texts))
    imported = {}
    for node in ast.walk(source):
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            imported[alias.asname or alias.name] = (node.module, alias.name)
    for node in ast.walk(source):
        called = (
            node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        )
        if called in imported:
            module, name = imported[called]
            function = getattr(importlib.import_module(module), name)
            yield function, {word.arg: ast.unparse(word.value) for word in node.keywords}

"""YAML 1.2: ``1e-05`` is a number, ``no`` a text, ``010`` ten.

PyYAML follows 1.1, to which ``1e-05`` is a text (no point), ``no`` is false and ``12:30`` is 750.
Programs that write parameters follow 1.2, so what was written would be read as something else.
"""

import re
from typing import Any

import yaml

KIND = "kind"  # the key of a parameter file that names the class of an entry's settings
_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C parser is six times faster
_NUMBERS = "-+.0123456789"
_FRACTION = r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
# YAML 1.2, section 10.3.2, with first letters; underscores in numbers as ruamel.yaml takes them.
_PLAIN_WORDS = {
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "bool": (r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    "int": (r"[-+]?[0-9][0-9_]*|0o[0-7]+|0x[0-9a-fA-F]+", list(_NUMBERS)),
    "float": (_FRACTION + r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", list(_NUMBERS)),
}
# Of 1.1; ruamel.yaml keeps them as well.
_KEPT = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:merge")


class YamlReader(_PARSER):
    """PyYAML's safe loader under the rules of YAML 1.2."""


class YamlWriter(yaml.SafeDumper):
    """PyYAML's safe dumper.

    It quotes each text that either version of YAML would take for something else.
    """


def _whole_number(reader: Any, node: yaml.ScalarNode) -> int:
    """Decimal however many zeros come first, unless ``0o`` or ``0x`` says otherwise."""
    text = reader.construct_scalar(node)
    if text.startswith(("0o", "0x")):
        return int(text, 0)
    return int(text.replace("_", ""))


YamlReader.yaml_implicit_resolvers = {}
for _letter, _pairs in _PARSER.yaml_implicit_resolvers.items():
    YamlReader.yaml_implicit_resolvers[_letter] = [pair for pair in _pairs if pair[0] in _KEPT]
for _name, (_pattern, _letters) in _PLAIN_WORDS.items():
    for _dialect in (YamlReader, YamlWriter):
        _word = re.compile(f"(?:{_pattern})$")
        _dialect.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", _word, _letters)
YamlReader.add_constructor("tag:yaml.org,2002:int", _whole_number)


def yaml_text(content: Any) -> str:
    """Plain data as YAML, keys in their own order, in lines of about 120 characters."""
    return yaml.dump(content, Dumper=YamlWriter, sort_keys=False, allow_unicode=True, width=120)

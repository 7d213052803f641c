"""What the tests of ``criticize`` share: writing a side, and finding a critic."""

import json
from dataclasses import replace


def records(documents):
    return [{"id": d.id, "sections": [{"title": s.title, "text": s.text} for s in d.sections]} for d in documents]


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def by_name(found):
    return {one.panel.name: one for one in found.judged}


def split(documents, name):
    return [replace(d, split=name, id=f"{name}/{d.id}") for d in documents]

"""Answers in SQLite: an answer that was acknowledged is on the disk, whatever happens to the process next."""

import json
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from longform.errors import BadInput

_SCHEMA = """
CREATE TABLE IF NOT EXISTS annotators (token TEXT PRIMARY KEY, label TEXT NOT NULL UNIQUE, consented TEXT);
CREATE TABLE IF NOT EXISTS answers (
    number INTEGER PRIMARY KEY, token TEXT NOT NULL REFERENCES annotators(token), item TEXT NOT NULL,
    answer TEXT NOT NULL, at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS drafts (token TEXT, item TEXT, answer TEXT NOT NULL, PRIMARY KEY (token, item));
CREATE INDEX IF NOT EXISTS by_token ON answers (token, item);
"""


class Store:
    """One study's annotators, answers and drafts. Answers are only ever added, until somebody withdraws; the last of an item counts.

    Raises BadInput: the file is no database, or that of something else.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        try:
            self._held = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            tables = {
                name
                for (name,) in self._held.execute(
                    "SELECT name FROM sqlite_master WHERE type = 'table'"
                )
            }
            if tables and not tables >= {"annotators", "answers"}:
                raise BadInput(
                    f"{path}: not a study's database, its tables: {sorted(tables)[:5]}; name another file"
                )
            self._held.execute("PRAGMA journal_mode = WAL")
            self._held.execute(
                "PRAGMA secure_delete = ON"
            )  # what is withdrawn is overwritten, not only unlinked
            self._held.execute(
                "PRAGMA synchronous = FULL"
            )  # a commit returns when it is on the disk
            self._held.executescript(_SCHEMA)
        except sqlite3.DatabaseError as error:
            raise BadInput(
                f"{path}: not a study's database ({error}); name another file"
            ) from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._held.execute("BEGIN IMMEDIATE")
            try:
                yield self._held
                self._held.execute("COMMIT")
            except BaseException:
                if (
                    self._held.in_transaction
                ):  # SQLite has rolled back by itself where the disk is full
                    self._held.execute("ROLLBACK")
                raise

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._held.execute(query, values).fetchall()

    def invite_all(self, labels: Sequence[str]) -> dict[str, str]:
        """Label -> new annotator's token, for all of them or for none. Raises BadInput: a label is taken, or comes twice."""
        found = {label: secrets.token_urlsafe(24) for label in labels}
        with self._writing() as held:
            known = {label for (label,) in held.execute("SELECT label FROM annotators")}
            if taken := sorted(
                label for label in found if label in known or labels.count(label) > 1
            ):
                raise BadInput(
                    f"annotators {taken}: invited already, or named twice; nobody was invited; fix that"
                )
            held.executemany(
                "INSERT INTO annotators VALUES (?, ?, NULL)", [(found[one], one) for one in found]
            )
        return found

    def withdraw(self, labels: Sequence[str]) -> dict[str, int]:
        """Label -> answers deleted, with the drafts, the consent and the link; all of them, or BadInput: a label of nobody."""
        counts = {}
        with self._writing() as held:
            known = dict(held.execute("SELECT label, token FROM annotators"))
            if missing := sorted(set(labels) - known.keys()):
                raise BadInput(
                    f"annotators {missing}: not invited; nobody's answers were deleted, fix the labels"
                )
            for label in labels:
                token = (known[label],)
                counts[label] = held.execute("DELETE FROM answers WHERE token = ?", token).rowcount
                held.execute("DELETE FROM drafts WHERE token = ?", token)
                held.execute("DELETE FROM annotators WHERE token = ?", token)
        with self._lock:
            self._held.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return counts

    def label(self, token: str) -> str | None:
        """The annotator's label, or None for a token that was never given out."""
        rows = self._rows("SELECT label FROM annotators WHERE token = ?", token)
        return rows[0][0] if rows else None

    def consented(self, token: str) -> bool:
        """Whether the annotator has agreed."""
        return bool(
            self._rows("SELECT 1 FROM annotators WHERE token = ? AND consented IS NOT NULL", token)
        )

    def consent(self, token: str) -> None:
        """Keep that the annotator has agreed, and when."""
        with self._writing() as held:
            held.execute(
                "UPDATE annotators SET consented = ? WHERE token = ? AND consented IS NULL",
                (_now(), token),
            )

    def add(self, token: str, item: str, answer: Mapping[str, Any]) -> None:
        """Keep an answer; when this returns it is on the disk. One equal to the item's latest is that one, sent twice."""
        text = json.dumps(dict(answer), ensure_ascii=False, sort_keys=True)
        latest_query = (
            "SELECT answer FROM answers WHERE token = ? AND item = ? ORDER BY number DESC LIMIT 1"
        )
        with self._writing() as held:
            latest = held.execute(latest_query, (token, item)).fetchone()
            if latest != (text,):  # a double click, or a page that was sent again
                row = (token, item, text, _now())
                held.execute(
                    "INSERT INTO answers (token, item, answer, at) VALUES (?, ?, ?, ?)", row
                )
            if not answer.get("verified_only"):
                held.execute("DELETE FROM drafts WHERE token = ? AND item = ?", (token, item))

    def draft(self, token: str, item: str, answer: Mapping[str, Any]) -> None:
        """Keep what is chosen so far; a draft once verified stays so, though posts of one page may overtake one another."""
        with self._writing() as held:
            query = (
                "SELECT json_extract(answer, '$.verified') FROM drafts WHERE token = ? AND item = ?"
            )
            verified = any(row[0] for row in held.execute(query, (token, item)))
            text = json.dumps(
                dict(answer) | ({"verified": True} if verified else {}), ensure_ascii=False
            )
            held.execute("INSERT OR REPLACE INTO drafts VALUES (?, ?, ?)", (token, item, text))

    def drafted(self, token: str, item: str) -> dict[str, Any]:
        """What was chosen so far."""
        rows = self._rows("SELECT answer FROM drafts WHERE token = ? AND item = ?", token, item)
        return json.loads(rows[0][0]) if rows else {}

    def done(self, token: str) -> set[str]:
        """Items that the annotator has finished."""
        rows = self._rows("SELECT item, answer FROM answers WHERE token = ?", token)
        return {item for item, answer in rows if not json.loads(answer).get("verified_only")}

    def answers(self) -> list[dict[str, Any]]:
        """Every answer with its annotator's label, oldest first; ``last`` marks the one of its item that counts."""
        columns = "a.number, n.label, a.item, a.answer, a.at"
        found = self._rows(
            f"SELECT {columns} FROM answers a JOIN annotators n USING (token) ORDER BY 1"
        )
        rows = [
            (number, label, item, json.loads(text), at) for number, label, item, text, at in found
        ]
        final = {
            (label, item): number
            for number, label, item, answer, _ in rows
            if not answer.get("verified_only")
        }
        return [
            {
                "annotator": label,
                "item": item,
                "at": at,
                "last": final.get((label, item)) == number,
                "answer": answer,
            }
            for number, label, item, answer, at in rows
        ]

    def close(self) -> None:
        self._held.close()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")

"""Answers in SQLite.

An answer that was acknowledged is on the disk, whatever happens to the process next.
"""

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
CREATE TABLE IF NOT EXISTS annotators (
    token TEXT PRIMARY KEY, label TEXT NOT NULL UNIQUE, consented TEXT);
CREATE TABLE IF NOT EXISTS answers (
    number INTEGER PRIMARY KEY, token TEXT NOT NULL REFERENCES annotators(token),
    item TEXT NOT NULL, answer TEXT NOT NULL, at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS drafts (
    token TEXT, item TEXT, answer TEXT NOT NULL, PRIMARY KEY (token, item));
CREATE INDEX IF NOT EXISTS by_token ON answers (token, item);
"""


class Store:
    """One study's annotators, answers and drafts.

    Answers are only ever added, until somebody withdraws; the last of an item counts.

    Raises:
        BadInput: the file is no database, or that of something else.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        try:
            self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            tables = _first_column(
                self._database, "SELECT name FROM sqlite_master WHERE type = 'table'"
            )
            if tables and not tables >= {"annotators", "answers"}:
                raise BadInput(
                    f"{path}: not a study's database, its tables: {sorted(tables)[:5]}; "
                    "name another file"
                )
            self._database.execute("PRAGMA journal_mode = WAL")
            # What is withdrawn is overwritten, not only unlinked.
            self._database.execute("PRAGMA secure_delete = ON")
            # A commit returns when it is on the disk.
            self._database.execute("PRAGMA synchronous = FULL")
            self._database.executescript(_SCHEMA)
        except sqlite3.DatabaseError as error:
            raise BadInput(
                f"{path}: not a study's database ({error}); name another file"
            ) from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction: all of it or nothing, and no other writer meanwhile."""
        with self._lock:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
                self._database.execute("COMMIT")
            except BaseException:
                # SQLite has rolled back by itself where the disk is full.
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._database.execute(query, values).fetchall()

    def invite_all(self, labels: Sequence[str]) -> dict[str, str]:
        """Invite new annotators, all of them or none.

        Returns:
            Label -> the secret token in the annotator's link.

        Raises:
            BadInput: a label was invited already, or comes twice.
        """
        tokens: dict[str, str] = {}
        # In one transaction: nobody else invites a label between check and insertion.
        with self._writing() as database:
            invited = _first_column(database, "SELECT label FROM annotators")
            repeated = set()
            for label in labels:
                if label in invited or label in tokens:
                    repeated.add(label)
                tokens[label] = secrets.token_urlsafe(24)
            if repeated:
                raise BadInput(
                    f"annotators {sorted(repeated)}: invited already, or named twice; "
                    "nobody was invited; fix that"
                )
            # ``consented``, the time of their consent, stays NULL until they give it.
            for label, token in tokens.items():
                database.execute(
                    "INSERT INTO annotators (token, label) VALUES (?, ?)", (token, label)
                )
        return tokens

    def withdraw(self, labels: Sequence[str]) -> dict[str, int]:
        """Delete answers, drafts, consent and link of annotators: of all of them or of none.

        Returns:
            How many answers were deleted, by label.

        Raises:
            BadInput: a label of nobody.
        """
        counts = {}
        with self._writing() as database:
            token_of = dict(database.execute("SELECT label, token FROM annotators"))
            if missing := sorted(set(labels) - token_of.keys()):
                raise BadInput(
                    f"annotators {missing}: not invited; nobody's answers were deleted, "
                    "fix the labels"
                )
            for label in labels:
                token = (token_of[label],)
                answers = database.execute("DELETE FROM answers WHERE token = ?", token)
                counts[label] = answers.rowcount
                database.execute("DELETE FROM drafts WHERE token = ?", token)
                database.execute("DELETE FROM annotators WHERE token = ?", token)
        with self._lock:
            self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
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
        query = "UPDATE annotators SET consented = ? WHERE token = ? AND consented IS NULL"
        with self._writing() as database:
            database.execute(query, (_now(), token))

    def add(self, token: str, item: str, answer: Mapping[str, Any]) -> None:
        """Keep an answer; when this returns it is on the disk.

        One equal to the item's latest is that one, sent twice: a double click, or a page that was
        sent again.
        """
        text = json.dumps(dict(answer), ensure_ascii=False, sort_keys=True)
        latest_query = (
            "SELECT answer FROM answers WHERE token = ? AND item = ? ORDER BY number DESC LIMIT 1"
        )
        add_query = "INSERT INTO answers (token, item, answer, at) VALUES (?, ?, ?, ?)"
        with self._writing() as database:
            latest = database.execute(latest_query, (token, item)).fetchone()
            if latest != (text,):
                database.execute(add_query, (token, item, text, _now()))
            if not answer.get("verified_only"):
                database.execute("DELETE FROM drafts WHERE token = ? AND item = ?", (token, item))

    def draft(self, token: str, item: str, answer: Mapping[str, Any]) -> None:
        """Keep what is chosen so far.

        A draft once verified stays so, though posts of one page may overtake one another.
        """
        query = "SELECT json_extract(answer, '$.verified') FROM drafts WHERE token = ? AND item = ?"
        with self._writing() as database:
            latest = database.execute(query, (token, item)).fetchone()
            chosen = dict(answer)
            if latest is not None and latest[0]:
                chosen["verified"] = True
            text = json.dumps(chosen, ensure_ascii=False)
            database.execute("INSERT OR REPLACE INTO drafts VALUES (?, ?, ?)", (token, item, text))

    def drafted(self, token: str, item: str) -> dict[str, Any]:
        """What was chosen so far."""
        rows = self._rows("SELECT answer FROM drafts WHERE token = ? AND item = ?", token, item)
        return json.loads(rows[0][0]) if rows else {}

    def done(self, token: str) -> set[str]:
        """Items that the annotator has finished."""
        rows = self._rows("SELECT item, answer FROM answers WHERE token = ?", token)
        return {item for item, answer in rows if not json.loads(answer).get("verified_only")}

    def answers(self) -> list[dict[str, Any]]:
        """Every answer with its annotator's label, oldest first.

        ``last`` marks the one of its item that counts.
        """
        columns = "a.number, n.label, a.item, a.answer, a.at"
        rows = self._rows(
            f"SELECT {columns} FROM answers a JOIN annotators n USING (token) ORDER BY 1"
        )
        # 1. The number of the last answer to each item.
        final: dict[tuple[str, str], int] = {}
        answers = []
        for number, label, item, text, at in rows:
            answer = json.loads(text)
            if not answer.get("verified_only"):
                final[label, item] = number
            answers.append({"annotator": label, "item": item, "at": at, "answer": answer})
        # 2. Which answers these are.
        for answer, (number, label, item, _, _) in zip(answers, rows, strict=True):
            answer["last"] = final.get((label, item)) == number
        return answers

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def _first_column(database: sqlite3.Connection, query: str) -> set[str]:
    return {row[0] for row in database.execute(query)}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")

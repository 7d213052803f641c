"""The study's pages: consent, instructions, training, testing.

Every annotator stands behind a token of their own.
"""

import hashlib
import re
import sqlite3
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, FileSystemLoader
from starlette.middleware.trustedhost import TrustedHostMiddleware

from longform_lab.study.items import Item, Study, questions
from longform_lab.study.store import Store

HERE = Path(__file__).parent
COOKIE = "study"
LOCAL = ("127.0.0.1", "localhost", "[::1]")
LIMIT = 1_000_000  # bytes of one post: answers are labels, not texts
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def visible(text: str) -> str:
    """Control characters of ASCII but tab and line feed as their pictures; the rest as it is."""
    return _CONTROLS.sub(
        lambda match: "\u2421" if match[0] == "\x7f" else chr(0x2400 + ord(match[0])), text
    )


def create_app(study: Study, store: Store, hosts: Sequence[str] = LOCAL) -> FastAPI:
    """The application.

    Args:
        study: what is judged.
        store: of the answers.
        hosts: names that a request may address the server by; others are refused.
    """
    # 1. What holds for every page.
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    plain_hosts = [host.strip("[]") for host in hosts]
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=[*plain_hosts, *hosts])
    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")
    app.middleware("http")(_guard)
    # 2. The pages, and what they post.
    pages = _Pages(study, store)
    app.exception_handler(sqlite3.OperationalError)(pages.not_kept)
    app.get("/enter/{token}")(pages.enter)
    app.get("/")(pages.home)
    app.post("/consent")(pages.consent)
    app.post("/answer")(pages.answer)
    app.post("/draft")(pages.draft)
    return app


async def _guard(request: Request, call_next: Any) -> Response:
    """Refuse posts from elsewhere, and add the headers to every response."""
    refused = _refusal(request)
    response = JSONResponse({"error": refused}, 403) if refused else await call_next(request)
    response.headers.update(HEADERS)
    return response


class _Pages:
    """The pages of a study, and what annotators post from them.

    Args:
        study: what is judged.
        store: of the answers.
    """

    def __init__(self, study: Study, store: Store) -> None:
        self.study = study
        self.store = store
        self.templates = Environment(loader=FileSystemLoader(HERE / "templates"), autoescape=True)
        self.templates.filters["visible"] = visible

    def enter(self, request: Request, token: str) -> Response:
        """The link that an annotator was sent: their token becomes a cookie of the browser."""
        # 1. Links that are not followed at once.
        if self.store.label(token) is None:
            return self._message("This link is not known. Ask for another one.", 403)
        present = self._annotator(request)
        if present is not None and present != token and "switch" not in request.query_params:
            return self._message(
                "This browser is in use by somebody who opened another link. "
                "Their answers are kept.",
                link=f"/enter/{token}?switch=1",
            )
        # 2. The cookie. Not "strict": a click in web mail comes from another site, and its redirect
        # would arrive without the cookie.
        response = RedirectResponse("/", 303)
        https = request.url.scheme == "https"
        response.set_cookie(
            COOKIE, token, httponly=True, secure=https, samesite="lax", max_age=90 * 86400
        )
        return response

    def home(self, request: Request) -> Response:
        """What comes next: consent, the first item that is not done, or thanks."""
        token = self._annotator(request)
        if token is None:
            return self._message("Open the link that you were sent; it holds your code.", 403)
        if not self.store.consented(token):
            return self._show("consent.html", form=stamp(token))
        order = self.study.order(token)
        done = self.store.done(token)
        left = [item for item in order if item.id not in done]
        if not left:
            return self._message("You are done. Thank you! You may close this page.")
        item = left[0]
        chosen = self.store.drafted(token, item.id)
        # The right answers of a training item are shown once it is verified.
        gold = item.gold if item.phase == "training" and chosen.get("verified") else ()
        return self._show(
            "item.html",
            form=stamp(token),
            number=len(order) - len(left) + 1,
            of=len(order),
            place=order.index(item),
            item=item,
            chosen=chosen,
            questions=dict(questions(item)),
            gold=gold,
        )

    async def consent(self, request: Request) -> Response:
        """The annotator consents to take part."""
        token, _, _ = await self._posted(request)
        if token is None:
            return self._outdated()
        self.store.consent(token)
        return RedirectResponse("/", 303)

    async def answer(self, request: Request) -> Response:
        """The answers to an item; where some are missing they are a draft.

        Those that are to be verified, of a training item, are stored and stay a draft: the item is
        not done, and the page shows them beside the right ones. An item that is done may be
        answered again; the last answer counts.
        """
        token, form, item = await self._posted(request)
        if token is None or item is None:
            return self._outdated()
        chosen, missing = _chosen(item, form)
        if missing:
            self.store.draft(token, item.id, chosen)
            return RedirectResponse("/", 303)
        verifying = form.get("action") == "verify" and item.phase == "training"
        self.store.add(token, item.id, chosen | ({"verified_only": True} if verifying else {}))
        if verifying:
            self.store.draft(token, item.id, chosen | {"verified": True})
        return RedirectResponse("/", 303)

    async def draft(self, request: Request) -> Response:
        """Answers to an item so far, as the page sends them by itself."""
        token, form, item = await self._posted(request)
        if token is None or item is None:
            return JSONResponse({"error": "not known"}, 403)
        if item.id not in self.store.done(token):
            self.store.draft(token, item.id, _chosen(item, form)[0])
        return JSONResponse({"kept": True})

    async def not_kept(self, request: Request, error: Exception) -> Response:
        """A full disk, or a file that cannot be written or read: the annotator learns of it."""
        print(
            f"longform: an answer was not kept ({error}); make room or mend the file",
            file=sys.stderr,
            flush=True,
        )
        return self._message(
            "Your answer could not be kept. Please tell the person who invited you, "
            "and try again later.",
            507,
        )

    async def _posted(self, request: Request) -> tuple[str | None, dict[str, str], Item | None]:
        """The annotator, if the form is theirs; its fields; and the item that it is about.

        A page names the item by its place in the annotator's order, because an id may tell where a
        text is from. None: no such place, no consent yet, or a testing item (which a post made by
        hand may name) before all of training is done.
        """
        token = self._annotator(request)
        form: dict[str, str] = {}
        for key, value in (await request.form()).items():
            if isinstance(value, str):
                form[key] = value
        if token is None or form.get("form") != stamp(token):
            return None, form, None
        order = self.study.order(token) if self.store.consented(token) else []
        item = _item_at(form.get("item", ""), order)
        if item is None or item.phase != "testing" or _trained(order, self.store.done(token)):
            return token, form, item
        return token, form, None

    def _annotator(self, request: Request) -> str | None:
        """The token in the browser's cookie, if it is an annotator's."""
        token = request.cookies.get(COOKIE, "")
        return token if token and self.store.label(token) is not None else None

    def _show(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        """A page.

        Args:
            template: file of the page.
            status: of HTTP.
            values: of the template's variables.
        """
        page = self.templates.get_template(template).render(study=self.study, **values)
        return HTMLResponse(page, status)

    def _message(self, message: str, status: int = 200, **values: Any) -> HTMLResponse:
        """A page that says one thing."""
        return self._show("message.html", status, message=message, **values)

    def _outdated(self) -> HTMLResponse:
        """The response to a form that may not be taken: another annotator's, or out of turn."""
        return self._message("This page is out of date. Open your link again.", 403)


def _item_at(place: str, order: Sequence[Item]) -> Item | None:
    """The item at a place of an annotator's order; None where a form names no such place."""
    max_digits = len(str(len(order)))  # a number of thousands of digits is no int
    if not place.isdecimal() or len(place) > max_digits:
        return None
    return order[int(place)] if int(place) < len(order) else None


def _trained(order: Sequence[Item], done: Collection[str]) -> bool:
    """Whether every training item is answered."""
    return all(item.id in done for item in order if item.phase == "training")


def stamp(token: str) -> str:
    """What a form must carry to be taken, so that no other site can post it (a CSRF token).

    Who does not know the annotator's token cannot compute it.
    """
    return hashlib.blake2b(token.encode(), key=b"longform study form", digest_size=16).hexdigest()


def _refusal(request: Request) -> str:
    """Why a request is refused: a post from another site, or a very large one; "" if it is not.

    Browsers that send neither header of a post's origin are let through.
    """
    if request.method in ("GET", "HEAD"):
        return ""
    length = request.headers.get("content-length", "")
    if not re.fullmatch("[0-9]{1,9}", length) or int(length) > LIMIT:
        return "too large, or of unknown length"
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return "a post from another site"
    origin = request.headers.get("origin")
    if origin and origin.split("://", 1)[-1] != request.headers.get("host"):
        return "a post from another site"
    return ""


def _chosen(item: Item, form: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Allowed answers by question, and the questions without one."""
    chosen: dict[str, str] = {}
    missing: list[str] = []
    for name, allowed in questions(item):
        if form.get(name) in allowed:
            chosen[name] = form[name]
        else:
            missing.append(name)
    return chosen, missing

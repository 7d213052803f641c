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
    """Control characters, which HTML cannot hold, as their pictures; nothing else is changed."""
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
    # 1. Parts that all pages share.
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    plain_hosts = [host.strip("[]") for host in hosts]
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=[*plain_hosts, *hosts])
    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")
    pages = Environment(loader=FileSystemLoader(HERE / "templates"), autoescape=True)
    pages.filters["visible"] = visible

    def show(template: str, status: int = 200, **values: Any) -> HTMLResponse:
        return HTMLResponse(pages.get_template(template).render(study=study, **values), status)

    def annotator(request: Request) -> str | None:
        token = request.cookies.get(COOKIE, "")
        return token if token and store.label(token) is not None else None

    def outdated() -> HTMLResponse:
        return show("message.html", 403, message="This page is out of date. Open your link again.")

    async def posted(request: Request) -> tuple[str | None, dict[str, str], Item | None]:
        """The annotator, if the form is theirs; its fields; and the item that it is about.

        There is an item where they have consented. A page names it by the place in the annotator's
        own order, because an id may tell where a text is from. A page shows testing items after all
        of training; a post of its own may not overtake it.
        """
        token = annotator(request)
        form: dict[str, str] = {}
        for key, value in (await request.form()).items():
            if isinstance(value, str):
                form[key] = value
        if token is None or form.get("form") != stamp(token):
            return None, form, None
        order = study.order(token) if store.consented(token) else []
        item = _item_at(form.get("item", ""), order)
        if item is not None and item.phase == "testing" and not _trained(order, store.done(token)):
            item = None
        return token, form, item

    @app.exception_handler(sqlite3.OperationalError)
    async def not_kept(request: Request, error: sqlite3.OperationalError) -> Response:
        """A full disk, or a file that cannot be written: the annotator learns of it."""
        print(
            f"longform: an answer was not kept ({error}); make room or mend the file",
            file=sys.stderr,
            flush=True,
        )
        message = (
            "Your answer could not be kept. Please tell the person who invited you, "
            "and try again later."
        )
        return show("message.html", 507, message=message)

    @app.middleware("http")
    async def guard(request: Request, call_next: Any) -> Response:
        refused = _refusal(request)
        response = JSONResponse({"error": refused}, 403) if refused else await call_next(request)
        response.headers.update(HEADERS)
        return response

    # 2. Pages.
    @app.get("/enter/{token}")
    def enter(request: Request, token: str) -> Response:
        if store.label(token) is None:
            return show("message.html", 403, message="This link is not known. Ask for another one.")
        present = annotator(request)
        if present is not None and present != token and "switch" not in request.query_params:
            message = (
                "This browser is in use by somebody who opened another link. "
                "Their answers are kept."
            )
            return show("message.html", 200, message=message, link=f"/enter/{token}?switch=1")
        response = RedirectResponse("/", 303)
        # Not "strict": a click in web mail comes from another site, and its redirect would arrive
        # without the cookie.
        https = request.url.scheme == "https"
        response.set_cookie(
            COOKIE, token, httponly=True, secure=https, samesite="lax", max_age=90 * 86400
        )
        return response

    @app.get("/")
    def home(request: Request) -> Response:
        token = annotator(request)
        if token is None:
            return show(
                "message.html", 403, message="Open the link that you were sent; it holds your code."
            )
        if not store.consented(token):
            return show("consent.html", form=stamp(token))
        # The first item that is not done.
        order, done = study.order(token), store.done(token)
        left = [item for item in order if item.id not in done]
        if not left:
            return show("message.html", message="You are done. Thank you! You may close this page.")
        item, number = left[0], len(order) - len(left) + 1
        chosen = store.drafted(token, item.id)
        gold = item.gold if item.phase == "training" and chosen.get("verified") else ()
        shown: dict[str, Any] = {
            "item": item,
            "chosen": chosen,
            "questions": dict(questions(item)),
            "gold": gold,
        }
        return show(
            "item.html",
            form=stamp(token),
            number=number,
            of=len(order),
            place=order.index(item),
            **shown,
        )

    # 3. What pages post.
    @app.post("/consent")
    async def consent(request: Request) -> Response:
        token, _, _ = await posted(request)
        if token is None:
            return outdated()
        store.consent(token)
        return RedirectResponse("/", 303)

    @app.post("/answer")
    async def answer(request: Request) -> Response:
        token, form, item = await posted(request)
        if token is None or item is None:
            return outdated()
        chosen, missing = _chosen(item, form)
        if missing:
            store.draft(token, item.id, chosen)
            return RedirectResponse("/", 303)
        verifying = form.get("action") == "verify" and item.phase == "training"
        store.add(token, item.id, chosen | ({"verified_only": True} if verifying else {}))
        if verifying:
            store.draft(token, item.id, chosen | {"verified": True})
        return RedirectResponse("/", 303)

    @app.post("/draft")
    async def draft(request: Request) -> Response:
        token, form, item = await posted(request)
        if token is None or item is None:
            return JSONResponse({"error": "not known"}, 403)
        if item.id not in store.done(token):
            store.draft(token, item.id, _chosen(item, form)[0])
        return JSONResponse({"kept": True})

    return app


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
    """What a form must carry to be taken.

    It is known only to pages that this server showed to this annotator.
    """
    return hashlib.blake2b(token.encode(), key=b"longform study form", digest_size=16).hexdigest()


def _refusal(request: Request) -> str:
    """Why a request is refused: a post from another site, or a very large one."""
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

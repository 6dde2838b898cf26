"""Sessions: what goes with requests: credentials, the signature of an identity, and the logins by form.

A login takes turns of its host like everything else: one for the form, with its hidden fields, one to send it, and
one for each redirect behind it. A URL whose turn was spent on that goes back to the head of its queue (`login`). What
the server sets on the way is kept in memory, and nowhere else: a restart logs in again. Where the page behind the
form has not the text that tells success, nothing of that part of the site is asked for, and the form is tried again
later.

A session is over when a page of it is answered by 401, 403 or a redirect to the form. Then there is a new one, unless
no page was fetched with the last.
"""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import urlencode

from gossamer.clock import Clock
from gossamer.fetch.cookie_jars import CookieJars
from gossamer.fetch.http import Http
from gossamer.headers import ExtraHeaders
from gossamer.records import Answer, Failed, Fetched, Moved, Postponed, Reason, Refused, Result, Url
from gossamer.url.canonical import canonicalize
from gossamer.url.site import clock_name, host_of
from gossamer.visitor.cookies import Jar
from gossamer.visitor.credentials import Credentials, FormLogin
from gossamer.visitor.identity import Identity

AGAIN_S = 600.0  # until another try of a form that did not let us in
STEPS_MAX = 6  # the form, its answer and what that leads to
SHUT_OUT = frozenset({401, 403})
NOTHING = ExtraHeaders()


class Session:
    """One login. `step`: what the next turn is spent on."""

    def __init__(self, login: FormLogin, clock: Clock) -> None:
        self.login = login
        self.jar: Jar = ()
        self.cookies = CookieJars("host", clock, lambda url: self.jar, self._keep)
        self.fault, self.again_at = "", 0.0
        self.close()

    def _keep(self, _url: Url, jar: Jar) -> None:
        self.jar = jar

    def close(self) -> None:
        self.is_open, self.pages, self.steps, self.jar = False, 0, 0, ()
        self.step: tuple[str, Url] = ("form", self.login.url)
        self.fields: dict[str, str] = {}

    def is_here(self, url: Url) -> bool:
        return clock_name(host_of(url)) == clock_name(host_of(self.login.url))


class Sessions:
    def __init__(
        self, credentials: Credentials, http: Http | None, clock: Clock, identity: Identity | None = None
    ) -> None:
        """`http`: what logs in; None: nobody does. `identity`: signs all that is asked for; None: nobody does."""
        self._identity = identity
        self._credentials = credentials
        self._http = http
        self._clock = clock
        self._sessions: dict[Url, Session] = {}  # by the beginning of their URLs

    def extra_for(self, url: Url, cookies: str = "") -> ExtraHeaders:
        """What goes with a request. `cookies`: that are brought."""
        credential = self._credentials.of(url) if self._credentials else None
        extra = credential.extra if credential is not None else NOTHING
        if self._identity is not None and url.startswith("http"):
            extra = ExtraHeaders((*extra.shown, *self._identity.signed(url, self._clock.now())), extra.hidden)
        if not cookies:
            return extra
        return ExtraHeaders(extra.shown, (*extra.hidden, f"Cookie: {cookies}".encode("latin-1")))

    def cookies_of(self, url: Url) -> CookieJars | None:
        """None: it is in no session."""
        session = self._session(url)
        return session.cookies if session is not None else None

    def _session(self, url: Url) -> Session | None:
        credential = self._credentials.of(url) if self._credentials else None
        if credential is None or credential.login is None or self._http is None:
            return None
        if credential.prefix not in self._sessions:
            self._sessions[credential.prefix] = Session(credential.login, self._clock)
        return self._sessions[credential.prefix]

    async def log_in(self, url: Url) -> Result | None:
        """What the turn was spent on, or why nothing is asked for; None: nothing is in the way."""
        session = self._session(url)
        if session is None or self._http is None or session.is_open:
            return None
        if (wait_s := session.again_at - self._clock.now()) > 0:
            return Refused(Reason.LOGIN, session.fault, wait_s)
        return await self._take_step(session, self._http)

    async def _take_step(self, session: Session, http: Http) -> Result:
        kind, url = session.step
        extra = self.extra_for(url, session.cookies.brought_to(url).cookies)
        if kind == "send":
            form = urlencode(session.fields | session.login.fields).encode()
            answer = await http.post(url, form, extra)
        else:
            answer = await http.fetch(url, extra=extra)
        if isinstance(answer, Refused | Postponed):
            return answer
        session.cookies.take(url, answer.exchange)
        session.steps += 1
        if isinstance(answer, Moved) and session.is_here(answer.target) and session.steps < STEPS_MAX:
            session.step = ("form" if kind == "form" else "look", answer.target)
        elif not isinstance(answer, Fetched):
            return self._fail(session, f"{url}: {_words_for(answer)}")
        elif kind == "form":
            action, session.fields = form_in(answer.body[:], url, set(session.login.fields))
            session.step = ("send", action if session.is_here(action) else session.login.url)
        elif session.login.success.encode() not in answer.body[:]:
            return self._fail(session, f"{url} does not say {session.login.success!r}")
        else:
            session.is_open = True
        return Postponed(0.0, Reason.LOGIN)

    def answered(self, url: Url, answer: Answer) -> Postponed | None:
        """A page was asked for. Not None: its session is over, and there will be another."""
        session = self._session(url)
        if session is None:
            return None
        form = session.login.url.partition("?")[0]
        is_shut_out = answer.exchange is not None and answer.exchange.status in SHUT_OUT
        if is_shut_out or (isinstance(answer, Moved) and answer.target.partition("?")[0] == form):
            if session.pages and url.partition("?")[0] != form:
                session.close()
                return Postponed(0.0, Reason.LOGIN)
        elif isinstance(answer, Fetched):
            session.pages += 1
        return None

    def _fail(self, session: Session, fault: str) -> Postponed:
        session.close()
        session.fault, session.again_at = fault, self._clock.now() + AGAIN_S
        return Postponed(0.0, Reason.LOGIN, fault)


def _words_for(answer: Answer) -> str:
    if isinstance(answer, Moved):
        return f"moved to {answer.target}"
    assert isinstance(answer, Failed)
    return f"status {answer.exchange.status}" if answer.exchange else str(answer.reason)


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[tuple[str, dict[str, str], set[str]]] = [("", {}, set())]  # action, hidden fields, all names

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attributes}
        if tag == "form":
            self.forms.append((said.get("action", ""), {}, set()))
        elif tag in ("input", "button", "select", "textarea") and (name := said.get("name")):
            self.forms[-1][2].add(name)
            if said.get("type", "").lower() == "hidden":
                self.forms[-1][1][name] = said.get("value", "")


def form_in(body: bytes, url: Url, names: set[str]) -> tuple[Url, dict[str, str]]:
    """Where the form with these fields is sent, and its hidden fields; the URL itself where there is no such form."""
    parser = _Forms()
    parser.feed(body.decode("utf-8", "replace"))
    for action, hidden, found in parser.forms:
        if names <= found:
            return (canonicalize(action, url) if action else url) or url, hidden
    return url, {}

from __future__ import annotations

import email.utils
import ipaddress
import json
import random
import ssl
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin

from .effects import T, _AskToken, _Connect, _Sleep, _Steps
from .faults import Fault, _bad_reply, _Broken, _deadline_exceeded, _fault_in, _Late, _number, _unreachable
from .http1 import _Body, _Channel, _origin_of, _Response, _send_request

_MAX_REDIRECTS = 5
# A reused connection that the server has just closed is not a failed attempt.
_MAX_IDLE = 8
_MAX_PAUSE = 3600.0
_FOREVER = float("inf")


@dataclass(frozen=True)
class ClientOptions:
    trusted_origins: Iterable[str] = ()
    """Other origins that get the credential and the headers of this client, such as `https://files.example`."""
    retries: int = 3
    """How often a request is repeated. Repeats have the same ids, so nothing runs twice."""
    connect_timeout: float = 10.0
    idle_timeout: float = 60.0
    """Seconds without a byte after which a connection counts as broken."""
    max_reply_bytes: int = 64 * 1024 * 1024
    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent with every request to the server and to the trusted origins."""
    context: ssl.SSLContext | None = None
    """Default: the certificates of the system."""


@dataclass(frozen=True)
class _Settings:
    url: str
    trusted: frozenset[tuple[str, str, int]]
    remedies: dict[str, str]
    refreshes: bool
    options: ClientOptions


@dataclass
class _Answer:
    status: int
    headers: dict[str, str]
    body: dict[str, Any]
    url: str


@dataclass
class _Deadline:
    """`until` bounds the whole call. Every single step is bounded by the idle timeout as well."""

    until: float = _FOREVER
    request_id: str | None = None

    @staticmethod
    def after(seconds: float | None, request_id: str | None = None) -> _Deadline:
        return _Deadline(_FOREVER if seconds is None else time.monotonic() + seconds, request_id)

    def within(self, seconds: float) -> float:
        return min(self.until, time.monotonic() + seconds)

    @property
    def left(self) -> float:
        return self.until - time.monotonic()


@dataclass
class _Exchange:
    """Sends requests to the server and to the addresses that it names."""

    settings: _Settings
    idle: dict[tuple[str, str, int], list[_Channel]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.home = _origin_of(self.settings.url)

    def close(self) -> None:
        for channels in self.idle.values():
            while channels:
                channels.pop().close()

    def resolve(self, uri: str) -> str:
        url = urljoin(self.settings.url + "/call", uri)
        _origin_of(url)
        return url

    def trusts(self, url: str) -> bool:
        """The caller's credential goes to the server itself and to the trusted origins, and nowhere else."""
        origin = _origin_of(url)
        return origin == self.home or origin in self.settings.trusted

    def open(
        self, method: str, url: str, headers: Mapping[str, str], body: _Body | None, deadline: _Deadline, idle: float
    ) -> _Steps[_Response]:
        """One request. An idle connection that turns out to be closed is replaced without counting as a failure."""
        origin = _origin_of(url)
        while True:
            channels = self.idle.setdefault(origin, [])
            try:
                channel = channels.pop()
                channel.reused = True
            except IndexError:
                connection = yield _Connect(*origin, deadline.within(self.settings.options.connect_timeout))
                channel = _Channel(connection)
            try:
                return (yield from _send_request(channel, method, url, headers, body, lambda: deadline.within(idle)))
            except _Broken:
                channel.close()
                if not channel.reused:
                    raise
            except BaseException:
                channel.close()
                raise

    def release(self, response: _Response) -> None:
        channels = self.idle.setdefault(_origin_of(self.settings.url), [])
        if response.reusable and len(channels) < _MAX_IDLE:
            channels.append(response.channel)
        else:
            response.channel.close()

    def credential(self, url: str) -> _Steps[str | None]:
        if not self.trusts(url):
            return None
        token: str | None = yield _AskToken()
        return None if token is None else f"Bearer {token}"

    def begin(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: _Body | None,
        deadline: _Deadline,
        idle: float,
        own: str | None = None,
    ) -> _Steps[_Response]:
        """A request with the right credential. `own` is the one that the server gave for this address."""
        credential = own if own is not None else (yield from self.credential(url))
        sent = {"Accept-Encoding": "identity", **headers}
        if self.trusts(url):
            sent = {**self.settings.options.headers, **sent}
        if credential is not None:
            sent["Authorization"] = credential
        response = yield from self.open(method, url, sent, body, deadline, idle)
        if response.status != 401 or own is not None or credential is None or not self.settings.refreshes:
            return response
        fresh = yield from self.credential(url)
        if fresh is None or fresh == credential:
            return response
        response.channel.close()
        return (yield from self.open(method, url, {**sent, "Authorization": fresh}, body, deadline, idle))

    def ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: _Body | None,
        deadline: _Deadline,
        extra_idle: float = 0,
    ) -> _Steps[_Answer]:
        """A request whose response is an envelope. Repeats it while that is safe: the request carries its own ids."""
        attempt = 0
        while True:
            try:
                answer = yield from self._ask_once(method, url, headers, body, deadline, extra_idle)
            except (_Broken, _Late) as error:
                if deadline.left <= 0:
                    raise _deadline_exceeded(deadline.request_id) from error
                if attempt >= self.settings.options.retries:
                    raise _unreachable(_shown_origin(url), error, deadline.request_id) from error
                wait = _backoff(attempt)
            else:
                if answer.status not in (429, 503) or attempt >= self.settings.options.retries:
                    return answer
                hint = _retry_after(answer)
                wait = _backoff(attempt) if hint is None else hint
                if wait >= deadline.left:
                    return answer
            attempt += 1
            yield from _pause(wait, deadline)

    def _ask_once(
        self, method: str, url: str, headers: Mapping[str, str], body: _Body | None, deadline: _Deadline, extra: float
    ) -> _Steps[_Answer]:
        idle = self.settings.options.idle_timeout + extra
        response = yield from self.begin(method, url, {"Accept": "application/json", **headers}, body, deadline, idle)
        try:
            data = yield from response.read(lambda: deadline.within(idle), self.settings.options.max_reply_bytes)
        except BaseException:
            response.channel.close()
            raise
        if _origin_of(url) == self.home:
            self.release(response)
        else:
            response.channel.close()
        parsed = {} if response.status == 304 else _parse_object(data)
        if parsed is None:
            # A proxy in front of the server responds for it.
            if response.status in (502, 503, 504):
                raise _Broken(f"a response with status {response.status}")
            # A redirect may have no body: its address is in the header.
            if response.status != 303 or "location" not in response.headers:
                message = f"{_shown_origin(url)} responded with status {response.status} and no JSON object."
                raise _bad_reply(message, deadline.request_id, response.status)
            location = {"uri": response.headers["location"]}
            parsed = {"requestId": deadline.request_id, "state": "complete", "location": location}
        return _Answer(response.status, response.headers, parsed, url)

    def fetch(
        self, url: str, headers: Mapping[str, str], own: str | None, deadline: _Deadline
    ) -> _Steps[tuple[_Response, str]]:
        """A GET that follows redirects. No credential follows to another origin."""
        for _ in range(_MAX_REDIRECTS + 1):
            response = yield from self.begin(
                "GET", url, headers, None, deadline, self.settings.options.idle_timeout, own
            )
            if response.status not in (301, 302, 303, 307, 308):
                return response, url
            response.channel.close()
            target = urljoin(url, response.headers.get("location", ""))
            if _origin_of(target) != _origin_of(url):
                own = None
            url = target
        raise Fault("TOO_MANY_REDIRECTS", "The result is behind too many redirects.", request_id=deadline.request_id)

    def refuse(self, answer: _Answer, request_id: str | None) -> Fault:
        fault = _fault_in(answer.body.get("error"), self.settings.remedies, request_id, answer.status)
        if fault.retry_after is None:
            fault.retry_after = _retry_after(answer)
        return fault


def _pause(seconds: float, deadline: _Deadline) -> _Steps[None]:
    # A server cannot make a call sleep for ever.
    seconds = min(seconds, _MAX_PAUSE)
    if seconds >= deadline.left:
        raise _deadline_exceeded(deadline.request_id)
    yield _Sleep(seconds)


def _guarded(steps: _Steps[T], deadline: _Deadline, url: str) -> _Steps[T]:
    """Makes faults of the failures of the network."""
    try:
        return (yield from steps)
    except (_Broken, _Late) as error:
        if deadline.left <= 0:
            raise _deadline_exceeded(deadline.request_id) from error
        raise _unreachable(_shown_origin(url), error, deadline.request_id) from error


def _shown_origin(url: str) -> str:
    scheme, host, port = _origin_of(url)
    return f"{scheme}://{host}:{port}"


def _parse_object(data: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _retry_after(answer: _Answer) -> float | None:
    """Seconds, from the body or the header. RFC 9110 allows a date in the header."""
    ms = _number(answer.body.get("retryAfterMs"))
    if ms is not None:
        return ms / 1000
    header = answer.headers.get("retry-after", "")
    if header.isdigit() and len(header) < 10:
        return float(header)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def _backoff(attempt: int) -> float:
    return min(5.0, 0.2 * 2.0**attempt) * (0.5 + random.random() / 2)


def _closeness(address: str) -> int:
    """0 for a public address, 1 for a private one, 2 for this machine, 3 for one that no server has."""
    ip = ipaddress.ip_address(address.split("%")[0])
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    if ip.is_link_local or ip.is_multicast or ip.is_unspecified:
        return 3
    if ip.is_loopback:
        return 2
    return 0 if ip.is_global else 1

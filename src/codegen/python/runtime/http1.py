from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol
from urllib.parse import urlsplit

from .effects import _Connection, _Receive, _Send, _Steps
from .faults import Fault, _bad_reply, _Broken

_MAX_HEAD = 64 * 1024
_UNSAFE = re.compile(r"[\x00-\x20\x7f-\U0010ffff]")


class _Body(Protocol):
    """Can be sent more than once."""

    size: int

    def pieces(self) -> Iterator[bytes]: ...


class _Bytes:
    def __init__(self, data: bytes) -> None:
        self.size = len(data)
        self._data = data

    def pieces(self) -> Iterator[bytes]:
        yield self._data


def _origin_of(url: str) -> tuple[str, str, int]:
    """Scheme, host and port of an address that may come from a server."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _refused_location(url) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or _UNSAFE.search(url) or "@" in parts.netloc:
        raise _refused_location(url)
    return parts.scheme, parts.hostname, port if port is not None else (443 if parts.scheme == "https" else 80)


def _refused_location(url: str) -> Fault:
    return Fault("LOCATION_REFUSED", f"This client does not open {url[:200]!r}.")


class _Channel:
    """Reads HTTP/1.1 responses from one connection."""

    def __init__(self, connection: _Connection) -> None:
        self.connection = connection
        self.reused = False
        self._buffer = bytearray()

    def close(self) -> None:
        self.connection.close()

    def _fill(self, until: float) -> _Steps[None]:
        data: bytes = yield _Receive(self.connection, until)
        if not data:
            raise _Broken("the connection was closed in the middle of a response")
        self._buffer += data

    def line(self, until: float) -> _Steps[str]:
        start = 0
        while (end := self._buffer.find(b"\n", start)) < 0:
            start = len(self._buffer)
            if start > _MAX_HEAD:
                raise _bad_reply("A header of the response is too long.")
            yield from self._fill(until)
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line.rstrip(b"\r").decode("latin-1")

    def some(self, most: int, until: float) -> _Steps[bytes]:
        if not self._buffer:
            yield from self._fill(until)
        data = bytes(self._buffer[:most])
        del self._buffer[:most]
        return data

    def rest(self, until: float) -> _Steps[bytes]:
        """The next bytes, or none at the end of the connection."""
        if self._buffer:
            data = bytes(self._buffer)
            self._buffer.clear()
            return data
        received: bytes = yield _Receive(self.connection, until)
        return received


class _Response:
    """A response whose body is read piece by piece."""

    def __init__(self, channel: _Channel, status: int, headers: dict[str, str], has_body: bool) -> None:
        self.channel = channel
        self.status = status
        self.headers = headers
        self.ended = not has_body
        self._chunked = "chunked" in headers.get("transfer-encoding", "").lower()
        length = headers.get("content-length")
        if length is not None and not re.fullmatch(r"\d{1,15}", length):
            raise _bad_reply("The response has an invalid Content-Length.")
        self._after_chunk = False
        self._left = 0 if self._chunked or length is None else int(length)
        self._to_close = has_body and not self._chunked and length is None
        if has_body and not self._chunked and length is not None and self._left == 0:
            self.ended = True

    @property
    def reusable(self) -> bool:
        return self.ended and not self._to_close and self.headers.get("connection", "").lower() != "close"

    @property
    def mime_type(self) -> str:
        return self.headers.get("content-type", "").split(";")[0].strip().lower()

    def piece(self, until: float) -> _Steps[bytes]:
        """The next bytes of the body, or none at its end."""
        if self.ended:
            return b""
        if self._to_close:
            data = yield from self.channel.rest(until)
            self.ended = not data
            return data
        if self._after_chunk:
            # Read here and not with the data: a step that is too late loses no bytes.
            yield from self.channel.line(until)
            self._after_chunk = False
        if self._chunked and self._left == 0:
            size = (yield from self.channel.line(until)).split(";")[0].strip()
            if not re.fullmatch(r"[0-9a-fA-F]{1,12}", size):
                raise _Broken("the response has an invalid chunk")
            self._left = int(size, 16)
            if self._left == 0:
                while (yield from self.channel.line(until)):
                    pass
                self.ended = True
                return b""
        data = yield from self.channel.some(min(self._left, 1 << 20), until)
        self._left -= len(data)
        if self._left == 0:
            self._after_chunk = self._chunked
            self.ended = not self._chunked
        return data

    def read(self, within: Callable[[], float], limit: int) -> _Steps[bytes]:
        body = bytearray()
        while piece := (yield from self.piece(within())):
            body += piece
            if len(body) > limit:
                raise _bad_reply(f"The response is larger than {limit} bytes.")
        return bytes(body)


def _send_request(
    channel: _Channel,
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: _Body | None,
    within: Callable[[], float],
) -> _Steps[_Response]:
    """`within` returns the time until which the next step must be done."""
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [f"{method} {target} HTTP/1.1", f"Host: {parts.netloc}"]
    for name, value in headers.items():
        if re.search(r"[^\x20-\x7e\x80-\xff]", value):
            raise Fault("INVALID_HEADER", f"The value of the header {name} has characters that cannot be sent.")
        lines.append(f"{name}: {value}")
    if body is not None:
        lines.append(f"Content-Length: {body.size}")
    head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
    try:
        if body is None or body.size > 1 << 16:
            yield _Send(channel.connection, head, within())
            for piece in body.pieces() if body is not None else ():
                yield _Send(channel.connection, piece, within())
        else:
            yield _Send(channel.connection, head + b"".join(body.pieces()), within())
    except _Broken:
        # A server may refuse a large body before its end, and its response is still there to read.
        if body is None or body.size <= 1 << 16:
            raise
    return (yield from _read_head(channel, method, within()))


def _read_head(channel: _Channel, method: str, until: float) -> _Steps[_Response]:
    while True:
        status_line = yield from channel.line(until)
        match = re.fullmatch(r"HTTP/1\.[01] (\d{3})(?: .*)?", status_line)
        if not match:
            raise _bad_reply("The server does not speak HTTP/1.1.")
        headers: dict[str, str] = {}
        size = 0
        while line := (yield from channel.line(until)):
            size += len(line)
            if size > _MAX_HEAD:
                raise _bad_reply("The headers of the response are too long.")
            name, _, value = line.partition(":")
            key = name.strip().lower()
            headers[key] = f"{headers[key]}, {value.strip()}" if key in headers else value.strip()
        status = int(match[1])
        # 1xx responses are interim: the real one follows.
        if status >= 200:
            return _Response(channel, status, headers, method != "HEAD" and status not in (204, 304))

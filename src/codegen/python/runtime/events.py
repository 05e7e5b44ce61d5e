from __future__ import annotations

import codecs
from collections import deque
from dataclasses import dataclass

from .effects import _Steps
from .exchange import _Deadline, _Exchange
from .faults import _bad_reply, _Broken
from .http1 import _Response

_MAX_EVENT = 64 * 1024 * 1024


@dataclass(frozen=True)
class _Event:
    event: str
    data: str
    id: str


class _EventDecoder:
    """Server-sent events, as WHATWG HTML defines them."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._partial: list[str] = []
        self._size = 0
        self._data: list[str] = []
        self._event = ""
        self._id = ""
        self._after_return = False

    def push(self, piece: bytes) -> list[_Event]:
        text = self._decoder.decode(piece)
        if self._after_return and text.startswith("\n"):
            text = text[1:]
            self._after_return = False
        if text:
            self._after_return = text.endswith("\r")
        self._size += len(text)
        if self._size > _MAX_EVENT:
            raise _bad_reply("An event of the stream is too long.")
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        events: list[_Event] = []
        for line in lines[:-1]:
            self._partial.append(line)
            whole = "".join(self._partial)
            self._partial = []
            if whole:
                self._field(whole)
            elif self._data:
                events.append(_Event(self._event or "message", "\n".join(self._data), self._id))
            if not whole:
                self._data, self._event, self._size = [], "", 0
        if lines[-1]:
            self._partial.append(lines[-1])
        return events

    def _field(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self._id = value


class _Events:
    """One connection that delivers events."""

    def __init__(self, exchange: _Exchange, url: str, deadline: _Deadline) -> None:
        self._exchange = exchange
        self._url = url
        self._deadline = deadline
        self._decoder = _EventDecoder()
        self._waiting: deque[_Event] = deque()
        self._response: _Response | None = None
        self.status = 0

    def open(self, own: str | None) -> _Steps[bool]:
        """False if the server has no events here."""
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        idle = self._exchange.settings.options.idle_timeout
        response = yield from self._exchange.begin("GET", self._url, headers, None, self._deadline, idle, own)
        self._response = response
        self.status = response.status
        return response.status == 200 and response.mime_type == "text/event-stream"

    def next(self, before: float | None) -> _Steps[_Event]:
        """The next event. Too late at the time `before`, and then it can be asked for again."""
        while not self._waiting:
            response = self._response
            if response is None:
                raise _Broken("the events are not open")
            until = self._deadline.within(self._exchange.settings.options.idle_timeout)
            piece = yield from response.piece(until if before is None else min(until, before))
            if not piece:
                raise _Broken("the events ended")
            self._waiting.extend(self._decoder.push(piece))
        return self._waiting.popleft()

    def close(self) -> None:
        if self._response is not None:
            self._response.channel.close()

from __future__ import annotations

import base64
import binascii
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .calls import CallOptions, _Call, _Op, _own_credential, _parse_event, _seconds_left, _start
from .effects import _Item, _ItemSteps, _Steps
from .events import _Event, _Events
from .exchange import _Answer, _backoff, _Deadline, _Exchange, _pause
from .faults import Fault, _bad_reply, _Broken, _deadline_exceeded, _Late
from .http1 import _Bytes

# A new subscription is made this long before the old one expires, or a tenth of its time if that is less.
_LEAD_SECONDS = 5.0
_LEAVE_SECONDS = 2.0


class _Subscription:
    """A stream, beyond single connections and subscriptions. OpenCALL, "Termination"."""

    def __init__(
        self, exchange: _Exchange, op: _Op, args: Mapping[str, Any], options: CallOptions, reconnect: bool
    ) -> None:
        self._exchange = exchange
        self._op = op
        self._args = dict(args)
        self._options = options
        self._reconnect = reconnect
        self._deadline = _Deadline.after(options.timeout)
        self._call: _Call | None = None
        self._last: str | None = None
        self._renew_at: float | None = None
        self.request_id: str | None = None
        self.over = False
        if op.takes_transport:
            self._args.setdefault("transport", ["sse", "wss"])
        if op.takes_encoding and op.json_frames:
            self._args.setdefault("encoding", ["json"])

    def _subscribe(self) -> _Steps[_Call]:
        """A repeated subscription is a new call, so it has new ids."""
        options = self._options if self._call is None else replace(self._options, request_id=None, idempotency_key=None)
        left = None if options.timeout is None else max(0.0, self._deadline.left)
        call = yield from _start(self._exchange, self._op, self._args, None, replace(options, timeout=left), False)
        if call.state != "streaming" or not isinstance(call.reply.get("stream"), dict):
            message = f"{self._op.name} responded with the state {call.state} instead of a stream."
            raise _bad_reply(message, call.request_id)
        self._deadline.request_id = self.request_id = call.request_id
        lifetime = _lifetime(call.reply["stream"])
        # A stream that has expired by this clock is read as long as it lasts.
        self._renew_at = None
        if lifetime is not None:
            self._renew_at = time.monotonic() + lifetime - min(_LEAD_SECONDS, lifetime / 10)
        self._last = None
        return call

    def frames(self) -> _ItemSteps[Any]:
        failures = 0
        self._call = yield from self._subscribe()
        while True:
            events = self._events(self._call)
            try:
                if (yield from events.open(self._credential(self._call))):
                    while True:
                        event = yield from self._next(events)
                        if event is None:
                            break
                        if event.event == "end":
                            self._end(event)
                            return
                        if event.event == "frame":
                            failures = 0
                            self._last = event.id or self._last
                            yield _Item(self._frame(event))
                    # A new subscription has taken over.
                    continue
                if events.status in (401, 403) or not self._reconnect:
                    raise self._broken(f"status {events.status}")
                # It cannot be resumed, so it is subscribed to again.
                self._last = None
            except (_Broken, _Late) as error:
                if self._deadline.left <= 0:
                    raise _deadline_exceeded(self.request_id) from error
                if not self._reconnect:
                    raise self._broken(str(error)) from error
            finally:
                events.close()
            failures += 1
            if failures > self._exchange.settings.options.retries:
                raise self._broken("too many connections failed")
            yield from _pause(_backoff(failures - 1), self._deadline)
            if self._last is None:
                self._call = yield from self._subscribe()

    def _next(self, events: _Events) -> _Steps[_Event | None]:
        """`None` when a new subscription was made before this one expires."""
        while True:
            try:
                return (yield from events.next(self._renew_at))
            except _Late:
                if self._renew_at is None or time.monotonic() < self._renew_at:
                    raise
            old = self.request_id
            self._renew_at = None
            try:
                self._call = yield from self._subscribe()
            except Fault:
                # The old stream is read to its end if there is no new one.
                continue
            if old is not None:
                yield from self._leave(old)
            return None

    def _events(self, call: _Call) -> _Events:
        stream: Mapping[str, Any] = call.reply["stream"]
        location, transport = stream.get("location"), stream.get("transport")
        if not isinstance(location, str) or transport not in ("sse", "wss"):
            message = f"The frames come over {transport!r}, which this client does not read. Use another client."
            raise Fault("UNSUPPORTED_TRANSPORT", message, request_id=call.request_id)
        url = "http" + location[2:] if location.startswith(("ws:", "wss:")) else location
        url = self._exchange.resolve(url)
        if self._last is not None:
            url += f"{'&' if '?' in url else '?'}after={self._last}"
        return _Events(self._exchange, url, self._deadline)

    def _credential(self, call: _Call) -> str | None:
        """The key of the reply works once, so a reader that resumes shows the caller's credential."""
        return None if self._last is not None else _own_credential(call.reply["stream"].get("auth"))

    def _frame(self, event: _Event) -> Any:
        try:
            return json.loads(event.data) if self._op.json_frames else base64.b64decode(event.data, validate=True)
        except (ValueError, binascii.Error, RecursionError) as error:
            raise _bad_reply("A frame of the stream cannot be decoded.", self.request_id) from error

    def _end(self, event: _Event) -> None:
        self.over = True
        end = _parse_event(event.data) or {}
        if end.get("state") == "error":
            raise self._exchange.refuse(_Answer(200, {}, end, ""), self.request_id)

    def _broken(self, reason: str) -> Fault:
        message = f"The stream broke before its end ({reason}). Call it again."
        return Fault("STREAM_BROKEN", message, retryable=True, request_id=self.request_id)

    def leave(self) -> _Steps[None]:
        """Tells the server that nobody reads any more. It would notice by itself, but later."""
        if not self.over and self.request_id is not None:
            self.over = True
            yield from self._leave(self.request_id)

    def _leave(self, request_id: str) -> _Steps[None]:
        body = _Bytes(json.dumps({"op": "v1:unsubscribeFromStream", "args": {"requestId": request_id}}).encode())
        url, headers = f"{self._exchange.settings.url}/call", {"Content-Type": "application/json"}
        deadline = _Deadline.after(_LEAVE_SECONDS, request_id)
        try:
            response = yield from self._exchange.begin("POST", url, headers, body, deadline, _LEAVE_SECONDS)
            response.channel.close()
        except (_Broken, _Late):
            # The stream ends a minute after its reader has gone.
            return


def _lifetime(stream: Mapping[str, Any]) -> float | None:
    """Seconds until the subscription or its credential expires, whichever is first."""
    auth = stream.get("auth")
    times = [stream.get("expiresAt"), auth.get("expiresAt") if isinstance(auth, dict) else None]
    left = [seconds for seconds in map(_seconds_left, times) if seconds is not None and seconds > 0]
    return min(left, default=None)

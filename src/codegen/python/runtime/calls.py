from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from .effects import _Item, _ItemSteps, _Steps
from .events import _Events
from .exchange import _Answer, _Deadline, _Exchange, _guarded, _pause
from .faults import Fault, _bad_reply, _Broken, _Late, _number
from .http1 import _Body, _Bytes
from .media import Media, _check_sizes, _media_entries, _Multipart

_WAIT_SECONDS = 30
_POLL_SECONDS = 0.25
_LEAST_PAUSE = 0.02
_STATES = ("accepted", "pending", "streaming", "complete", "error")


@dataclass(frozen=True)
class Progress:
    state: str
    fraction: float | None = None
    message: str | None = None
    attempt: int | None = None


@dataclass(frozen=True)
class CallOptions:
    """Everything about a call except its arguments. All of it is optional."""

    timeout: float | None = None
    """Seconds for the whole call. The server may go on after that: see `Fault.request_id`."""
    request_id: str | None = None
    idempotency_key: str | None = None
    """Calls with the same key run once. By default every call has a new one, and its retries have the same."""
    session_id: str | None = None
    parent_id: str | None = None
    locale: str | None = None
    traceparent: str | None = None


@dataclass(frozen=True)
class _Op:
    """What the registry says about an operation."""

    name: str
    json_frames: bool = True
    takes_transport: bool = True
    takes_encoding: bool = True
    sync_seconds: float = 0
    warning: str | None = None
    max_bytes: Mapping[str, int] = field(default_factory=dict)
    """The limits of the files, by their names."""


@dataclass
class _Call:
    """One call: its request, and what the server has said about it last."""

    exchange: _Exchange
    request_id: str
    deadline: _Deadline
    poll_url: str
    reply: dict[str, Any]
    state: str = ""
    """The last one that this client knows."""

    def take(self, answer: _Answer) -> None:
        """Takes an envelope, and raises the fault that it contains."""
        body = answer.body
        state = body.get("state")
        if not isinstance(state, str):
            raise _bad_reply("The response is no OpenCALL envelope.", self.request_id, answer.status)
        if state == "error":
            raise self.exchange.refuse(answer, self.request_id)
        if answer.status >= 400:
            message = f"The response has status {answer.status} and the state {state[:50]!r}."
            raise _bad_reply(message, self.request_id, answer.status)
        known, uri = state in _STATES, _location_uri(body)
        if not known and uri is None:
            message = f"The call is in the state {state[:50]!r}, which this client does not know. Generate it again."
            raise Fault("UNKNOWN_STATE", message, request_id=self.request_id, status=answer.status)
        if known and self.state and _STATES.index(state) < _STATES.index(self.state):
            message = f"The state went from {self.state} back to {state}."
            raise _bad_reply(message, self.request_id, answer.status)
        if state == "complete" and "result" not in body and not isinstance(body.get("location"), dict):
            raise _bad_reply("The call is complete without a result.", self.request_id, answer.status)
        # OpenCALL, "Client Obligations for Safe Changes": a state of a later version is followed where it says.
        if uri is not None and (not known or state in ("accepted", "pending")):
            self.poll_url = self.exchange.resolve(uri)
        if known:
            self.state = state
        self.reply = body

    @property
    def ended(self) -> bool:
        return self.state == "complete"


def _location_uri(body: Mapping[str, Any]) -> str | None:
    location = body.get("location")
    uri = location.get("uri") if isinstance(location, dict) else None
    return uri if isinstance(uri, str) else None


def _poll_url(exchange: _Exchange, request_id: str) -> str:
    return f"{exchange.settings.url}/ops/{quote(request_id, safe='')}"


def _resumed(exchange: _Exchange, request_id: str, timeout: float | None) -> _Call:
    return _Call(exchange, request_id, _Deadline.after(timeout, request_id), _poll_url(exchange, request_id), {})


def _start(
    exchange: _Exchange,
    op: _Op,
    args: Mapping[str, Any],
    media: Mapping[str, Media] | None,
    options: CallOptions,
    wait: bool,
) -> _Steps[_Call]:
    """Sends the call. A lost connection is safe to repeat: the ids are the same."""
    request_id = options.request_id if options.request_id is not None else str(uuid.uuid4())
    call = _resumed(exchange, request_id, options.timeout)
    ctx = {
        "requestId": request_id,
        "idempotencyKey": options.idempotency_key if options.idempotency_key is not None else str(uuid.uuid4()),
        "sessionId": options.session_id,
        "parentId": options.parent_id,
        "locale": options.locale,
        "traceparent": options.traceparent,
    }
    envelope: dict[str, Any] = {
        "op": op.name,
        "args": dict(args),
        "ctx": {key: value for key, value in ctx.items() if value is not None},
    }
    headers = {"Content-Type": "application/json"}
    body: _Body
    if media:
        _check_sizes(media, op.max_bytes)
        envelope["media"] = _media_entries(media)
    if media and any(item.uri is None for item in media.values()):
        body = multipart = _Multipart(envelope, media)
        headers["Content-Type"] = f"multipart/form-data; boundary={multipart.boundary}"
    else:
        body = _Bytes(json.dumps(envelope).encode())
    held = _WAIT_SECONDS if wait else 0
    if wait:
        headers["Prefer"] = f"wait={_held_seconds(call.deadline)}"
    url = f"{exchange.settings.url}/call"
    call.take((yield from exchange.ask("POST", url, headers, body, call.deadline, held + op.sync_seconds)))
    return call


def _held_seconds(deadline: _Deadline) -> int:
    return int(max(0, min(_WAIT_SECONDS, deadline.left)))


def _wait(call: _Call) -> _Steps[None]:
    """Polls until the call has ended. `Prefer: wait` lets the server hold each poll."""
    while not call.ended:
        if call.reply:
            yield from _pause(_poll_pause(call.reply), call.deadline)
        headers = {"Prefer": f"wait={_held_seconds(call.deadline)}"}
        call.take((yield from call.exchange.ask("GET", call.poll_url, headers, None, call.deadline, _WAIT_SECONDS)))
        if call.state == "streaming":
            raise Fault("NOT_A_RESULT", "This call is a stream. Iterate over its frames.", request_id=call.request_id)


def _poll_pause(reply: Mapping[str, Any]) -> float:
    """A reply says when the next poll may come. A server that says "at once" is not asked without a pause."""
    ms = _number(reply.get("retryAfterMs"))
    return _POLL_SECONDS if ms is None else max(_LEAST_PAUSE, ms / 1000)


def _poll(call: _Call) -> _Steps[Progress]:
    call.take((yield from call.exchange.ask("GET", call.poll_url, {}, None, call.deadline)))
    return _progress_in(call.reply)


def _cancel(call: _Call) -> _Steps[Progress]:
    """Returns the state after the request to cancel. A call that has ended stays as it is."""
    answer = yield from call.exchange.ask("DELETE", call.poll_url, {}, None, call.deadline)
    if answer.status >= 400:
        raise call.exchange.refuse(answer, call.request_id)
    return _progress_in(answer.body)


def _progress_in(reply: Mapping[str, Any]) -> Progress:
    progress = reply.get("progress")
    told: Mapping[str, Any] = progress if isinstance(progress, dict) else {}
    message, attempt = told.get("message"), _number(told.get("attempt"))
    return Progress(
        state=str(reply.get("state", "")),
        fraction=_number(told.get("fraction")),
        message=message if isinstance(message, str) else None,
        attempt=None if attempt is None else int(attempt),
    )


def _watch(call: _Call) -> _ItemSteps[Progress]:
    """Every change of the call until its end: by server-sent events, and by polls where there are none."""
    failures = 0
    while not call.ended and failures <= call.exchange.settings.options.retries:
        events = _Events(call.exchange, call.poll_url + "/events", call.deadline)
        try:
            if not (yield from events.open(None)):
                break
            while True:
                body = _parse_event((yield from events.next(None)).data)
                failures = 0
                if body is not None and body.get("state") in _STATES:
                    if body["state"] in ("complete", "error"):
                        yield _Item(_progress_in(body))
                        return
                    call.take(_Answer(200, {}, body, call.poll_url))
                    yield _Item(_progress_in(body))
        except (_Broken, _Late):
            failures += 1
        finally:
            events.close()
        yield from _pause(_POLL_SECONDS, call.deadline)
    while not call.ended:
        try:
            yield _Item((yield from _poll(call)))
        except Fault as fault:
            if fault.status != 200:
                raise
            yield _Item(Progress("error"))
            return
        if not call.ended:
            yield from _pause(_poll_pause(call.reply), call.deadline)


def _parse_event(data: str) -> dict[str, Any] | None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _result(call: _Call) -> _Steps[Any]:
    """The result in the reply, or the JSON at its location."""
    yield from _wait(call)
    if "result" in call.reply:
        return call.reply["result"]
    location: Mapping[str, Any] = call.reply["location"]
    if "value" in location:
        return location["value"]
    return (yield from _guarded(_located_json(call), call.deadline, call.poll_url))


def _located_json(call: _Call) -> _Steps[Any]:
    url = call.exchange.resolve(_location_uri(call.reply) or "")
    own = _location_credential(call.reply)
    exchange, deadline = call.exchange, call.deadline
    response, _ = yield from exchange.fetch(url, {"Accept": "application/json, */*"}, own, deadline)
    try:
        if response.status != 200:
            message = f"The result at {url} cannot be fetched: status {response.status}."
            raise Fault("RESULT_UNAVAILABLE", message, request_id=call.request_id, status=response.status)
        if response.mime_type != "application/json" and not response.mime_type.endswith("+json"):
            message = f"The result is a file of type {response.mime_type or 'unknown'}. Use content() instead."
            raise Fault("RESULT_IS_A_FILE", message, remedy="Use content().", request_id=call.request_id)
        idle = exchange.settings.options.idle_timeout
        data = yield from response.read(lambda: deadline.within(idle), exchange.settings.options.max_reply_bytes)
    finally:
        response.channel.close()
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _bad_reply("The result is not JSON.", call.request_id, response.status) from error


def _location_credential(reply: Mapping[str, Any]) -> str | None:
    """The credential that the server gave for this location."""
    location = reply.get("location")
    auth = location.get("auth") if isinstance(location, dict) else None
    return _own_credential(auth)


def _own_credential(auth: object) -> str | None:
    if not isinstance(auth, dict) or not isinstance(auth.get("credential"), str):
        return None
    kind = str(auth.get("credentialType", "")).lower()
    scheme = {"bearer": "Bearer", "otk": "OTK", "basic": "Basic"}.get(kind, "Bearer")
    return f"{scheme} {auth['credential']}"


def _seconds_left(epoch: object) -> float | None:
    """Of a time in seconds since 1970."""
    at = _number(epoch)
    return None if at is None else at - time.time()

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from .calls import _Call, _location_credential, _location_uri, _poll_pause, _wait
from .effects import _Item, _ItemSteps, _Steps
from .exchange import _backoff, _pause, _shown_origin
from .faults import Fault, _Broken, _deadline_exceeded, _Late, _unreachable
from .http1 import _Response


class _Facts:
    """What is known about bytes while they arrive."""

    def __init__(self) -> None:
        self.mime_type: str | None = None
        self.filename: str | None = None
        self.size: int | None = None


def _pieces(call: _Call, chunked: bool, facts: _Facts) -> _ItemSteps[bytes]:
    """The bytes of a result, each verified before it is handed out."""
    if chunked and not call.ended:
        # Chunks can be read while the rest is still being made.
        yield from _chunks(call, f"{call.poll_url}/chunks", facts)
        return
    yield from _wait(call)
    uri = _location_uri(call.reply)
    if uri is None:
        message = "The result is a value, not a file. Use result() instead."
        raise Fault("RESULT_IS_A_VALUE", message, remedy="Use result().", request_id=call.request_id)
    url = call.exchange.resolve(uri)
    if chunked or (call.exchange.trusts(url) and re.search(r"/ops/[^/]+/chunks$", urlsplit(url).path)):
        yield from _chunks(call, url, facts)
    else:
        yield from _object(call, url, facts)


def _chunks(call: _Call, url: str, facts: _Facts) -> _ItemSteps[bytes]:
    """A chunk that did not arrive is asked for again by its cursor, so nothing is read twice."""
    cursor: str | None = ""
    previous: str | None = None
    offset = 0
    while cursor is not None:
        address = url if cursor == "" else f"{url}?cursor={quote(cursor, safe='')}"
        answer = yield from call.exchange.ask("GET", address, {}, None, call.deadline)
        body = answer.body
        if answer.status >= 400 or body.get("state") == "error":
            raise call.exchange.refuse(answer, call.request_id)
        if isinstance(body.get("mimeType"), str):
            facts.mime_type = body["mimeType"]
        chunk = body.get("chunk")
        if not isinstance(chunk, dict):
            yield from _pause(_poll_pause(body), call.deadline)
            continue
        data = _chunk_bytes(body, call.request_id)
        _verify(data, chunk, offset, previous, call.request_id)
        following = body.get("cursor")
        if following is not None and (not isinstance(following, str) or following == cursor):
            raise _damaged(f"the chunk at byte {offset} has an invalid cursor", call.request_id)
        offset += len(data)
        previous = chunk["checksum"]
        cursor = following
        total = body.get("total")
        if isinstance(total, int):
            facts.size = total
            if cursor is None and total != offset:
                raise _damaged(f"the server announced {total} bytes and sent {offset}", call.request_id)
        yield _Item(data)


def _chunk_bytes(body: Mapping[str, Any], request_id: str) -> bytes:
    data = body.get("data")
    if not isinstance(data, str):
        raise _damaged("a chunk has no data", request_id)
    try:
        return base64.b64decode(data, validate=True) if body.get("encoding") == "base64" else data.encode()
    except (binascii.Error, UnicodeEncodeError) as error:
        raise _damaged("a chunk cannot be decoded", request_id) from error


def _verify(data: bytes, chunk: Mapping[str, Any], offset: int, previous: str | None, request_id: str) -> None:
    """OpenCALL, "Checksum Chain Semantics"."""
    if chunk.get("offset") != offset:
        raise _damaged(f"a chunk begins at byte {chunk.get('offset')} instead of {offset}", request_id)
    if chunk.get("length") != len(data):
        raise _damaged(f"the chunk at byte {offset} has {len(data)} bytes, not {chunk.get('length')}", request_id)
    if chunk.get("checksum") != f"sha256:{hashlib.sha256(data).hexdigest()}":
        raise _damaged(f"the chunk at byte {offset} has a wrong checksum", request_id)
    if chunk.get("checksumPrevious") != previous:
        raise _damaged(f"the chunk at byte {offset} does not follow the one before it", request_id)


def _damaged(problem: str, request_id: str) -> Fault:
    message = f"The result arrived damaged: {problem}. Discard what you have and fetch it again."
    return Fault("DAMAGED_RESULT", message, request_id=request_id)


def _object(call: _Call, url: str, facts: _Facts) -> _ItemSteps[bytes]:
    """A download that is resumed where it broke, if the file is still the same."""
    failures, offset = 0, 0
    etag = ""
    while True:
        headers = {"Range": f"bytes={offset}-", "If-Range": etag} if offset > 0 else {}
        response: _Response | None = None
        try:
            response, _ = yield from call.exchange.fetch(url, headers, _location_credential(call.reply), call.deadline)
            _check_object(response, offset, call)
            if offset == 0:
                etag = response.headers.get("etag", "")
                _note_facts(response, facts)
            while piece := (
                yield from response.piece(call.deadline.within(call.exchange.settings.options.idle_timeout))
            ):
                failures = 0
                offset += len(piece)
                yield _Item(piece)
            if facts.size is not None and offset != facts.size:
                raise _damaged(f"the server announced {facts.size} bytes and sent {offset}", call.request_id)
            return
        except (_Broken, _Late) as error:
            yield from _again(call, url, failures, offset == 0 or etag.startswith('"'), error)
            failures += 1
        finally:
            if response is not None:
                response.channel.close()


def _again(call: _Call, url: str, failures: int, resumable: bool, error: Exception) -> _Steps[None]:
    if call.deadline.left <= 0:
        raise _deadline_exceeded(call.request_id) from error
    if failures >= call.exchange.settings.options.retries or not resumable:
        raise _unreachable(_shown_origin(url), error, call.request_id) from error
    yield from _pause(_backoff(failures), call.deadline)


def _check_object(response: _Response, offset: int, call: _Call) -> None:
    if offset > 0 and response.status == 200:
        raise _damaged("the file changed while it was fetched", call.request_id)
    if offset > 0 and response.status == 206:
        if not response.headers.get("content-range", "").startswith(f"bytes {offset}-"):
            raise _damaged("the server sent another range", call.request_id)
    elif response.status != 200:
        message = f"The result cannot be fetched: the server responded with status {response.status}."
        raise Fault("RESULT_UNAVAILABLE", message, request_id=call.request_id, status=response.status)


def _note_facts(response: _Response, facts: _Facts) -> None:
    facts.mime_type = response.headers.get("content-type")
    length = response.headers.get("content-length")
    facts.size = int(length) if length is not None else None
    name = re.search(r"filename\*=UTF-8''([^;]+)", response.headers.get("content-disposition", ""))
    if name:
        # Only the last part: a server does not choose the folder.
        facts.filename = re.split(r"[/\\]", unquote(name[1]))[-1]

from __future__ import annotations

import json
import mimetypes
import os
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .faults import Fault


@dataclass(frozen=True)
class Media:
    """A file that is sent with a call: `Media.file("photo.png")`, `Media.data(b"…", "text/plain")`, `Media.ref(…)`."""

    mime_type: str
    content: bytes | None = None
    path: str | None = None
    uri: str | None = None
    filename: str | None = None

    @staticmethod
    def file(path: str | os.PathLike[str], mime_type: str | None = None) -> Media:
        name = os.fspath(path)
        guessed = mime_type or mimetypes.guess_type(name)[0] or "application/octet-stream"
        return Media(guessed, path=name, filename=os.path.basename(name))

    @staticmethod
    def data(content: bytes, mime_type: str, filename: str | None = None) -> Media:
        return Media(mime_type, content=content, filename=filename)

    @staticmethod
    def ref(uri: str, mime_type: str) -> Media:
        """The server fetches the file from this address."""
        return Media(mime_type, uri=uri)


class _Multipart:
    """The body of a call with files. The envelope goes first, so that the server knows the limits of each file."""

    def __init__(self, envelope: dict[str, Any], media: Mapping[str, Media]) -> None:
        self.boundary = uuid.uuid4().hex
        self._parts: list[tuple[bytes, Media | None]] = []
        self._add('name="envelope"', "application/json", None, json.dumps(envelope).encode())
        for name, item in media.items():
            if item.uri is None:
                filename = _quoted(item.filename if item.filename is not None else name)
                self._add(f'name="{_quoted(name)}"; filename="{filename}"', item.mime_type, item)
        self._end = f"--{self.boundary}--\r\n".encode()
        self.size = len(self._end) + sum(
            len(head) + (0 if item is None else _size_of(item) + 2) for head, item in self._parts
        )

    def _add(self, disposition: str, mime_type: str, item: Media | None, data: bytes = b"") -> None:
        head = (
            f"--{self.boundary}\r\nContent-Disposition: form-data; {disposition}\r\nContent-Type: {mime_type}\r\n\r\n"
        )
        self._parts.append((head.encode() + (data + b"\r\n" if item is None else b""), item))

    def pieces(self) -> Iterator[bytes]:
        for head, item in self._parts:
            yield head
            if item is not None:
                yield from _pieces_of(item)
                yield b"\r\n"
        yield self._end


def _quoted(name: str) -> str:
    """As browsers write names in a form."""
    return name.replace("\r", "%0D").replace("\n", "%0A").replace('"', "%22")


def _size_of(item: Media) -> int:
    return os.path.getsize(item.path) if item.path is not None else len(item.content or b"")


def _check_sizes(media: Mapping[str, Media], limits: Mapping[str, int]) -> None:
    """Before anything is sent: a server that refuses a file on the way closes the connection."""
    for name, item in media.items():
        if item.uri is None and name in limits and _size_of(item) > limits[name]:
            message = f"The file {name!r} is larger than the {limits[name]} bytes allowed here. Send a smaller one."
            raise Fault("MEDIA_TOO_LARGE", message)


def _pieces_of(item: Media) -> Iterator[bytes]:
    if item.path is None:
        yield item.content or b""
        return
    with open(item.path, "rb") as file:
        while piece := file.read(1 << 16):
            yield piece


def _media_entries(media: Mapping[str, Media]) -> list[dict[str, str]]:
    return [
        {"name": name, "mimeType": item.mime_type, **({"ref": item.uri} if item.uri is not None else {"part": name})}
        for name, item in media.items()
    ]

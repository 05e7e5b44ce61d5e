from __future__ import annotations

import ssl
import warnings
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from .calls import _Op
from .drivers import _Reach
from .effects import _Steps
from .exchange import ClientOptions, _Deadline, _Exchange, _Settings
from .faults import Fault, _fault_in
from .http1 import _origin_of

Args = TypeVar("Args", bound=Mapping[str, Any])
Result = TypeVar("Result")
Files = TypeVar("Files", bound=Mapping[str, Any])


class _Core:
    """What the two clients share: settings, connections, the cached registry and the warnings that were given."""

    def __init__(self, url: str, refreshes: bool, options: ClientOptions, remedies: dict[str, str]) -> None:
        trusted = frozenset(_origin_of(origin) for origin in options.trusted_origins)
        self.exchange = _Exchange(_Settings(url.rstrip("/"), trusted, remedies, refreshes, options))
        self.reach = _Reach(self.exchange.home, trusted)
        self._context = options.context
        self._warned: set[str] = set()
        self._registry: tuple[str, dict[str, Any]] | None = None

    def context(self) -> ssl.SSLContext:
        """Made for the first secure connection: reading the certificates of the system takes long."""
        if self._context is None:
            self._context = ssl.create_default_context()
        return self._context

    def warn(self, op: _Op) -> None:
        """Once for each operation and client."""
        if op.warning is not None and op.name not in self._warned:
            self._warned.add(op.name)
            warnings.warn(op.warning, DeprecationWarning, stacklevel=3)

    def registry(self, timeout: float | None) -> _Steps[dict[str, Any]]:
        """The registry of the server. It is sent again only if it has changed."""
        known = self._registry
        headers = {} if known is None else {"If-None-Match": known[0]}
        url = f"{self.exchange.settings.url}/.well-known/ops"
        answer = yield from self.exchange.ask("GET", url, headers, None, _Deadline.after(timeout))
        if answer.status == 304 and known is not None:
            return known[1]
        if answer.status != 200 or not isinstance(answer.body.get("operations"), list):
            if "error" in answer.body:
                raise _fault_in(answer.body["error"], self.exchange.settings.remedies, None, answer.status)
            raise Fault("BAD_REPLY", f"{url} responded with status {answer.status} and no registry.")
        if "etag" in answer.headers:
            self._registry = (answer.headers["etag"], answer.body)
        return answer.body


class _Bound(Generic[Args]):
    """An operation of a client."""

    def __init__(self, core: _Core, op: _Op) -> None:
        self._core = core
        self._op = op

    @property
    def name(self) -> str:
        return self._op.name

from __future__ import annotations

from typing import Any


class Fault(Exception):
    """A call that failed, on the server or on the way. `code` says what happened, `str(fault)` what to do."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        remedy: str | None = None,
        cause: dict[str, Any] | None = None,
        request_id: str | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.retryable = retryable
        """A later call with a new idempotency key may succeed."""
        self.retry_after = retry_after
        """Seconds to wait before that."""
        self.remedy = remedy
        self.cause: dict[str, Any] = cause if cause is not None else {}
        self.request_id = request_id
        """The id of the call. `client.resume(request_id)` follows it if the server has accepted it."""
        self.status = status


class _Broken(Exception):
    """The connection failed, or the response was cut off."""


class _Late(Exception):
    """The time of one step is over."""


def _bad_reply(message: str, request_id: str | None = None, status: int | None = None) -> Fault:
    remedy = "Check that the address is that of an OpenCALL server."
    return Fault("BAD_REPLY", f"{message} {remedy}", remedy=remedy, request_id=request_id, status=status)


def _deadline_exceeded(request_id: str | None) -> Fault:
    message = "The call did not end within its timeout. The server may still run it: resume it by its request id."
    return Fault("DEADLINE_EXCEEDED", message, retryable=True, request_id=request_id)


def _unreachable(origin: str, cause: BaseException, request_id: str | None) -> Fault:
    reason = str(cause) or type(cause).__name__
    message = f"{origin} cannot be reached ({reason}). Check the address and the network, then try again."
    return Fault("UNREACHABLE", message, retryable=True, request_id=request_id)


def _number(value: object) -> float | None:
    """JSON numbers only. A bool is an int for Python, and NaN compares with nothing."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e15:
        return float(value)
    return None


def _fault_in(error: object, remedies: dict[str, str], request_id: str | None, status: int | None) -> Fault:
    body: dict[str, Any] = error if isinstance(error, dict) else {}
    cause: dict[str, Any] = body["cause"] if isinstance(body.get("cause"), dict) else {}
    code = body["code"] if isinstance(body.get("code"), str) else "FAILED"
    message = body["message"] if isinstance(body.get("message"), str) else "The server gave no reason."
    wait = _number(cause.get("retryAfterMs"))
    remedy = cause["remedy"] if isinstance(cause.get("remedy"), str) else remedies.get(code)
    return Fault(
        code,
        message,
        retryable=cause.get("retryable") is True or status in (429, 503),
        retry_after=None if wait is None else wait / 1000,
        remedy=remedy,
        cause=cause,
        request_id=request_id,
        status=status,
    )

"""Requests over HTTP: JSON, files and events, with nothing but Python's own library."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import ssl
import urllib.parse
from pathlib import Path
from typing import Any, BinaryIO, Generic, Iterator, Mapping, TypeVar, overload

from . import _model
from .errors import RingtapError, Unreachable, WrongCertificate, problem_of

T = TypeVar("T")
#: Bytes that are read of a file at once.
PIECE = 1 << 18


class Stream:
    """A file that is being sent: read it once, or save it."""

    def __init__(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        self._connection = connection
        self._response = response
        self.content_type = response.headers.get_content_type()

    def __iter__(self) -> Iterator[bytes]:
        with self:
            while piece := _read(self._response, PIECE):
                yield piece

    def read(self) -> bytes:
        """All of it."""
        return b"".join(self)

    def save(self, to: str | os.PathLike[str] | BinaryIO) -> int:
        """Writes it to a path or an open file, and says how many bytes it has.

        A path is not there until all of it is: what breaks off leaves no half of a file.
        """
        if not isinstance(to, (str, os.PathLike)):
            return sum(to.write(piece) for piece in self)
        path = Path(to)
        part = path.with_name(f"{path.name}.part")
        try:
            with part.open("wb") as file:
                written = sum(file.write(piece) for piece in self)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        return written

    def close(self) -> None:
        self._response.close()
        self._connection.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Events(Generic[T]):
    """Events as the console sends them, until it is closed: `for event in events`."""

    def __init__(self, kind: type[T], stream: Stream) -> None:
        self._kind = kind
        self._stream = stream

    def __iter__(self) -> Iterator[T]:
        with self:
            data: list[str] = []
            while line := _read_line(self._stream):
                text = line.decode("utf-8").rstrip("\r\n")
                if text.startswith("data:"):
                    data.append(text[5:].removeprefix(" "))
                elif text == "" and data:
                    yield _model.decode(self._kind, _json("\n".join(data).encode()))
                    data = []

    def close(self) -> None:
        self._stream.close()

    def __enter__(self) -> Events[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Transport:
    """Where a console is, and how it is asked."""

    def __init__(
        self,
        url: str,
        *,
        token: str | None,
        fingerprint: str | None,
        ca_file: str | os.PathLike[str] | None,
        timeout: float,
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
            raise ValueError(f"`{url}` is no address of a console, such as https://tap.example.org:8443")
        is_here = parts.hostname in ("127.0.0.1", "::1", "localhost")
        if parts.scheme == "http" and token and not is_here:
            raise ValueError(f"`{url}` would send the token in clear: begin it with https://")
        self._secure = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port or (443 if self._secure else 80)
        self._token, self._timeout = token, timeout
        self._fingerprint = _digest(fingerprint) if fingerprint else None
        self._context = _context(ca_file, pinned=fingerprint is not None) if self._secure else None
        self._idle: list[http.client.HTTPConnection] = []

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    @overload
    def json(self, kind: type[T], method: str, path: str, **given: Any) -> T: ...
    @overload
    def json(self, kind: Any, method: str, path: str, **given: Any) -> Any: ...
    def json(self, kind: Any, method: str, path: str, **given: Any) -> Any:
        return _model.decode(kind, self.plain(method, path, **given))

    def plain(self, method: str, path: str, **given: Any) -> Any:
        """An answer as `json.loads` gives it."""
        return _json(self._whole(method, path, given))

    def done(self, method: str, path: str, **given: Any) -> None:
        self._whole(method, path, given)

    def stream(self, method: str, path: str, **given: Any) -> Stream:
        return Stream(*self._ask(method, path, given))

    def events(self, kind: type[T], method: str, path: str, **given: Any) -> Events[T]:
        return Events(kind, self.stream(method, path, **given))

    def _whole(self, method: str, path: str, given: Mapping[str, Any]) -> bytes:
        connection, response = self._ask(method, path, given)
        body = _read(response, None)
        # What was read to its end can be asked again.
        if response.will_close:
            connection.close()
        else:
            self._idle.append(connection)
        return body

    def _ask(
        self, method: str, path: str, given: Mapping[str, Any]
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Sends a request, and returns once the head of its answer is there. Raises its problem."""
        target = _target(path, given.get("segments") or {}, given.get("query") or {})
        headers = {"Accept": "*/*", "X-Ringtap": "1"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        body = given.get("body")
        data = None
        if body is not None:
            data = json.dumps(body.to_json() if isinstance(body, _model.Model) else body).encode()
            headers["Content-Type"] = "application/json"
        while True:
            # What changes something is not sent on a connection that may be closed: was it done, or not?
            used = self._used() if method == "GET" else None
            connection = used or self._connect()
            try:
                connection.request(method, target, body=data, headers=headers)
                response = connection.getresponse()
                break
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                # The console closes a connection that nobody used for a while: another one is made.
                if used is None or isinstance(error, TimeoutError):
                    raise self._unreachable(error) from error
        if response.status < 300:
            return connection, response
        told = _read(response, None)
        connection.close()
        try:
            document = json.loads(told)
        except ValueError:
            document = {}
        raise problem_of(response.status, document, response.headers.get("Retry-After"))

    def _used(self) -> http.client.HTTPConnection | None:
        """A connection that was used before; None where there is none. Other threads look for one, too."""
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _connect(self) -> http.client.HTTPConnection:
        if self._context is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
        connection = http.client.HTTPSConnection(
            self._host, self._port, timeout=self._timeout, context=self._context
        )
        try:
            connection.connect()
        except OSError as error:
            raise self._unreachable(error) from error
        if self._fingerprint is not None:
            certificate = connection.sock.getpeercert(binary_form=True) or b""
            found = hashlib.sha256(certificate).hexdigest()
            if found != self._fingerprint:
                connection.close()
                raise WrongCertificate(
                    f"The certificate of {self._host}:{self._port} has the fingerprint {found}, not the one "
                    "that was given: nothing was sent. Compare it with certificate.pem, where the console runs"
                )
        return connection

    def _unreachable(self, error: Exception) -> RingtapError:
        where = f"The console at {self._host}:{self._port}"
        if isinstance(error, ssl.SSLCertVerificationError):
            return WrongCertificate(
                f"{where} has a certificate that is not trusted here ({error.verify_message}): "
                "give its `fingerprint`, or `ca_file`"
            )
        if isinstance(error, TimeoutError):
            return Unreachable(f"{where} did not answer within {self._timeout:g} s: give a longer `timeout`")
        return Unreachable(f"{where} does not answer ({error}): is `ringtap console serve` running there?")


def _context(ca_file: str | os.PathLike[str] | None, *, pinned: bool) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=os.fspath(ca_file) if ca_file is not None else None)
    if pinned:
        # Who it is says the fingerprint, and before anything is sent: see `_connect`.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _digest(fingerprint: str) -> str:
    """The hex digits of a fingerprint as openssl prints it, or as anybody writes it."""
    text = fingerprint.rpartition("=")[2].replace(":", "").replace(" ", "").lower()
    if len(text) != 64 or any(letter not in "0123456789abcdef" for letter in text):
        raise ValueError(
            f"`{fingerprint}` is no SHA-256 fingerprint, which has 64 hex digits: "
            "openssl x509 -in certificate.pem -noout -fingerprint -sha256"
        )
    return text


def _target(path: str, segments: Mapping[str, Any], query: Mapping[str, Any]) -> str:
    for name, value in segments.items():
        path = path.replace(f"{{{name}}}", urllib.parse.quote(str(value), safe=""))
    given = {name: _text(value) for name, value in query.items() if value is not None}
    return f"{path}?{urllib.parse.urlencode(given)}" if given else path


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise RingtapError(f"An answer is not JSON ({error}): is that the address of a console?") from error


def _read(response: http.client.HTTPResponse, most: int | None) -> bytes:
    try:
        return response.read() if most is None else response.read(most)
    except (OSError, http.client.HTTPException) as error:
        raise Unreachable(f"The answer of the console broke off ({error!r})") from error


def _read_line(stream: Stream) -> bytes:
    try:
        return stream._response.readline()
    except (OSError, http.client.HTTPException) as error:
        raise Unreachable(f"The events of the console broke off ({error!r})") from error

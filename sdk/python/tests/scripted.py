"""A server on a raw socket that answers call after call as a test says, and closes each connection."""

from __future__ import annotations

import json
import socket
import threading
from dataclasses import dataclass
from types import TracebackType
from typing import Any


@dataclass(frozen=True)
class Received:
    """A call as it came."""

    line: str
    headers: dict[str, str]
    body: bytes


class ScriptedServer:
    def __init__(self) -> None:
        self.calls: list[Received] = []
        self._answers: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def answer(self, *answers: bytes) -> None:
        """What the next calls are answered, byte for byte; nothing closes the connection."""
        self._answers += answers

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Closing does not wake a thread that accepts.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as stream:
                line = stream.readline().decode().strip()
                headers: dict[str, str] = {}
                while header := stream.readline().decode().strip():
                    name, _, value = header.partition(": ")
                    headers[name.lower()] = value
                body = stream.read(int(headers.get("content-length", "0")))
                self.calls.append(Received(line, headers, body))
                if self._answers:
                    connection.sendall(self._answers.pop(0))


def answer(status: int, body: Any, *headers: str) -> bytes:
    """A whole answer with a JSON body."""
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = [f"HTTP/1.1 {status} Status", f"Content-Length: {len(text)}", "Connection: close", *headers]
    return "\r\n".join([*head, "", ""]).encode() + text


def refusal(status: int, code: str, *headers: str, **members: Any) -> bytes:
    """A refusal of this API."""
    error: dict[str, Any] = {
        "message": "no",
        "type": "t",
        "code": code,
        "param": None,
        "details": [],
        "request_id": "call_1",
    }
    return answer(status, {"error": {**error, **members}}, *headers)


def lines(*records: Any, is_whole: bool = True) -> bytes:
    """JSON Lines in chunks, with their end or cut off."""
    text = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    return head + f"{len(text):x}\r\n".encode() + text + b"\r\n" + (b"0\r\n\r\n" if is_whole else b"")


def events(*records: dict[str, Any], is_whole: bool = True) -> bytes:
    """Server-sent events, each with the identifier of its record."""
    text = b"".join(f"id: {record['id']}\ndata: {json.dumps(record)}\n\n".encode() for record in records)
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    return head + f"{len(text):x}\r\n".encode() + text + b"\r\n" + (b"0\r\n\r\n" if is_whole else b"")


def created(number: int) -> dict[str, Any]:
    """What Create Request answers."""
    return {"id": f"req_{number}", "status": "registered", "created_at": 1, "expires_at": 86401}


def ended(number: int) -> dict[str, Any]:
    """A request that has completed."""
    body = {"choices": [{"message": {"content": f"answer {number}"}, "finish_reason": "stop"}]}
    others: dict[str, Any] = {"batch_id": "batch_1", "completion_window": "24h", "webhook": None, "request_body": {}}
    return {**created(number), **others, "status": "completed", "metadata": {"row": number}, "result_body": body}

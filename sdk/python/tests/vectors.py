"""A simulated engine of embeddings: each vector tells the length of its text."""

from __future__ import annotations

import array
import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


class VectorEngine:
    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        engine = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.path != "/v1/embeddings":
                    self._answer(404, {"error": {"message": "Not Found"}})
                    return
                texts: list[str] = [body["input"]] if isinstance(body["input"], str) else body["input"]
                engine.calls.append(body)
                if "refused" in texts:
                    self._answer(400, {"error": {"message": "refused", "type": "t", "code": None, "param": None}})
                    return
                vectors = [vector(text) for text in texts]
                if body.get("encoding_format") == "base64":
                    data: list[Any] = [base64.b64encode(array.array("f", one).tobytes()).decode() for one in vectors]
                else:
                    data = vectors
                embeddings = [{"object": "embedding", "index": i, "embedding": one} for i, one in enumerate(data)]
                usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
                self._answer(200, {"object": "list", "data": embeddings[::-1], "model": body["model"], "usage": usage})

            def do_GET(self) -> None:
                self._answer(404, {"error": {"message": "Not Found"}})

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def _answer(self, status: int, body: Any) -> None:
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def settings(self) -> str:
        """The model `vectors` and its engine, which serves nothing else."""
        url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        return (
            '[[models]]\nname = "vectors"\n'
            f'[[engines]]\nname = "vectors"\nkind = "openai"\nbase_url = "{url}"\nmodels = {{ "vectors" = "v" }}\n'
        )

    def __enter__(self) -> VectorEngine:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def vector(text: str) -> list[float]:
    """What the engine answers."""
    return [float(len(text)), 0.5, -1.0]

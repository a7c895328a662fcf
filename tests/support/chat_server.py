"""A local server that speaks OpenAI's chat completions, and answers as a test wants."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class ChatServer:
    """What it was asked, and how it answers: a text, a (status, body) pair, or a function of the request."""

    answers: list[Any] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""

    def next_answer(self) -> Any:
        """The next answer; the last one for ever."""
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def completion(text: Any, finish: str = "stop", **more: Any) -> dict[str, Any]:
    """The body of an answer with this text."""
    message = {"role": "assistant", "content": text}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "test-model-2026",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    } | more


@contextmanager
def chat_server(*answers: Any) -> Iterator[ChatServer]:
    """A server with these answers, one a request."""
    chat = ChatServer(list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            request = json.loads(self.rfile.read(length))
            chat.requests.append(request)
            status, body = _response(chat.next_answer(), request)
            try:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("retry-after-ms", "1")
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                pass  # the client went away

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    chat.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield chat
    finally:
        server.shutdown()
        server.server_close()


def _response(answer: Any, request: dict[str, Any]) -> tuple[int, bytes]:
    if isinstance(answer, Callable):  # type: ignore[arg-type]
        answer = answer(request)
    if isinstance(answer, float):
        time.sleep(answer)
        answer = "late"
    status, body = answer if isinstance(answer, tuple) else (200, answer)
    if isinstance(body, str):
        body = completion(body)
    return status, body if isinstance(body, bytes) else json.dumps(body).encode()

"""A receiver of webhooks: SECRET=whsec_… python3 receive.py PORT

It checks each signature with the library `standardwebhooks`, does each event once, and prints what it did.
"""

import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

webhook = Webhook(os.environ["SECRET"])
# In a shop: a table, written in the same transaction as what the event causes.
done: set[str] = set()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            event = webhook.verify(body, {name.lower(): value for name, value in self.headers.items()})
        except WebhookVerificationError as why:
            print(f"refused: {why}", flush=True)
            return self.answer(400)
        if self.headers["webhook-id"] not in done and event["type"] != "webhook.test":
            data = event["data"]
            print(data["number"], event["type"], data["campaign"], data["subject"], flush=True)
            done.add(self.headers["webhook-id"])
        self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()

"""A service that sells things at the price that another service tells it. It asks with tenacity.

    service.py         one second of tries, as long as each may take
    service.py limits  three tries of 300 ms
"""

import http.client
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import tenacity

PRICES = urlsplit(os.environ["BRUNT_URL_PRICES"])

# What an incoming request hands on to the outgoing ones: either tells brunt
# whose request an attempt belongs to.
FORWARDED = ("traceparent", "X-Brunt-Request")

FAILURES = (OSError, http.client.HTTPException)  # a timeout is an OSError

if sys.argv[1:] == ["limits"]:
    TIMEOUT = 0.3
    retrying = tenacity.Retrying(
        stop=tenacity.stop_after_attempt(3),
        wait=tenacity.wait_fixed(0.02),
        retry=tenacity.retry_if_exception_type(FAILURES),
        reraise=True,
    )
else:
    TIMEOUT = None
    retrying = tenacity.Retrying(
        stop=tenacity.stop_after_delay(1),
        wait=tenacity.wait_fixed(0.02),
        retry=tenacity.retry_if_exception_type(FAILURES),
        reraise=True,
    )


def ask(headers):
    """One try. Its timeout is of each read, not of the whole."""
    connection = http.client.HTTPConnection(PRICES.hostname, PRICES.port, timeout=TIMEOUT)
    try:
        connection.request("GET", "/", headers=headers)
        answer = connection.getresponse()
        price = answer.read()
        if answer.status != 200:
            raise http.client.HTTPException(f"prices: {answer.status}")
        return price
    finally:
        connection.close()


class Shop(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or a body waits for the acknowledgement of its head

    def do_GET(self):
        headers = {name: self.headers[name] for name in FORWARDED if name in self.headers}
        try:
            status, body = 200, retrying(ask, headers)
        except FAILURES as error:
            status, body = 502, f"{error}\n".encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):  # that is a caller that has left
            super().handle_error(request, client_address)


host, port = os.environ["BRUNT_LISTEN"].split(":")
Server((host, int(port)), Shop).serve_forever()

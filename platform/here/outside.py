"""The agent outside of the nodes that switches their power: outside.py FOLDER SECRET-FILE.

Nodes ask it by TCP on the cluster's network, one line of JSON a connection: {"secret", "action", "node"}. `off` is answered when
nothing of the node runs any more, so that who asked may take over what it had; `reboot` too, and the node boots some seconds later.
Each request is a line on standard output with the time, which the tests read.
"""

import hmac
import json
import socketserver
import sys
import threading
import time
from pathlib import Path

import nodes

PORT = 7077
# From power on to the boot, seconds. A server tests itself for longer, and takes nothing from the others while it does. Nodes here share
# processors: one that boots at once takes them from the node that takes over.
SELF_TEST_S = 8
# Power of one node is switched by one request at a time.
LOCKS = {name: threading.Lock() for name in nodes.NODES}


def say(text):
    print(f"{time.time():.3f} {text}", flush=True)


def boot(folder, name):
    with LOCKS[name]:
        node = nodes.Node(folder, name)
        if not node.is_up():
            node.boot(folder / "roots" / nodes.NODES[name][0])
            say(f"booted {name}")


def booted_later(folder, name):
    def attempt():
        time.sleep(SELF_TEST_S)
        try:
            boot(folder, name)
        except nodes.Failure as failure:
            say(f"failed to boot {name}: {failure}")
    threading.Thread(target=attempt, daemon=True).start()


def act(folder, action, name):
    """Does it; returns the state of the node's power."""
    if action in ("monitor", "list"):
        return "on"
    if name not in nodes.NODES:
        raise nodes.Failure(f"there is no node {name!r}")
    node = nodes.Node(folder, name)
    if action in ("off", "reboot"):
        with LOCKS[name]:
            node.power_off()
        say(f"fenced {name}")
        if action == "reboot":
            booted_later(folder, name)
        return "off"
    if action == "on":
        boot(folder, name)
    elif action != "status":
        raise nodes.Failure(f"there is no action {action!r}")
    return "on" if node.is_up() else "off"


class Request(socketserver.StreamRequestHandler):
    timeout = 10

    def handle(self):
        try:
            request = json.loads(self.rfile.readline(4096))
            if not hmac.compare_digest(str(request.get("secret", "")), self.server.secret):
                raise nodes.Failure("the secret is wrong")
            answer = {"power": act(self.server.folder, request.get("action"), request.get("node"))}
        except (ValueError, OSError, AttributeError, nodes.Failure) as error:
            say(f"refused a request of {self.client_address[0]}: {error}")
            answer = {"error": str(error)}
        self.wfile.write(json.dumps(answer).encode() + b"\n")


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


def main():
    folder, secret = Path(sys.argv[1]), Path(sys.argv[2])
    with Server((nodes.address(nodes.OUTSIDE, "eth1"), PORT), Request) as server:
        server.folder, server.secret = folder, secret.read_text().strip()
        say("ready")
        server.serve_forever()


if __name__ == "__main__":
    main()

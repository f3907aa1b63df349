"""A browser without a window, driven by Debian's chromium-driver over HTTP (the W3C's WebDriver protocol)."""

import base64
import json
import os
import re
import shutil
import subprocess
import time
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def why_missing():
    """Returns why there is no browser to test with; empty if there is one."""
    lacking = [name for name in ("chromium", "chromedriver") if not shutil.which(name)]
    return f"{' and '.join(lacking)} not found: install Debian's chromium and chromium-driver" if lacking else ""


class Browser:
    def __init__(self, folder):
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        for line in self.driver.stdout:
            if found := re.search(r"successfully on port (\d+)", line):
                self.address = f"http://127.0.0.1:{found[1]}/session"
                break
        flags = [
            "--headless=new",
            "--window-size=1300,900",
            "--force-device-scale-factor=1",
            "--use-angle=swiftshader",
            "--enable-unsafe-swiftshader",
            "--disable-dev-shm-usage",
            f"--user-data-dir={folder}",
        ]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")
        options = {"args": flags, "binary": shutil.which("chromium"), "prefs": {"download.default_directory": folder}}
        capabilities = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"performance": "ALL", "browser": "ALL"},
            "timeouts": {"script": 60000, "pageLoad": 60000},
        }
        session = self.call("", {"capabilities": {"alwaysMatch": capabilities}})
        self.address += "/" + session["sessionId"]

    def call(self, path, body=None, method=None):
        request = urllib.request.Request(
            self.address + path,
            None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json"},
            method=method or ("GET" if body is None else "POST"),
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"]) from None

    def run(self, script, *arguments):
        """Runs JavaScript; `await` is possible. Returns the value of its `return`."""
        text = "const done = arguments[arguments.length - 1]; const given = [...arguments].slice(0, -1);" + (
            "(async (...given) => {" + script + "})(...given).then(value => done({value}), error => done({error: "
            "String(error.stack)}));"
        )
        result = self.call("/execute/async", {"script": text, "args": list(arguments)})
        assert "error" not in result, result["error"]
        return result.get("value")

    def wait(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while not (value := self.run(f"return {condition}")):
            assert time.monotonic() < end, f"the page did not reach: {condition}"
            time.sleep(0.02)
        return value

    def open(self, path, query=""):
        """Opens a report and waits until it is complete. Returns its facts."""
        self.call("/url", {"url": path.absolute().as_uri() + query})
        self.wait("window.glintReport && (glintReport.ready || glintReport.error)")
        assert self.run("return glintReport.error ?? null") is None
        self.settle()
        return self.run("return glintReport.facts")

    def settle(self):
        self.wait("!glintReport.isBusy()")

    def drag(self, begin, end):
        """Drags with the mouse from one place of the window to another."""
        move = {"type": "pointerMove", "duration": 0, "origin": "viewport"}
        places = [begin, [(begin[0] + end[0]) / 2, (begin[1] + end[1]) / 2], end]
        actions = [{**move, "x": round(x), "y": round(y)} for x, y in places]
        actions.insert(1, {"type": "pointerDown", "button": 0})
        actions.append({"type": "pointerUp", "button": 0})
        pointer = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": actions}
        self.call("/actions", {"actions": [pointer]})

    def press(self, keys):
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def log(self, kind):
        return self.call("/se/log", {"type": kind})

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self.call("/screenshot")))

    def close(self):
        try:
            self.call("", method="DELETE")
        finally:
            self.driver.terminate()
            self.driver.wait()

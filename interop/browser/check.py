"""Opens the exported page in a real browser, by the browser's own debugging pipe.

    check.py CHROMIUM PAGE KEY FOREIGN-KEY EVENTS SCREENSHOT

The page must render without a stall, filter, verify a good log, and show a tampered one as
tampered; names must stay names; nothing may be asked of any network.
"""

import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

LIMIT = 60


class Browser:
    """The debugging pipe: JSON messages that end in a zero byte, on descriptors 3 and 4."""

    def __init__(self, program):
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()

        def place():
            # The pipes may lie on 3 and 4 already; go round by high numbers.
            high = [os.dup2(to_read, 200), os.dup2(to_write, 201)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.home = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--remote-debugging-pipe", "--no-first-run", f"--user-data-dir={self.home.name}",
             "--window-size=1500,900", "about:blank"],
            preexec_fn=place, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.rest, self.number, self.session, self.events = b"", 0, None, []

    def read(self):
        while b"\0" not in self.rest:
            data = os.read(self.back, 1 << 16)
            if not data:
                sys.exit("the browser went away")
            self.rest += data
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, page):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Runtime.enable")
        self.call("Network.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=1500, height=900, deviceScaleFactor=1, mobile=False)
        begun = time.monotonic()
        self.call("Page.navigate", url=pathlib.Path(page).resolve().as_uri())
        self.wait("document.readyState === 'complete' && document.querySelectorAll('.row').length > 0")
        return time.monotonic() - begun

    def eval(self, code):
        answer = self.call("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            sys.exit(f"{code}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, code):
        deadline = time.monotonic() + LIMIT
        while not self.eval(code):
            if time.monotonic() > deadline:
                sys.exit(f"waited in vain for: {code}")
            time.sleep(0.02)

    def verdict(self, click=True):
        if click:
            self.eval("document.getElementById('verify').click()")
        self.wait("['good', 'bad'].includes(document.getElementById('verdict').dataset.state)")
        return self.eval("document.getElementById('verdict').dataset.state + ' ' + document.getElementById('verdict').textContent")

    def close(self):
        self.process.terminate()
        self.process.wait(20)
        self.home.cleanup()


def must(what, holds):
    if not holds:
        sys.exit(f"not so: {what}")


def main(program, page, key, foreign, events, screenshot):
    browser = Browser(program)
    try:
        opened = browser.open(page)
        total = int(events)
        said = browser.verdict(click=False)
        must(f"the page verifies itself on load: {said}", said.startswith("good") and "not authenticated" in said)
        must("all events are told", browser.eval("document.getElementById('facts').textContent").startswith(f"{total:,} events"))
        must("only what can be seen is made", browser.eval("document.querySelectorAll('.row').length") < 200)
        must("names stay names", "owned" not in browser.eval("document.title"))
        must("no markup came of a name", browser.eval("document.querySelectorAll('img').length + document.scripts.length") == 2)
        # Without a stall: scrolling through everything and filtering, frame by frame.
        longest = browser.eval("""(async () => {
            let longest = 0, last = performance.now();
            const list = document.getElementById('list'), step = list.scrollHeight / 60;
            for (let i = 0; i < 60; i += 1) {
                list.scrollTop = i * step;
                await new Promise(requestAnimationFrame);
                longest = Math.max(longest, performance.now() - last); last = performance.now();
            }
            return longest;
        })()""")
        filtered = browser.eval("""(async () => {
            const begun = performance.now();
            document.getElementById('denied').click();
            await new Promise((done) => setTimeout(done, 80));
            while (!document.getElementById('count').textContent.includes('shown')) await new Promise(requestAnimationFrame);
            return performance.now() - begun;
        })()""")
        shown = browser.eval("Number(document.getElementById('count').textContent.replace(/[^0-9]/g, ''))")
        refused = browser.eval("Number(document.getElementById('facts').textContent.match(/([0-9,]+) refused/)[1].replace(/,/g, ''))")
        must("the filter shows the refused ones", shown == refused > 0)
        must("all that is shown is refused", browser.eval("[...document.querySelectorAll('.row')].every((row) => row.classList.contains('denied'))"))
        browser.eval("document.getElementById('denied').click()")
        browser.eval("document.getElementById('search').value = 'owned'; document.getElementById('search').dispatchEvent(new Event('input'))")
        browser.wait("document.querySelectorAll('.row').length > 0 && document.querySelector('.row .p').textContent.includes('owned')")
        must("hostile names are shown as they are", browser.eval("[...document.querySelectorAll('.row .p')].some((p) => p.textContent.includes('</script>'))"))
        browser.eval("document.getElementById('search').value = ''; document.getElementById('search').dispatchEvent(new Event('input'))")
        browser.wait(f"document.getElementById('count').textContent.startsWith('{total:,}')")
        must("what changed is a tree", browser.eval("document.querySelectorAll('#tree details').length") >= 4)
        browser.eval("document.querySelector('#tree details').open = true")
        begun = time.monotonic()
        said = browser.verdict()
        verified = time.monotonic() - begun
        must(f"a good log verifies: {said}", said.startswith("good") and f"{total:,}" in said)
        browser.eval(f"document.getElementById('key').value = {json.dumps(key)}")
        must("with the right key too", "with your key" in browser.verdict())
        picture = browser.call("Page.captureScreenshot", format="png")
        pathlib.Path(screenshot).write_bytes(base64.b64decode(picture["data"]))
        browser.eval(f"document.getElementById('key').value = {json.dumps(foreign)}")
        must("a foreign key does not", browser.verdict().startswith("bad tampered"))
        asked = [e["params"]["request"]["url"] for e in browser.events if e.get("method") == "Network.requestWillBeSent"]
        must(f"nothing is asked of any network: {asked}", all(url.startswith("file:") for url in asked))
        good = pathlib.Path(page).read_text()
        copy = pathlib.Path(page).with_name("tampered.html")
        start = good.index('"events":')
        for what, bad in {
            "an event": good[:start] + good[start:].replace("file-07.rs", "file-08.rs", 1),
            "the size": good.replace('"checkpoint":"', '"checkpoint":"x', 1),
            "the root": None,
        }.items():
            if bad is None:
                data = json.loads(good.split('id="data">')[1].split("</script>")[0])
                lines = data["checkpoint"].split("\n")
                bad = good.replace(lines[2], "A" + lines[2][1:] if lines[2][0] != "A" else "B" + lines[2][1:], 1)
            must("the copy differs", bad != good)
            copy.write_text(bad)
            browser.open(copy)
            said = browser.verdict(click=False)
            must(f"with {what} changed it is tampered: {said}", said.startswith("bad tampered"))
        print(f"{total} events: opened in {opened:.2f} s, longest frame while scrolling {longest:.0f} ms, "
              f"filtered in {filtered:.0f} ms, verified in {verified:.2f} s; 3 tampered copies shown as tampered")
    finally:
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])

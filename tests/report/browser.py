"""Open a page in a headless Chromium, and ask it what it shows."""

import json
import re
import shutil
import subprocess

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PHONE, DESKTOP = 390, 1400
ASK = """<script>addEventListener("load", () => setTimeout(() => { document.title = JSON.stringify({ms: performance.now(),
width: document.documentElement.scrollWidth, inner: innerWidth, requests: performance.getEntriesByType("resource").length,
back: getComputedStyle(document.body).backgroundColor, charts: [...document.querySelectorAll("svg")].map(
each => [each.getBoundingClientRect().width, getComputedStyle(each.querySelector("text") || each).fill])});
parent.document.title = document.title; }))</script>"""


def opened(page, width, dark=False):
    """What the page says of itself where it is so many pixels wide. It stands in a frame: windows are wider than phones."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here to open the page in")
    asking = page.with_name(f"asking-{page.name}")
    asking.write_text(page.read_text().replace("</body>", ASK + "</body>"))
    frame = page.with_name("frame.html")
    frame.write_text(f'<iframe src="{asking.name}" style="width: {width}px; height: 1000px; border: 0"></iframe>')
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--dump-dom"]
    command += ["--window-size=1500,1100", "--virtual-time-budget=3000", "--host-resolver-rules=MAP * ~NOTFOUND"]
    command += [f"--user-data-dir={page.parent / 'profile'}", *(["--blink-settings=preferredColorScheme=0"] if dark else [])]
    shown = subprocess.run([*command, frame.as_uri()], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=120)
    return json.loads(re.search("<title>(.*?)</title>", shown.stdout)[1].replace("&gt;", ">"))

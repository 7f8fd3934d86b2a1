"""Draws the pictures of `katod/formats/README.md`: the session of `katod demo` as a page. Needs Chromium.

Run it after a change to how pages look: `python packaging/readme/pages.py`.
"""

import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
SESSION = HERE.parents[1] / "fixtures" / "demo" / "session.jsonl"
BROWSER = ("chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars")
DARK = ("--force-dark-mode", "--blink-settings=preferredColorScheme=0")
PICTURES = {"page.png": ("--window-size=1012,1100",), "page-dark.png": ("--window-size=500,1100", *DARK)}


def draw() -> None:
    """Write each picture beside this file."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        subprocess.run(["katod", "export", str(SESSION), "-o", str(page)], check=True)
        for name, options in PICTURES.items():
            target = f"--screenshot={HERE / name}"
            subprocess.run([*BROWSER, *options, target, page.as_uri()], check=True, capture_output=True)


if __name__ == "__main__":
    draw()

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The documents as a site: it is made without a warning, a link that leads nowhere fails, and its pages fetch nothing
from elsewhere. TAP."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FETCHED = re.compile(r'(?:src|<link[^>]*href)="(https?:|//)')


def make(root, build):
    return subprocess.run([f"{root}/mk/docs", build], capture_output=True, text=True, check=False)


def copy_of(root, to):
    """The files that mk/docs reads."""
    shutil.copytree(root / "docs", to / "docs")
    for name in ("mk/docs", "mk/mkdocs.yml", "examples/README.md", *(path.name for path in root.glob("*.md"))):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, to / name)


def main():
    if not shutil.which("mkdocs"):
        print("1..0 # SKIP mkdocs is not installed")
        return 0
    results = []
    with tempfile.TemporaryDirectory() as work:
        done = make(ROOT, f"{work}/build")
        results.append((done.returncode == 0, f"the site is made {done.stderr[-500:]}"))
        pages = list(pathlib.Path(work).glob("build/site/**/*.html"))
        fetching = [page for page in pages if FETCHED.search(page.read_text(encoding="utf-8"))]
        results.append((len(pages) > 20 and not fetching, f"{len(pages)} pages fetch nothing {fetching}"))
        other = pathlib.Path(work) / "other"
        copy_of(ROOT, other)
        with open(other / "docs/running.md", "a", encoding="utf-8") as page:
            page.write("\n[nowhere](nowhere.md)\n")
        done = make(other, f"{work}/broken")
        results.append((done.returncode != 0 and "nowhere.md" in done.stderr, "a link to nowhere is an error"))
    for number, (is_well, name) in enumerate(results, 1):
        print(f"{'ok' if is_well else 'not ok'} {number} - {' '.join(name.split())}")
    print(f"1..{len(results)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

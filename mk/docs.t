#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The documents as a site: it is made without a warning, a link that leads nowhere fails, and its pages fetch nothing
from elsewhere. Diagrams are drawn from their sources, that of a peer's life from the table in the code. TAP."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
FETCHED = re.compile(r'(?:src|<link[^>]*href)="(https?:|//)')
TABLE = "pm-verbs/conn/lifetable.c"
ROW = re.compile(r"\{PMV_PEER_(\w+), PMV_(\w+), PMV_DO_(\w+),\s*PMV_PEER_(\w+)\}")
TOOLS = {".dot": "dot", ".py": "dot", ".msc": "mscgen"}
PACKAGES = {"dot": "graphviz", "mscgen": "mscgen"}
SVG = "{http://www.w3.org/2000/svg}"


def make(root, build, environment=None):
    return subprocess.run([f"{root}/mk/docs", build], capture_output=True, text=True, check=False, env=environment)


def copy_of(root, to):
    """The files that mk/docs reads."""
    shutil.copytree(root / "docs", to / "docs")
    for name in ("mk/docs", "mk/diagrams", "mk/mkdocs.yml", TABLE, "examples/README.md",
                 *(path.name for path in root.glob("*.md"))):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, to / name)


def sources():
    return sorted(path for path in (ROOT / "docs/diagrams").iterdir() if path.suffix in TOOLS)


def lacks():
    """Tools that are not installed."""
    return sorted(tool for tool in set(TOOLS.values()) if not shutil.which(tool))


def shown_badly(site):
    """Sources whose diagram is no SVG with text that a page of the site shows."""
    pages = "".join(page.read_text(encoding="utf-8") for page in site.glob("**/*.html"))
    bad = []
    for source in sources():
        if TOOLS[source.suffix] in lacks():
            continue
        svg = site / f"docs/diagrams/{source.stem}.svg"
        is_drawn = svg.exists() and list(xml.etree.ElementTree.parse(svg).iter(f"{SVG}text"))
        if not is_drawn or not re.search(rf'<img [^>]*src="[^"]*diagrams/{source.stem}\.svg"', pages):
            bad.append(source.name)
    return bad


def table_rows(root):
    """{(state, "event / action", next state)} of the table."""
    found = set()
    for row in ROW.findall((root / TABLE).read_text(encoding="utf-8")):
        state, event, action, after = (word.lower().replace("_", " ") for word in row)
        found.add((state, event if action == "nothing" else f"{event} / {action}", after))
    return found


def drawn_rows(site):
    """The same of the edges of the diagram, as dot has written them: a title with both states, a text for each line."""
    found, svg = set(), site / "docs/diagrams/peer-life.svg"
    groups = xml.etree.ElementTree.parse(svg).iter(f"{SVG}g") if svg.exists() else ()
    for edge in (group for group in groups if group.get("class") == "edge"):
        state, after = edge.find(f"{SVG}title").text.split("->")
        found |= {(state, text.text.strip(), after) for text in edge.iter(f"{SVG}text")}
    return found


def without(work, names):
    """An environment whose PATH has all programs but these."""
    programs = work / "programs"
    programs.mkdir()
    for directory in reversed(os.get_exec_path()):
        for path in pathlib.Path(directory).glob("*"):
            if path.name not in names:
                link = programs / path.name
                link.unlink(missing_ok=True)
                link.symlink_to(path)
    return {**os.environ, "PATH": str(programs)}


def diagram_results(work, site):
    """(whether it is well, or a reason to skip; name) of each test of diagrams."""
    lack = ", ".join(f"{tool} is not installed (install {PACKAGES[tool]})" for tool in lacks())
    bad = shown_badly(site)
    yield (not bad if len(lacks()) < len(PACKAGES) else lack), f"each diagram is drawn and shown {bad} {lack}"
    if "dot" in lacks():
        yield lack, "the life of a peer is drawn from its table"
    else:
        yield drawn_rows(site) == table_rows(ROOT), "the life of a peer has the rows of its table"
        other = work / "changed"
        copy_of(ROOT, other)
        text = (other / TABLE).read_text(encoding="utf-8")
        old, new = "PMV_DO_RENEW, PMV_PEER_ALIVE", "PMV_DO_RENEW, PMV_PEER_LEFT"
        (other / TABLE).write_text(text.replace(old, new), encoding="utf-8")
        done = make(other, f"{work}/redrawn")
        rows = drawn_rows(work / "redrawn/site")
        yield (done.returncode == 0 and rows == table_rows(other) != table_rows(ROOT),
               f"another table gives another drawing {done.stderr[-500:]}")
    done = make(ROOT, f"{work}/plain", without(work, PACKAGES))
    said = all(f"{tool} is missing (install {package})" in done.stderr for tool, package in PACKAGES.items())
    page = work / "plain/site/ARCHITECTURE/index.html"
    yield (done.returncode == 0 and said and 'href="../docs/diagrams/layers.dot"' in page.read_text(encoding="utf-8"),
           f"without the tools the pages link to the sources, and a sentence says so {done.stderr[-500:]}")


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
        results += diagram_results(pathlib.Path(work), pathlib.Path(work) / "build/site")
    for number, (is_well, name) in enumerate(results, 1):
        skip = f" # SKIP {is_well}" if isinstance(is_well, str) else ""
        print(f"{'ok' if is_well else 'not ok'} {number} - {' '.join(name.split())}{skip}")
    print(f"1..{len(results)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

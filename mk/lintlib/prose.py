# SPDX-License-Identifier: BSD-3-Clause
"""Rules on prose in comments, docstrings, manual pages and documents: sentences name their subject, links lead
somewhere."""
import os
import re
import unicodedata

# A sentence that begins with one of these and asks nothing hides its subject.
ASKING = re.compile(r"(?:^|[.!?]\s+|:\s+)((?:Who|What|Whose)\b[^.?!]*(?:[.?!]|$))")
ORDERED = re.compile(r"^\s*(?:[-*]|\d+\.)\s+", re.MULTILINE)
C_BLOCK = re.compile(r"/\*(.*?)\*/", re.DOTALL)
C_LINES = re.compile(r"(?:^[ \t]*//[^\n]*\n)+", re.MULTILINE)
DOCSTRING = re.compile(r'"""(.*?)"""', re.DOTALL)
HASH_LINES = re.compile(r"(?:^[ \t]*#(?!!|:)[^\n]*\n)+", re.MULTILINE)
TRAILING = re.compile(r"^[^#'\"\n]*\S[^#'\"\n]*  # ([^\n]*)$", re.MULTILINE)
MARKDOWN_CODE = re.compile(r"^(?:    |\t)[^\n]*$|^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
MARKDOWN_BREAK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*|#]|\d+\.)\s?)|\|")
LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]*))?\)")
HEADING = re.compile(r"^#+\s+(.*?)\s*$", re.MULTILINE)


def _paragraphs(text, strip):
    """Pieces of prose in one string: without marks at the beginnings of lines, cut where a line is empty."""
    lines = ["" if "SPDX-" in line else re.sub(strip, "", line) for line in text.split("\n")]
    for piece in re.split(r"\n\s*\n", "\n".join(lines)):
        yield " ".join(piece.split())


def _prose(tree, name):
    text = tree.text(name)
    if name.endswith(".md"):
        for piece in MARKDOWN_BREAK.split(MARKDOWN_CODE.sub("", text)):
            yield " ".join(piece.split()).lstrip("#-*| ")
    elif name.endswith((".c", ".h")):
        for found in C_BLOCK.finditer(text):
            yield from _paragraphs(found[1], r"^\s*\*?\s?")
        for found in C_LINES.finditer(text):
            yield from _paragraphs(found[0], r"^\s*//\s?")
    elif name in tree.man_pages():
        lines = ("" if line.startswith(".") else line for line in text.split("\n"))
        yield from _paragraphs("\n".join(lines), r"^$")
    else:
        if name in tree.python_files():
            for found in DOCSTRING.finditer(text):
                yield from _paragraphs(found[1], r"^$")
        for found in HASH_LINES.finditer(text):
            yield from _paragraphs(found[0], r"^\s*#\s?")
        for found in TRAILING.finditer(text):
            yield found[1]


def check_subjects(tree):
    written = {*tree.sources(), *tree.man_pages(), *(n for n in tree.files if n.endswith((".md", ".mk", ".toml")))}
    for name in sorted(written):
        for piece in _prose(tree, name):
            for found in ASKING.finditer(ORDERED.sub("", piece)):
                if not found[1].endswith("?"):
                    yield f"{name}: name the subject: {found[1][:70]}"


def _anchor(heading):
    """The anchor that a heading gets on the sites that show these files."""
    kept = (c for c in heading.lower() if c in " -_" or unicodedata.category(c)[0] in "LN")
    return "".join(kept).replace(" ", "-")


def check_links(tree):
    for name in (n for n in tree.files if n.endswith(".md")):
        for found in LINK.finditer(MARKDOWN_CODE.sub("", tree.text(name))):
            target, anchor = found[1], found[2]
            if "://" in target or target.startswith("mailto:"):
                continue
            path = os.path.normpath(os.path.join(os.path.dirname(name), target)) if target else name
            if not os.path.exists(tree.path(path)):
                yield f"{name}: no file {target}"
            elif anchor and anchor not in {_anchor(h[1]) for h in HEADING.finditer(tree.text(path))}:
                yield f"{name}: no heading for #{anchor} in {path}"

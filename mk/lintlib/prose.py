# SPDX-License-Identifier: BSD-3-Clause
"""Rules on prose in comments, docstrings, manual pages and documents: sentences name their subject
and are short, links lead somewhere.

Prose is text that a person wrote for people. Code in Markdown, literal displays of manual pages and
strings of programs are no prose. Names in code marks and arguments of a manual page's macros don't
count as words. A page that a program writes is prose: the program has to write short sentences.
"""
import ast
import functools
import io
import os
import re
import tokenize
import unicodedata

WORDS_MAX = 35  # of one sentence

# A sentence that begins with one of these and asks nothing hides its subject.
ASKING = re.compile(r"(?:^|[.!?]\s+|:\s+)((?:Who|What|Whose)\b[^.?!]*(?:[.?!]|$))")
ORDERED = re.compile(r"^\s*(?:[-*]|\d+\.)\s+", re.MULTILINE)
SENTENCE_END = re.compile(r"(?<=[.!?])[)\"'*]*\s+")
ITEM = re.compile(r"\s*(?:[-*]|\d+\.)\s")
COLUMNS = re.compile(r"(?<=\S)(?: {2,}| *\t+)(?=\S)")
# Strings are matched too, so that a comment's mark in one begins no comment.
C_TOKEN = re.compile(r"""/\*(?P<block>.*?)\*/|(?P<lines>//[^\n]*(?:\n[ \t]*//[^\n]*)*)"""
                     r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)
HASH_LINES = re.compile(r"(?:^[ \t]*#(?!!|:)[^\n]*\n)+", re.MULTILINE)
TRAILING = re.compile(r"^[^#'\"\n]*\S[^#'\"\n]*  # ([^\n]*)$", re.MULTILINE)
MAN_BREAK = re.compile(r"\.(?:Bl|Bd|Dl|D1|Ed|El|It|Nd|Pp|Sh|Ss)\b")
MARKDOWN_CODE = re.compile(r"^(?:    |\t)[^\n]*$|^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
MARKDOWN_BREAK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*]\s|\d+\.\s|[|#]))|\|")
LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]*))?\)")
HEADING = re.compile(r"^#+\s+(.*?)\s*$", re.MULTILINE)


def _paragraphs(text, strip):
    """Pieces of prose in one string, without the marks at the beginnings of lines. A piece ends
    before an empty line, an item of a list, a row of a table and each cell of it. A line with
    columns is a row."""
    piece, depth = [], -1
    for line in text.split("\n"):
        line = "" if "SPDX-" in line else re.sub(strip, "", line).rstrip()
        indent = len(line) - len(line.lstrip())
        is_entry = bool(ITEM.match(line) or COLUMNS.search(line))
        if is_entry or not line or indent <= depth:
            yield " ".join(piece)
            piece, depth = [], indent if is_entry else -1
        *cells, line = COLUMNS.split(line)
        yield from cells
        piece.extend(line.split())
    yield " ".join(piece)


def _python_prose(tree, name):
    """Docstrings and comments. A comment goes on in the next line if nothing stands before its
    mark."""
    nodes = tree.python_nodes(name)
    if not nodes:
        return
    for node in nodes:
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _paragraphs(ast.get_docstring(node) or "", r"^$")
    tokens = tokenize.generate_tokens(io.StringIO(tree.text(name)).readline)
    block, end = [], None
    for token in (token for token in tokens if token.type == tokenize.COMMENT):
        if token.start != end or token.line[:token.start[1]].strip():
            yield from _paragraphs("\n".join(block), r"^#[!:]?\s?")
            block = []
        block.append(token.string)
        end = (token.start[0] + 1, token.start[1])
    yield from _paragraphs("\n".join(block), r"^#[!:]?\s?")


def _man_prose(text):
    """Lines of text between macros that end a paragraph; of other macros, an end of a sentence."""
    lines, is_literal = [], False
    for line in text.split("\n"):
        if line.startswith((".Bd", ".Ed")):
            is_literal = "-literal" in line or "-unfilled" in line
        if is_literal or MAN_BREAK.match(line):
            lines.append("")
        elif not line.startswith("."):
            lines.append(line)
        elif line.endswith((" .", " ?", " !")) and lines:
            lines[-1] += line[-1]
    yield from _paragraphs("\n".join(lines), r"^$")


def _pieces(tree, name):
    text = tree.text(name)
    if name.endswith(".md"):
        for piece in MARKDOWN_BREAK.split(MARKDOWN_CODE.sub("", text)):
            yield " ".join(piece.split()).lstrip("#-*| ")
    elif name.endswith((".c", ".h")):
        for found in C_TOKEN.finditer(text):
            yield from _paragraphs(found["block"] or "", r"^\s*\*?\s?")
            yield from _paragraphs(found["lines"] or "", r"^\s*//\s?")
    elif name in tree.man_pages():
        yield from _man_prose(text)
    elif name in tree.python_files():
        yield from _python_prose(tree, name)
    else:
        for found in HASH_LINES.finditer(text):
            yield from _paragraphs(found[0], r"^\s*#\s?")
        for found in TRAILING.finditer(text):
            yield found[1]


@functools.cache
def _prose(tree, name):
    """The pieces of one file, for each rule that asks."""
    return list(_pieces(tree, name))


def _written(tree):
    """The files with prose."""
    more = (name for name in tree.files if name.endswith((".md", ".mk", ".toml")))
    return sorted({*tree.sources(), *tree.man_pages(), *more})


def check_subjects(tree):
    for name in _written(tree):
        for piece in _prose(tree, name):
            for found in ASKING.finditer(ORDERED.sub("", piece)):
                if not found[1].endswith("?"):
                    yield f"{name}: name the subject: {found[1][:70]}"


def check_sentences(tree):
    for name in _written(tree):
        for piece in _prose(tree, name):
            for sentence in SENTENCE_END.split(ORDERED.sub("", piece)):
                n_words = len(sentence.split())
                if n_words > WORDS_MAX:
                    yield f"{name}: {n_words} words in a sentence: {sentence[:70]}"


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

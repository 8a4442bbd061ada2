# SPDX-License-Identifier: BSD-3-Clause
"""pmtopo.toml_lines: every key has its line, in whatever way TOML lets it be written."""

import json
import pathlib
import sys
import tomllib

from hypothesis import example, given, settings, strategies as st

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "configs"))

from pmtopo.toml_lines import key_lines  # noqa: E402

TRICKY = '''# comment with [brackets] = and "quotes
a = 1
"b.c" = "x # no comment" # comment
d . e = [ # [
    1, "]", # ]
    { f = 2, "g" = [3] },
    """
]
""", 5,
]
'h' = \'\'\'
[not.a.table]
k = 1\'\'\'
i = """ends in quotes"""""
[t."u.v".w]
x = 1979-05-27 07:32:00
[[hosts]]
n = 1
[[hosts.rail]]
m = 1
[[hosts.rail]]
m = 2
[hosts.rail.sub]
z = {}
[[hosts]]
n.o = -inf
'''


def paths(tree, path=()):
    """All paths of a parsed tree."""
    yield path
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from paths(value, path + (key,))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from paths(value, path + (index,))


def test_key_lines__tricky_text():
    lines = key_lines(TRICKY)
    assert set(lines) == set(paths(tomllib.loads(TRICKY)))
    for path, line in ((("a",), 2), (("b.c",), 3), (("d", "e"), 4), (("d", "e", 0), 5),
                       (("d", "e", 2, "g", 0), 6), (("d", "e", 3), 7), (("d", "e", 4), 9),
                       (("h",), 11), (("i",), 14), (("t", "u.v", "w", "x"), 16),
                       (("hosts",), 17), (("hosts", 0, "rail", 1, "m"), 22),
                       (("hosts", 0, "rail", 1, "sub", "z"), 24), (("hosts", 1, "n", "o"), 26)):
        assert lines[path] == line, path


def test_key_lines__crlf():
    assert key_lines(TRICKY.replace("\n", "\r\n")) == key_lines(TRICKY)


KEYS = st.sampled_from(["a", "b-1", "c d", "e.f", '"', "ü", "", "#"])
SCALARS = st.one_of(st.integers(-10**12, 10**12), st.booleans(), st.text(max_size=12))
VALUES = st.recursive(SCALARS, lambda inner: st.one_of(
    st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)), max_leaves=8)


def basic(text):
    """A TOML basic string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def inline(value, draw_space):
    """A value on one or, for arrays, several lines."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return basic(value)
    if isinstance(value, list):
        items = f",{draw_space()}".join(inline(item, draw_space) for item in value)
        return f"[{draw_space()}{items}{draw_space()}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{basic(key)} = {inline(item, draw_space)}"
                               for key, item in value.items()) + "}"
    return str(value)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=5), st.dictionaries(KEYS, VALUES, max_size=5),
       st.lists(st.sampled_from([" ", "\n", "\n# c ] }\n", ""]), min_size=1, max_size=5))
def test_key_lines__has_exactly_the_paths_of_the_tree(root, table, spaces):
    calls = [0]

    def space():
        calls[0] += 1
        return spaces[calls[0] % len(spaces)]

    text = "".join(f"{basic(key)} = {inline(value, space)}\n" for key, value in root.items())
    for head in ("[[x.y]]", "[[x.y]]", "[z]"):
        text += head + "\n" + "".join(f" {basic(key)}={inline(value, space)}\n"
                                      for key, value in table.items())
    tree = tomllib.loads(text)
    lines = key_lines(text)
    assert set(lines) == set(paths(tree))
    rows = text.split("\n")
    for path, line in lines.items():
        if path and isinstance(path[-1], str) and path[-1] not in ("x", "y", "z"):
            assert basic(path[-1]) in rows[line - 1]


@settings(max_examples=1000, deadline=None)
@given(st.text(alphabet="a.=[]{}\"'#\\,\n 1-:", max_size=30))
@example('a=""""""\n')
@example("[[a]]\n[a.b]\n[[a]]")
def test_key_lines__whatever_tomllib_takes(text):
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    assert set(key_lines(text)) == set(paths(tree))

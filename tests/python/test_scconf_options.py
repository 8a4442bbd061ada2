# SPDX-License-Identifier: BSD-3-Clause
"""configs/options.def: its reader refuses what is malformed, and all that speaks of options says what it says."""

import pathlib
import re
import sys

import pytest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "configs"))

from pmtopo import document, options, optiontable, resolve, schema  # noqa: E402

TABLE = {option.name: option for option in optiontable.TABLE}
GOOD = 'OPTION("a.b", NUMBER, a_b, HOST, "5", RANGE(1, 9), ZERO("none"))'


def refused(text):
    with pytest.raises(ValueError) as caught:
        optiontable.parse(text, "options.def")
    return str(caught.value)


def test_parse__every_part_of_a_line():
    words = 'OPTION("c", CHOICE, c, JOB, NULL, WORDS("x", "y"))'
    assert optiontable.parse(f"/* 1\n */\n{GOOD}\n{words}\n") == (
        ("a.b", "NUMBER", "HOST", "5", 1, 9, "none", ()), ("c", "CHOICE", "JOB", None, None, None, None, ("x", "y")))


@pytest.mark.parametrize("line", [
    "", "x", "/* a comment between options */", "/* without an end", GOOD[:-1], GOOD + ";", GOOD + " ", " " + GOOD,
    GOOD.replace(", a_b", ""), GOOD.replace("a.b", "A"), GOOD.replace("a.b", "a.b.c"), GOOD.replace("HOST", "NODE"),
    GOOD.replace('"5"', "5"), GOOD.replace('"5"', '""'), GOOD.replace("9", "0x9"), GOOD.replace("9", "-9"),
    GOOD.replace("RANGE(1, 9), ", ""), GOOD.replace(', ZERO("none")', ', ZERO("none"), WORDS("x")'),
    GOOD.replace("NUMBER", "COLOUR"), GOOD.replace("NUMBER", "SWITCH"), GOOD.replace("NUMBER", "CHOICE"),
    'OPTION("c", NUMBER, c, HOST, NULL)', 'OPTION("c", CHOICE, c, HOST, NULL)',
    'OPTION("c", CHOICE, c, HOST, NULL, WORDS())', 'OPTION("c", PATH, c, HOST, NULL, WORDS("x"))'])
def test_parse__a_malformed_line(line):
    assert refused(f"/* 1\n */\n{GOOD}\n{line}\n").startswith('options.def:4: write OPTION("key", KIND, ')


@pytest.mark.parametrize("line, why", [
    (GOOD.replace("(1, 9)", "(9, 1)"), "smaller number first"),
    (GOOD.replace("(1, 9)", "(0, 9)"), "from 1 or more where ZERO follows"),
    (f"{GOOD}\n{GOOD}", "options.def:2: a.b is there already; remove one of the lines")])
def test_parse__parts_that_do_not_fit(line, why):
    assert why in refused(line)


def test_table__every_option_is_read_by_the_schema():
    def leaves(table, home=""):
        for key, kind in table.keys.items():
            yield from leaves(kind, f"{key}.") if isinstance(kind, schema.Table) else [home + key]

    own = [name for name, option in TABLE.items() if option.scope == "HOST"]
    assert sorted(leaves(schema.PM)) == sorted(options.KEYS)
    assert sorted(leaves(schema.OVERRIDES)) == sorted(own)


@pytest.mark.parametrize("name", [name for name, option in TABLE.items() if option.zero])
def test_table__zero_with_a_meaning_is_taken(name, tmp_path):
    path = tmp_path / "cluster.toml"
    path.write_text(f'[[hosts]]\nrange = "n[0-3]"\n[pm]\n{name} = 0\n')
    cluster, problems = resolve.resolve(document.load(path))
    assert (problems.lines(), cluster.pm) == ([], {name: "0"})


# ---- manual pages ------------------------------------------------------------------------------

def items(text):
    """Name -> the words of its item in a list of mdoc(7). Several names may share an item."""
    found = {}
    for item in re.split(r"^\.It ", text, flags=re.M)[1:]:
        head, _, body = item.partition("\n")
        body = re.sub(r"^\.[A-Z][a-z] ", "", body, flags=re.M)
        for name in head.removeprefix("Cm ").split(" , "):
            assert name not in found, f"{name} is there twice"
            found[name] = " ".join(body.split())
    return found


PM_OPTIONS = items((TREE / "pmcore/man/pm_options.5").read_text().split(".El\n")[0])
CLUSTER_TOML = items((TREE / "configs/man/cluster.toml.5").read_text().split(
    ".Ss Keys of [pm] and [overrides.RANGE]\n")[1].split(".El\n")[0])


def size(text):
    """512, 64K or 1M as a number."""
    digits, unit = re.fullmatch("([0-9]+)([KMG]?)", text).groups()
    return int(digits) << 10 * " KMG".index(unit or " ")


def said_default(text):
    """The default that an item tells, as a user would write it; "" where it is told in words, None where it is not."""
    match = re.search(r"\b[Dd]efault:? ([0-9]+[KMG]?|/[a-z/-]+|[a-z]+(?:\+[a-z]+)+)\b|([a-z0-9]+) \(default\)"
                      r"|\bWith (auto) \(default\)", text)
    if match:
        return match[1] or match[2] or match[3]
    return "" if "Default: " in text else None


def is_default(said, wanted):
    if said and wanted and said[0].isdigit() and wanted[0].isdigit():
        return size(said) == size(wanted)
    return said == (wanted or "")


def test_manual__has_the_options_of_the_table():
    assert PM_OPTIONS.keys() == TABLE.keys()
    assert CLUSTER_TOML.keys() == set(options.KEYS)


@pytest.mark.parametrize("option", TABLE.values(), ids=TABLE)
def test_manual__says_what_the_table_says(option):
    text = PM_OPTIONS[option.name]
    assert is_default(said_default(text), option.default), text
    if option.low is not None:
        ranges = re.findall(r"\b([0-9]+[KMG]?) to ([0-9]+[KMG]?)\b", text)
        assert (option.low, option.high) in [(size(low), size(high)) for low, high in ranges], text
    assert not option.zero or re.search(r"\b0\b", text), text
    assert (option.kind in ("POWER", "POWER_BYTES")) == ("a power of two" in text), text
    assert (option.scope == "JOB") == ("Must be the same on all nodes of a job" in text), text
    for word in option.words:
        assert re.search(rf"\b{word}\b", text), (word, text)


@pytest.mark.parametrize("name", options.KEYS)
def test_manual__of_cluster_toml_says_what_the_table_says(name):
    text, option = CLUSTER_TOML[name], TABLE[name]
    assert (option.scope == "JOB") == ("The same for all hosts" in text), text
    for word in option.words:
        assert re.search(rf"\bQl {word}\b|^{word}\b| {word} ", text), (word, text)

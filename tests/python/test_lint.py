# SPDX-License-Identifier: BSD-3-Clause
"""mk/lint on small trees: each rule reports a file that breaks it, and a clean tree passes."""
import os
import shutil
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
C_HEAD = "// SPDX-License-Identifier: BSD-3-Clause\n"
H_HEAD = "/* SPDX-License-Identifier: BSD-3-Clause */\n#pragma once\n"
HASH_HEAD = "# SPDX-License-Identifier: BSD-3-Clause\n"
HEADERS = ("pmcore/include/pm.h", "pmcore/include/pm_device.h", "pmcore/util/list.h",
           "pmcore/util/clock.h", "pmcore/wire/pm_wire.h", "pmcore/channel/channel.h",
           "pmcore/device/registry.h", "pm-udp/udp.h", "pm-shmem/shmem.h",
           "pm-ethernet/frame.h", "pm-ethernet/bpf/maps.h", "pm-ethernet/daemon/port.h",
           "pmcore/tools/common/opts.h", "mpi-glue/common/match.h",
           "pm-verbs/hw/qp.h", "pm-verbs/conn/life.h", "pm-verbs/data/tx.h", "pm-verbs/progress.h")


@pytest.fixture(name="tree")
def make_tree(tmp_path):
    shutil.copy(os.path.join(ROOT, ".clang-format"), tmp_path)
    for name in HEADERS:
        write(tmp_path, name, H_HEAD)
    return tmp_path


def write(tree, name, text):
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def lint(tree, *arguments):
    done = subprocess.run([os.path.join(ROOT, "mk/lint"), "--root", str(tree), *arguments],
                          capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


def assert_reported(tree, rule, *words):
    code, output = lint(tree, rule)
    assert code == 1, output
    line = next((s for s in output.splitlines() if all(w in s for w in words)), None)
    assert line and line.endswith(f"[{rule}]"), output


def test_clean_tree_passes(tree):
    code, output = lint(tree)
    assert code == 0, output


@pytest.mark.parametrize("name, include", [
    ("pmcore/channel/a.c", '"pmcore/device/registry.h"'),
    ("pmcore/channel/a.c", '"pm.h"'),
    ("pmcore/channel/a.c", '"pmcore/util/clock.h"'),
    ("pmcore/channel/a.c", "<sys/socket.h>"),
    ("pmcore/channel/a.c", "<stdio.h>"),
    ("pmcore/channel/a.c", "<time.h>"),
    ("pmcore/channel/a.h", "<pthread.h>"),
    ("pmcore/util/a.c", '"pmcore/wire/pm_wire.h"'),
    ("pmcore/wire/a.c", '"pmcore/channel/channel.h"'),
    ("pmcore/device/a.c", '"pmcore/channel/channel.h"'),
    ("pmcore/device/a.c", '"pm-udp/udp.h"'),
    ("pm-udp/a.c", '"pmcore/channel/channel.h"'),
    ("pm-udp/a.c", '"pm-shmem/shmem.h"'),
    ("pm-ethernet/a.c", '"pm-ethernet/daemon/port.h"'),
    ("pm-ethernet/bpf/a.bpf.c", '"pm.h"'),
    ("pm-ethernet/bpf/a.bpf.c", '"pmcore/util/list.h"'),
    ("pm-ethernet/daemon/a.c", '"pm_device.h"'),
    ("pm-verbs/hw/a.c", '"pm-verbs/conn/life.h"'),
    ("pm-verbs/hw/a.c", '"pm-verbs/progress.h"'),
    ("pm-verbs/conn/a.c", '"pm-verbs/data/tx.h"'),
    ("pm-verbs/data/a.c", '"pm-verbs/progress.h"'),
    ("pm-verbs/datagram/a.c", '"pm-verbs/conn/life.h"'),
    ("mpi-glue/mtl/a.c", '"pmcore/util/list.h"'),
    ("mpi-glue/common/a.c", '"ompi/mca/mtl/mtl.h"'),
    ("pmcore/tools/pmtest/a.c", '"pm_device.h"'),
    ("pmcore/tools/pmtest/a.c", '"pmcore/channel/channel.h"'),
    ("pmcore/include/pm.h", '"pmcore/util/list.h"'),
    ("pm-udp/a.c", '"udp.h"'),
    ("pm-udp/a.c", '"pm-udp/../pmcore/util/list.h"'),
    ("pm-udp/a.c", '"pmcore/util/no_such.h"'),
])
def test_layers_reports(tree, name, include):
    write(tree, name, f"{C_HEAD}#include {include}\n")
    assert_reported(tree, "layers", f"{name}:2:", include)


@pytest.mark.parametrize("name, include", [
    ("pmcore/api/a.c", '"pmcore/channel/channel.h"'),
    ("pmcore/api/a.c", '"pmcore/device/registry.h"'),
    ("pmcore/channel/a.c", '"pmcore/wire/pm_wire.h"'),
    ("pmcore/channel/a.c", '"pm_device.h"'),
    ("pmcore/channel/a.c", "<string.h>"),
    ("pmcore/device/registry.c", '"pm-udp/udp.h"'),
    ("pmcore/device/chanlink.c", '"pmcore/channel/channel.h"'),
    ("pm-udp/a.c", '"pm-udp/udp.h"'),
    ("pm-udp/a.c", "<sys/socket.h>"),
    ("pm-ethernet/a.c", '"pm-ethernet/frame.h"'),
    ("pm-ethernet/bpf/a.bpf.c", '"pm-ethernet/bpf/maps.h"'),
    ("pm-ethernet/bpf/maps.h", '"pm-ethernet/frame.h"'),
    ("pm-ethernet/daemon/a.c", '"pm-ethernet/daemon/port.h"'),
    ("pm-ethernet/daemon/a.c", '"pm-ethernet/bpf/maps.h"'),
    ("pm-verbs/conn/a.c", '"pm-verbs/hw/qp.h"'),
    ("pm-verbs/data/a.c", '"pm-verbs/conn/life.h"'),
    ("pm-verbs/a.c", '"pm-verbs/data/tx.h"'),
    ("pm-verbs/datagram/a.c", '"pm-verbs/hw/qp.h"'),
    ("mpi-glue/mtl/a.c", '"ompi/mca/mtl/mtl.h"'),
    ("mpi-glue/mtl/a.c", '"mpi-glue/common/match.h"'),
    ("pmcore/tools/pmtest/a.c", '"pmcore/tools/common/opts.h"'),
    ("tests/unit/a_test.c", '"pmcore/channel/channel.h"'),
])
def test_layers_allows(tree, name, include):
    write(tree, name, f"{C_HEAD}#include {include}\n")
    code, output = lint(tree, "layers")
    assert code == 0, output


@pytest.mark.parametrize("name, line, found", [
    ("configs/a.py", "import _socket", "_socket"),
    ("configs/a.py", "import os, _thread as threads", "_thread"),
    ("configs/a.py", "from _json import make_scanner", "_json.make_scanner"),
    ("configs/a.py", "from ctypes import _SimpleCData", "ctypes._SimpleCData"),
    ("configs/a.py", "def f():\n    from . import _part", "_part"),
    ("scheduler/ctl/scorelink/frames.py", "import socket", "socket: bytes in, bytes out"),
    ("scheduler/ctl/scorelink/seal.py", "from asyncio import run", "asyncio.run: bytes in, bytes out"),
])
def test_imports_reports(tree, name, line, found):
    write(tree, name, f"{HASH_HEAD}{line}\n")
    assert_reported(tree, "imports", f"{name}:{2 + line.count(chr(10))}: ", found)


@pytest.mark.parametrize("name, line", [
    ("configs/a.py", "from __future__ import annotations"),
    ("configs/a.py", "import socket as _socket"),
    ("configs/a.py", "from . import part"),
    ("scheduler/ctl/scorelink/link.py", "import socket"),
    ("scheduler/ctl/scorelink/frames.py", "import json"),
])
def test_imports_allows(tree, name, line):
    write(tree, name, f"{HASH_HEAD}{line}\n")
    code, output = lint(tree, "imports")
    assert code == 0, output


def test_length_reports_line_601(tree):
    write(tree, "pm-udp/long.c", C_HEAD + "\n" * 599)
    assert lint(tree, "length")[0] == 0
    write(tree, "pm-udp/long.c", C_HEAD + "\n" * 600)
    assert_reported(tree, "length", "pm-udp/long.c", "601 lines")


@pytest.mark.parametrize("name", ["pm-udp/a.c", "tests/a.py", "tests/a.sh"])
def test_licence_reports(tree, name):
    write(tree, name, "x\n")
    assert_reported(tree, "licence", f"{name}:1:")


@pytest.mark.parametrize("name, head", [("pm-udp/a.c", H_HEAD), ("pm-udp/a.h", C_HEAD)])
def test_licence_reports_the_other_comment(tree, name, head):
    write(tree, name, head)
    assert_reported(tree, "licence", f"{name}:1: begin with")


@pytest.mark.parametrize("line", ["/* {} */", "\t/* {} */", " * {}", "// {}", "int a; /* {} */"])
def test_columns_reports_column_101(tree, line):
    write(tree, "pm-udp/a.c", C_HEAD + line.format("x" * (100 - len(line.format("").expandtabs(8)))) + "\n")
    assert lint(tree, "columns")[0] == 0
    write(tree, "pm-udp/a.c", C_HEAD + line.format("x" * (101 - len(line.format("").expandtabs(8)))) + "\n")
    assert_reported(tree, "columns", "pm-udp/a.c:2: a comment of 101 columns")


def test_columns_allows_rows_and_code(tree):
    write(tree, "pm-udp/a.c", C_HEAD + " *   term     " + "x" * 100 + "\nint " + "a" * 100 + ";\n")
    assert lint(tree, "columns")[0] == 0


@pytest.mark.parametrize("mark", ["TO" "DO", "FIX" "ME", "X" "XX", "not " "implemented"])
def test_unfinished_reports(tree, mark):
    write(tree, "pm-udp/a.c", f"{C_HEAD}/* {mark}: later */\n")
    assert_reported(tree, "unfinished", "pm-udp/a.c:2:")


def build_libpm(tree, source, libraries=()):
    (tree / "build").mkdir(exist_ok=True)
    write(tree, "build/config.mk", "")
    write(tree, "build/pm.c", source)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", "build/libpm.so", "build/pm.c", "-Wl,--no-as-needed",
                    *libraries], cwd=tree, check=True)


def test_symbols_compares_both_ways(tree):
    write(tree, "pmcore/libpm.map", "PM_0.1 {\n\tglobal:\n\t\tpmOne; # first\n\tlocal: *;\n};\n")
    build_libpm(tree, "int pmOne(void) { return 1; }\n")
    assert lint(tree, "symbols") == (0, "")
    build_libpm(tree, "int pmTwo(void) { return 1; }\n")
    assert_reported(tree, "symbols", "pmOne", "does not define")
    assert_reported(tree, "symbols", "pmTwo", "not listed")


def test_symbols_reports_more_than_libc(tree):
    write(tree, "pmcore/libpm.map", "{ global: pmOne; local: *; };\n")
    build_libpm(tree, "int pmOne(void) { return 1; }\n", ["-lm"])
    assert_reported(tree, "symbols", "libm.so.6")


def compile_all(tree, sources):
    """Objects of sources, where a build has them."""
    for name, text in sources.items():
        write(tree, name, C_HEAD + text)
        target = tree / "build/obj" / name.replace(".c", ".o")
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["gcc", "-c", "-o", target, tree / name], timeout=60, check=True)


CIRCLE = {"scheduler/x/a.c": "void b(void); void a(void) { b(); }\n",
          "scheduler/x/b.c": "void c(void); void b(void) { c(); }\n",
          "scheduler/x/c.c": "void a(void); void c(void) { a(); }\n",
          "scheduler/x/top.c": "void a(void); void top(void) { a(); }\n",
          "scheduler/x/leaf.c": "void leaf(void) { }\n",
          "scheduler/y/far.c": "void top(void); void far(void) { top(); }\n"}


def test_circles_reports_one_that_is_larger_than_its_ceiling(tree):
    compile_all(tree, CIRCLE)
    write(tree, "mk/circles", "scheduler/x 2\n")
    assert_reported(tree, "circles", "scheduler/x: 3 files", "2 may: a.c b.c c.c")


def test_circles_wants_ceilings_that_are_no_higher_than_needed(tree):
    compile_all(tree, CIRCLE)
    write(tree, "mk/circles", "# remark\nscheduler/x 4\nscheduler/z 2\n")
    assert_reported(tree, "circles", "lower its 4")
    assert_reported(tree, "circles", "scheduler/z has no sources")
    write(tree, "mk/circles", "scheduler/x 3\n")
    code, output = lint(tree, "circles")
    assert code == 0, output


def test_circles_of_a_part_that_was_not_built_may_be_smaller(tree):
    compile_all(tree, CIRCLE)
    (tree / "build/obj/scheduler/x/b.o").unlink()
    write(tree, "mk/circles", "scheduler/x 3\n")
    code, output = lint(tree, "circles")
    assert code == 0, output


@pytest.mark.parametrize("name, text, language", [
    ("pmcore/include/pm.h", "int pmOne(struct a *class);\n", "c++"),
    ("pmcore/include/pm.h", "size_t pmOne(void);\n", "c)"),
    ("pmcore/util/ring.h", "uint64_t ring_head(void);\n", "c)"),
])
def test_headers_reports(tree, name, text, language):
    write(tree, name, H_HEAD + text)
    assert_reported(tree, "headers", name, language)


@pytest.mark.parametrize("before, is_judged_there", [("/* the ring */\n", True), ("#define uint64_t int\n", False)])
def test_headers_leaves_those_to_the_compiler_that_a_source_includes_first(tree, before, is_judged_there):
    write(tree, "pmcore/util/ring.h", H_HEAD + "uint64_t ring_head(void);\n")
    write(tree, "pmcore/util/ring.c", before + '#include "pmcore/util/ring.h"\n')
    code, output = lint(tree, "headers")
    assert (code == 0) is is_judged_there, output


def need(*tools):
    if not any(shutil.which(tool) for tool in tools):
        pytest.skip(f"{tools[0]} is not installed")


def test_shell_reports_unquoted(tree):
    need("shellcheck")
    write(tree, "tests/a.sh", f"#!/bin/sh\n{HASH_HEAD}rm $1\n")
    assert_reported(tree, "shell", "tests/a.sh:3:")


def test_shell_finds_scripts_by_their_first_line(tree):
    need("shellcheck")
    write(tree, "tests/lab/demo", f"#!/bin/sh\n{HASH_HEAD}rm $1\n")
    assert_reported(tree, "shell", "tests/lab/demo:3:")


def test_python_reports_unused_import(tree):
    need("flake8", "ruff")
    write(tree, "configs/a.py", f"{HASH_HEAD}import os\n")
    assert_reported(tree, "python", "configs/a.py:2:", "F401")


def test_format_reports_once_per_file(tree):
    need("clang-format")
    if "clang-format 14" in lint(tree, "format")[1]:
        pytest.skip("clang-format is not the tree's version")
    write(tree, "pm-udp/a.c", f"{C_HEAD}int  a;\nint  b;\n")
    code, output = lint(tree, "format")
    assert code == 1 and len(output.splitlines()) == 1, output
    assert "pm-udp/a.c:2:" in output


def test_man_reports_a_broken_page(tree):
    need("mandoc")
    write(tree, "pmcore/man/pmOne.3", "no macros at all\n.Xx\n.Bl\n.El\n.Ed\n")
    assert_reported(tree, "man", "pmcore/man/pmOne.3")


def test_man_reports_an_alias_of_nothing(tree):
    need("mandoc")
    write(tree, "pmcore/man/pmTwo.3", ".so man3/pmNone.3\n")
    assert_reported(tree, "man", "pmNone.3")


def test_man_reports_calls_and_commands_without_a_page(tree):
    need("mandoc")
    write(tree, "pmcore/libpm.map", "{ global: pmOne; local: *; };\n")
    write(tree, "pmcore/tools/pmstat/main.c", C_HEAD)
    assert_reported(tree, "man", "pmOne.3")
    assert_reported(tree, "man", "pmstat.1")


# {} stands for the word that hides the subject.
@pytest.mark.parametrize("word", ["Who", "What", "Whose"])
@pytest.mark.parametrize("name, text", [
    ("pmcore/util/a.c", C_HEAD + "/* {} is read first. */\n"),
    ("pmcore/util/a.c", C_HEAD + "/*\n * a - a list. {} reads it\n * takes the lock.\n */\n"),
    ("pmcore/util/a.c", C_HEAD + "// {} list it is.\n"),
    ("tools/a.py", HASH_HEAD + '"""Reads. {} is read counts."""\n'),
    ("tools/a.py", HASH_HEAD + "X = 1  # {} it is\n"),
    ("mk/a.mk", HASH_HEAD + "# {} several programs share\n"),
    ("docs/a.md", "# A\n\n- one\n- {} follows is\n  said twice.\n"),
    ("pmcore/man/a.3", ".Dd x\n{} it does.\n"),
])
def test_subjects_reports(tree, name, text, word):
    write(tree, name, text.format(word))
    assert_reported(tree, "subjects", name, f"name the subject: {word}")


@pytest.mark.parametrize("name, text", [
    ("pmcore/util/a.c", C_HEAD + "/* Who reads it? The reader. */\nstatic const char *a = \"What is this.\";\n"),
    ("docs/a.md", "# A\n\nIt does what is asked.\n\n    What is code.\n\n`What` is a word.\n"),
])
def test_subjects_allows(tree, name, text):
    write(tree, name, text)
    code, output = lint(tree, "subjects")
    assert code == 0, output


@pytest.mark.parametrize("name, text", [
    ("docs/a.md", "# A\n\nSee `pmcore/util/gone.h`.\n"),
    ("pmcore/util/a.c", C_HEAD + "/* As pmcore/util/gone.h has it. */\n"),
    ("mk/a.mk", HASH_HEAD + "# see pmcore/util/gone.h\n"),
])
def test_paths_reports(tree, name, text):
    write(tree, name, text)
    assert_reported(tree, "paths", name, "no file pmcore/util/gone.h")


@pytest.mark.parametrize("text", [
    "`pmcore/util/a.c` and `pmcore/util/NAME.h`", "`/usr/lib/pmcore/util/gone.h`", "`elsewhere/gone.h`",
    "`$BUILD/pmcore/util/gone.h`", "`pmcore/util/*.h`",
])
def test_paths_allows(tree, text):
    write(tree, "pmcore/util/a.c", C_HEAD)
    write(tree, "docs/a.md", f"# A\n\n{text}\n")
    code, output = lint(tree, "paths")
    assert code == 0, output


LONGEST = " ".join(["A"] + ["word"] * 34)  # a sentence may have as many words


# {} stands for a sentence that is one word too short to be reported.
@pytest.mark.parametrize("name, text", [
    ("pmcore/util/a.c", C_HEAD + "/* Short. {} more. */\n"),
    ("pmcore/util/a.c", C_HEAD + "/*\n * a - a list. {}\n * over two lines.\n */\n"),
    ("pmcore/util/a.c", C_HEAD + "// {}\n// over two lines\n"),
    ("pmcore/util/a.c", C_HEAD + "static int a; // {} more\n"),
    ("pmcore/util/a.c", C_HEAD + "/*\n * Cases:\n *   one  {}\n *        over two lines\n */\n"),
    ("tools/a.py", HASH_HEAD + '"""Reads. {} more."""\n'),
    ("tools/a.py", HASH_HEAD + 'def a():\n    """{}\n    over two lines."""\n'),
    ("tools/a.py", HASH_HEAD + "X = 1  # {}\n       # over two lines\n"),
    ("tools/a", "#!/bin/sh\n" + HASH_HEAD + "# {} more\n"),
    ("mk/a.mk", HASH_HEAD + "# {} more\n"),
    ("docs/a.md", "# A\n\n- one\n- {}\n  over two lines.\n"),
    ("docs/a.md", "# A\n\n| a | b |\n|---|---|\n| one | {} more |\n"),
    ("pmcore/man/a.3", ".Dd x\n{}\n.Nm pm\nover two lines.\n"),
])
def test_sentences_reports(tree, name, text):
    write(tree, name, text.format(LONGEST))
    assert_reported(tree, "sentences", name, "words in a sentence: A word word")


@pytest.mark.parametrize("name, text", [
    ("pmcore/util/a.c", C_HEAD + "/*\n * {}.\n * {}! {}? {}\n *\n * {}\n */\n"),
    ("pmcore/util/a.c", C_HEAD + "/* ({}.) {}: */\nstatic const char *a = \"/* {} {} */\";\n"),
    ("pmcore/util/a.c", C_HEAD + "/*\n * {}\n *   one  {}\n *   two  {}\n * {}\n */\n"),
    ("pmcore/util/a.c", C_HEAD + "/*\n * - {}\n * - {}\n * 1. {}\n */\n"),
    ("tools/a.py", HASH_HEAD + "X = 1  # {}\nY = 2  # {}\n"),
    ("tools/a.py", HASH_HEAD + 'X = """{} {}"""\nY = "# {} {}"\n'),
    ("docs/a.md", "# {}\n\n- {}\n- {}\n\n| {} | {} |\n\n    {} {}\n\n{} `{}`\n"),
    ("pmcore/man/a.3", ".Dd x\n{}\n.Pp\n{}\n.Xr a 3 .\n{}\n.Bd -literal\n{} {}\n.Ed\n{}\n.Nm {}\n"),
])
def test_sentences_allows(tree, name, text):
    write(tree, name, text.replace("{}", LONGEST))
    code, output = lint(tree, "sentences")
    assert code == 0, output


@pytest.mark.parametrize("link, says", [
    ("[b](b.md)", "no file b.md"),
    ("[b](../x/b.md)", "no file ../x/b.md"),
    ("[a](#else)", "no heading for #else"),
    ("[c](c.md#else)", "no heading for #else in docs/c.md"),
])
def test_links_reports(tree, link, says):
    write(tree, "docs/c.md", "# Something\n")
    write(tree, "docs/a.md", f"# A\n\n{link}\n")
    assert_reported(tree, "links", "docs/a.md", says)


def test_links_allows(tree):
    write(tree, "docs/c.md", "# Something of `all` - and more\n")
    write(tree, "docs/a.md", "# A\n\n[c](c.md#something-of-all---and-more) [here](#a) [up](../docs) "
                             "[far](https://example.org/x) `[code](none.md)`\n")
    code, output = lint(tree, "links")
    assert code == 0, output


def test_tap_output_counts_the_rules(tree):
    write(tree, "pm-udp/a.c", "int  a;\n")
    code, output = lint(tree, "--tap", "licence", "layers")
    assert code == 1
    assert "not ok 1 - licence" in output and "ok 2 - layers" in output and "1..2" in output


def test_unknown_rule_is_refused(tree):
    code, output = lint(tree, "nonsense")
    assert code == 2 and "layers" in output

# SPDX-License-Identifier: BSD-3-Clause
"""Every header compiles alone as C; those for applications as C++ too. The compiler judges an internal header already
where it is the first thing that a source includes."""
import re
import shutil
import subprocess

from lintlib.tree import Skip, need

PUBLIC = "pmcore/include/"
COMMON = ["-fsyntax-only", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror",
          "-Ipmcore/include", "-I.", "-", "-include"]
# ISO C wants something in a translation unit, and a public header may be empty of declarations.
UNIT = "typedef int header_alone;\n"
C = ["gcc", "-x", "c", "-std=gnu11", "-D_GNU_SOURCE", "-Wno-unused-function"]
PUBLIC_C = ["gcc", "-x", "c", "-std=c11", "-pedantic"]
PUBLIC_CXX = ["-x", "c++", "-std=c++11", "-pedantic"]
DIRECTIVE = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
FIRST = re.compile(r'#include "([^"]+)"')


def needs_other_headers(tree, name):
    """Headers of MPI programs, of the Open MPI component, of its tests and of BPF need more than a C compiler."""
    tested = name.removeprefix("tests/unit/")
    is_glue = tested.startswith("mpi-glue/") and not tested.startswith("mpi-glue/common/")
    return is_glue or name.endswith(".bpf.h") or "#include <mpi.h>" in tree.text(name)


def first_included(tree):
    """The headers before which a source says nothing to the preprocessor."""
    directives = (DIRECTIVE.search(tree.text(name)) for name in tree.c_files() if name.endswith(".c"))
    found = (FIRST.match(directive[0]) for directive in directives if directive)
    return {first[1] for first in found if first}


def include_options():
    """Where the libraries lie that internal headers may include; none without pkg-config or without them."""
    try:
        done = subprocess.run(["pkg-config", "--cflags-only-I", "pmix", "hwloc"], capture_output=True, text=True,
                              check=False)
    except FileNotFoundError:
        return []
    return done.stdout.replace("-I", "-isystem ").split()


def check(tree):
    need("gcc")
    cxx = shutil.which("g++") or shutil.which("clang++")
    if not cxx:
        raise Skip("install g++")
    commands = []
    internal, judged = C + include_options(), first_included(tree)
    for name in tree.headers():
        if name.startswith(PUBLIC):
            commands.append(PUBLIC_C + COMMON + [name])
            commands.append([cxx] + PUBLIC_CXX + COMMON + [name])
        elif name not in judged and not needs_other_headers(tree, name):
            commands.append(internal + COMMON + [name])
    for command, (output, code) in zip(commands, tree.run_all(commands, UNIT)):
        if code:
            first = next((s for s in output.splitlines() if "error" in s), output.strip())
            yield f"{command[-1]}: does not compile alone ({command[2]}): {first}"

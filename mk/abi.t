#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""libpm has the ABI of the last release, and mk/abi would say when it had not. Changes of pm.h are tried on libraries
of pmcore/api alone, where all public calls are. TAP."""
import functools
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMPILER = shlex.split(os.environ.get("CC", "gcc"))
HANDLE = "typedef struct pmHandle {\n\tuint64_t word[4];\n"
OPTIONS = "\tpmNode self; "
LAST_OPTION = "\tvoid *resolver_arg;\n"


def compare(library):
    return subprocess.run([ROOT / "mk/abi", library], capture_output=True, text=True, check=False)


def replace(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{path.name} has no {old!r}: write the test anew"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@functools.cache
def objects(work, header):
    """Those of the public calls, after one replacement in pm.h."""
    place = pathlib.Path(tempfile.mkdtemp(dir=work))
    shutil.copytree(ROOT / "pmcore/include", place / "include")
    replace(place / "include/pm.h", *header)
    command = [*COMPILER, "-std=gnu11", "-g", "-O0", "-fPIC", "-c", "-D_GNU_SOURCE", '-DPM_VERSION="test"',
               f"-I{place}/include", f"-I{ROOT}", *sorted((ROOT / "pmcore/api").glob("*.c"))]
    subprocess.run(command, check=True, timeout=120, cwd=place)
    return sorted(place.glob("*.o"))


def variant(work, name, header=("", ""), symbols=("", ""), soname=None):
    """A libpm.so of the public calls, after one replacement in pm.h and one in the list of symbols."""
    released = re.search("soname='([^']*)'", (ROOT / "pmcore/libpm.abi").read_text(encoding="utf-8"))[1]
    place = pathlib.Path(work) / name
    place.mkdir()
    shutil.copy(ROOT / "pmcore/libpm.map", place)
    replace(place / "libpm.map", *symbols)
    command = [*COMPILER, "-shared", f"-Wl,-soname,{soname or released}", f"-Wl,--version-script={place}/libpm.map",
               "-o", place / "libpm.so", *objects(work, header)]
    subprocess.run(command, check=True, timeout=120)
    return place / "libpm.so"


def results(library, work):
    """(whether it is well, name) of each test."""
    done = compare(library)
    yield done.returncode == 0, f"libpm has the ABI of the last release {done.stdout + done.stderr}"
    done = compare(variant(work, "same"))
    yield done.returncode == 0, f"the public calls alone have it {done.stdout + done.stderr}"
    done = compare(variant(work, "member", header=(HANDLE, HANDLE.replace("[4]", "[5]"))))
    yield done.returncode == 1 and "pmHandle" in done.stdout, "a struct that has grown is an error"
    done = compare(variant(work, "order", header=(OPTIONS, "\tuint32_t more;\n" + OPTIONS)))
    yield done.returncode == 1 and "pmOptions" in done.stdout, "a member between others is an error"
    done = compare(variant(work, "gone", symbols=("\tpmCork;\n", "")))
    yield done.returncode == 1 and "pmCork" in done.stdout, "a call that is gone is an error"
    done = compare(variant(work, "argument", header=("uint32_t pmContext;", "uint64_t pmContext;")))
    yield done.returncode == 1 and "pmCork" in done.stdout, "another type of an argument is an error"
    done = compare(variant(work, "later", header=(LAST_OPTION, LAST_OPTION + "\tuint64_t more;\n")))
    yield done.returncode == 0, f"pmOptions may grow at its end: its size tells {done.stdout}"
    done = compare(variant(work, "version", header=(HANDLE, HANDLE.replace("[4]", "[5]")), soname="libpm.so.next"))
    yield done.returncode == 0 and "libpm.so.next" in done.stderr, "another SOVERSION may have another ABI"
    done = compare(pathlib.Path(work) / "none.so")
    yield done.returncode == 1 and "none.so" in done.stderr, "a library that is not there is an error"


def main():
    library = pathlib.Path(os.environ.get("PM_BUILD", ROOT / "build")) / "libpm.so"
    done = compare(library)
    if done.returncode == 77:
        print(f"1..0 # SKIP {done.stderr.strip()}")
        return 0
    number = 0
    with tempfile.TemporaryDirectory() as work:
        for number, (is_well, name) in enumerate(results(library, work), 1):
            print(f"{'ok' if is_well else 'not ok'} {number} - {' '.join(name.split())}", flush=True)
    print(f"1..{number}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""make install and uninstall, below a directory of their own: modes, RUNPATH, units, what is left. TAP."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from systest import ROOT, Tap, private_build, told                      # noqa: E402

tap = Tap()


def make(build, goal, *settings, **more):
    words = ["make", "-s", "-C", ROOT, f"BUILD={build}", goal, *settings]
    return subprocess.run(words, capture_output=True, text=True, timeout=240, check=False, **more)


def environment(**more):
    """Without what make tells the programs that it starts."""
    return {**{name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}, **more}


def files(top):
    return sorted(os.path.join(directory, name) for directory, _, names in os.walk(top) for name in names)


def is_elf(path):
    if os.path.islink(path):
        return False
    with open(path, "rb") as f:
        return f.read(4) == b"\x7fELF"


def runpath(path):
    said = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True, timeout=60).stdout
    return re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", said)


def packaged(build, stage):
    """As a package of Debian installs it."""
    done = make(build, "install", f"DESTDIR={stage}", "PREFIX=/usr", env=environment())
    tap.ok(done.returncode == 0, "install with PREFIX=/usr", told(done))
    found = files(stage)
    multiarch = subprocess.run(["gcc", "-print-multiarch"], capture_output=True, text=True, check=True).stdout.strip()
    tap.ok(f"{stage}/usr/lib/{multiarch}/libpm.so.0" in found, "libraries lie in the directory of the architecture",
           str(found))
    named = {path: runpath(path) for path in found if is_elf(path) and not path.endswith((".bpf.o", ".a"))}
    tap.equal({path: dirs for path, dirs in named.items() if dirs}, {}, "no file has a RUNPATH")
    libraries = [path for path in named if ".so" in os.path.basename(path)]
    tap.equal([path for path in libraries if os.stat(path).st_mode & 0o111], [], "no library is executable")
    tap.ok(len(libraries) > 0, "there are libraries", str(found))
    tap.equal([path for path in found if path.endswith(".pyc")], [], "no compiled Python in a package")
    units = [path for path in found if path.endswith(".service")]
    for path in units:
        with open(path, encoding="utf-8") as f:
            text = f.read()
        tap.ok(re.search(r"^EnvironmentFile=-/etc/default/", text, re.M) and "=/etc/default" not in text,
               f"{os.path.basename(path)} starts without /etc/default", text)
    tap.ok(units, "there are units", str(found))


def made_first(stage):
    """Where nothing is built yet, as in a build of packages, install makes each file that it copies."""
    empty = f"{stage}.empty"
    words = ["make", "-n", "-C", ROOT, f"BUILD={empty}", "install", f"DESTDIR={stage}", "PREFIX=/usr"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, env=environment())
    tap.ok(done.returncode == 0, "install from nothing, as make would do it", told(done))
    copy = re.compile(rf"install -D -m \d+ ({re.escape(empty)}/\S+)")
    copied, others = set(copy.findall(done.stdout)), copy.sub("", done.stdout)
    tap.ok(copied, "it copies what is built", told(done))
    tap.equal([path for path in sorted(copied) if not re.search(rf"{re.escape(path)}(?![\w.])", others)], [],
              "and builds all that it copies")


def uninstalled(stage):
    """From a shell that has nothing: no build, no settings, no Open MPI in PATH."""
    empty = f"{stage}.build"
    words = ["make", "-s", "-C", ROOT, f"BUILD={empty}", "uninstall", f"DESTDIR={stage}", "PREFIX=/usr"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False,
                          env={"PATH": "/usr/bin:/bin"})
    tap.ok(done.returncode == 0, "uninstall from another shell", told(done))
    left = [os.path.join(directory, name) for directory, dirs, names in os.walk(stage) for name in dirs + names]
    tap.equal(left, [], "nothing is left, the component of Open MPI included")
    tap.ok(not os.path.exists(empty), "it builds nothing")
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, env={"PATH": "/usr/bin:/bin"})
    tap.ok(done.returncode != 0 and "nothing is known to be installed" in done.stderr,
           "a second uninstall says that there is nothing", told(done))


def elsewhere(build, prefix):
    """Where the loader does not look, programs name the place; what was there before stays."""
    os.makedirs(f"{prefix}/share/man")
    with open(f"{prefix}/share/man/theirs", "w", encoding="utf-8"):
        pass
    done = make(build, "install", f"PREFIX={prefix}", env=environment())
    tap.ok(done.returncode == 0, "install with a prefix of one's own", told(done))
    tap.equal(runpath(f"{prefix}/bin/pmstat"), [f"{prefix}/lib"], "programs find their library there")
    done = subprocess.run([f"{prefix}/bin/pmstat", "--version"], capture_output=True, text=True, timeout=60,
                          check=False, env={"PATH": "/usr/bin:/bin"})
    tap.ok(done.returncode == 0, "and run", told(done))
    tap.ok(any(path.endswith(".pyc") for path in files(prefix)), "Python is compiled there")
    with open(f"{prefix}/bin/of-an-older-version", "w", encoding="utf-8"):
        pass
    with open(f"{prefix}/share/openscore/installed", "a", encoding="utf-8") as f:
        f.write(f"{prefix}/bin/of-an-older-version\n")
    done = make(build, "install", f"PREFIX={prefix}", env=environment())
    tap.ok(done.returncode == 0, "install over it", told(done))
    done = make(build, "uninstall", f"PREFIX={prefix}", env=environment())
    tap.ok(done.returncode == 0, "uninstall", told(done))
    tap.equal(files(prefix), [f"{prefix}/share/man/theirs"], "what was there before stays, and nothing else")


def main():
    top = tempfile.mkdtemp(prefix="install-")
    try:
        build = private_build(f"{top}/build")
        made_first(f"{top}/stage")
        packaged(build, f"{top}/stage")
        uninstalled(f"{top}/stage")
        elsewhere(build, f"{top}/opt")
    finally:
        shutil.rmtree(top)
    return tap.end()


sys.exit(main())

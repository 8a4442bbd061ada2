#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""debian/ against what is installed: each file is in one package, each file that a package names is there, and what
stands in both places is the same. Nothing is built: dpkg-buildpackage takes minutes and does the same. TAP."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from systest import BUILD, ROOT, Tap, private_build, told               # noqa: E402

tap = Tap()
DEBIAN = f"{ROOT}/debian"
# Each package has to have this, beside what its list says.
WANTED = {
    "libpm0": ["usr/lib/*/libpm.so.0"],
    "libpm-dev": ["usr/include/pm.h", "usr/lib/*/libpm.so", "usr/lib/*/pkgconfig/libpm.pc"],
    "openscore-mtl-openmpi": ["usr/lib/*/openmpi/**/mca_mtl_pm.so"],
    "openscore-ethernet": ["usr/sbin/pm-ethernetd", "usr/lib/openscore/*.bpf.o"],
    "openscore-scheduler": ["usr/sbin/scored", "usr/sbin/scnoded", "usr/sbin/scstepd", "usr/sbin/scremote"],
    "openscore-client": ["usr/bin/openscore-scrun", "usr/bin/openscore-scancel", "usr/bin/scout"],
    "openscore-tools": ["usr/bin/pmtest", "usr/bin/scconf"],
}


def text(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def lines(path):
    """Of a list of debhelper; none where there is no such list."""
    return [line for line in text(path).splitlines() if line and not line.startswith("#")] if os.path.exists(path) \
        else []


def not_sources(directory, names):
    return [name for name in names if name == ".git" or os.path.exists(f"{directory}/{name}/config.mk")]


def stage(top, build):
    """Installs as debian/rules does, from a copy of the tree: it writes beside itself."""
    shutil.copytree(ROOT, top, symlinks=True, dirs_exist_ok=True, ignore=not_sources)
    multiarch = subprocess.run(["gcc", "-print-multiarch"], capture_output=True, text=True, check=True).stdout.strip()
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    settings = f"SETTINGS=-s BUILD={build} PREFIX=/usr LIBDIR=/usr/lib/{multiarch} RUNPATH="
    words = ["make", "-s", "-C", top, "-f", "debian/rules", "override_dh_auto_install", settings]
    return subprocess.run(words, env=env, capture_output=True, text=True, timeout=240, check=False)


def matched(pattern, top):
    """The files below @top that a line of a list stands for."""
    found = set()
    for path in glob.glob(f"{top}/{pattern}", recursive=True):
        if os.path.isdir(path) and not os.path.islink(path):
            found |= {os.path.join(directory, name) for directory, _, names in os.walk(path) for name in names}
        else:
            found.add(path)
    return {os.path.relpath(path, top) for path in found}


def files(packages, top):
    """Each file in one package, and each line of a list for at least one file."""
    owners = {}
    for package in packages:
        for pattern in lines(f"{DEBIAN}/{package}.install"):
            found = matched(pattern, top)
            tap.ok(found, f"{package}: {pattern} is there", "nothing of that name is installed")
            for path in found:
                owners.setdefault(path, []).append(package)
    left_out = {path for pattern in lines(f"{DEBIAN}/not-installed") for path in matched(pattern, top)}
    tap.equal({path: who for path, who in owners.items() if len(who) > 1}, {}, "no file is in two packages")
    tap.equal(sorted(matched(".", top) - set(owners) - left_out), [], "each file is in a package")
    for package, patterns in WANTED.items():
        wrong = [pattern for pattern in patterns
                 if not matched(pattern, top) or any(owners.get(path) != [package] for path in matched(pattern, top))]
        tap.equal(wrong, [], f"{package} has what it is for")


def named_files(packages, top):
    """Files that lists of documents and examples name."""
    for package in packages:
        for kind in ("docs", "examples"):
            for pattern in lines(f"{DEBIAN}/{package}.{kind}"):
                tap.ok(glob.glob(f"{top}/{pattern}"), f"{package}.{kind}: {pattern} is there")


def units(packages, top):
    found = sorted(os.path.basename(path) for path in glob.glob(f"{top}/debian/*.service"))
    tap.equal([unit.split(".")[0] in packages for unit in found], [True] * 3, "three units, each of a package")
    tap.equal(sorted(lines(f"{DEBIAN}/clean")), [f"debian/{unit}" for unit in found], "clean removes them")


def spec(top):
    """The packages of RPM name each file as well, but for the component, which its distributions can't build."""
    macros = {"_bindir": "usr/bin", "_sbindir": "usr/sbin", "_libdir": "usr/lib/*", "_includedir": "usr/include",
              "_mandir": "usr/share/man", "_datadir": "usr/share", "_unitdir": "usr/lib/systemd/system",
              "_prefix": "usr", "soversion": "0", "_libexecdir": "usr/libexec"}
    body = text(f"{ROOT}/packaging/openscore.spec").split("\n%files", 1)[1].split("\n%changelog", 1)[0]
    wanted = [re.sub(r"%{(\w+)}", lambda m: macros[m[1]], line) for line in re.findall(r"^%{_\S+$", body, re.M)]
    found = set().union(*(matched(pattern.rstrip("/"), top) for pattern in wanted))
    kept = {path for path in matched(".", top)
            if not path.startswith(("etc/", "usr/share/openmpi/")) and path != "usr/share/openscore/installed"}
    tap.equal(sorted(kept - found), [], "each file is in a package of the spec")


def agreement():
    version = re.search(r"^VERSION\s*:=\s*(\S+)$", text(f"{ROOT}/mk/version.mk"), re.M)[1]
    tap.ok(text(f"{DEBIAN}/changelog").startswith(f"openscore ({version})"), "the changelog has the version of mk")
    found = re.findall(r"^Version:\s*(\S+)$", text(f"{ROOT}/packaging/openscore.spec"), re.M)
    tap.equal(found, [version], "so has the spec")
    recipe = f"{ROOT}/packaging/spack/packages/openscore/package.py"
    tap.equal(re.findall(r'^    version\("(.*)"\)$', text(recipe), re.M), [version], "and the recipe of Spack")
    compile(text(recipe), recipe, "exec")
    exported = re.findall(r"^\t(pm\w+);$", text(f"{ROOT}/pmcore/libpm.map"), re.M)
    symbols = re.findall(r"^ (pm\w+)@PM_0\.1 ", text(f"{DEBIAN}/libpm0.symbols"), re.M)
    tap.equal(symbols, sorted(exported), "the symbols are those of libpm.map")
    shared = re.search(r"^SHARED_NAMES = (.*)$", text(f"{DEBIAN}/rules"), re.M)[1]
    for script in ("preinst", "postinst", "prerm"):
        tap.ok(f"for name in {shared}; do" in text(f"{DEBIAN}/openscore-client.{script}"),
               f"openscore-client.{script} has the names that rules has")


def main():
    if missing := [tool for tool in ("/usr/share/dpkg/architecture.mk", f"{BUILD}/mca/mca_mtl_pm.so",
                                     f"{BUILD}/bin/pm-ethernetd", f"{BUILD}/bin/scored") if not os.path.exists(tool)]:
        print(f"1..0 # SKIP not all that is packaged can be built here: no {missing[0]}")
        return 0
    packages = re.findall(r"^Package: (\S+)$", text(f"{DEBIAN}/control"), re.M)
    top = tempfile.mkdtemp(prefix="packages-")
    build = tempfile.mkdtemp(prefix="packages-build-")
    try:
        done = stage(top, private_build(f"{build}/build"))
        tap.ok(done.returncode == 0, "debian/rules installs", told(done))
        files(packages, f"{top}/debian/tmp")
        named_files(packages, top)
        units(packages, top)
        spec(f"{top}/debian/tmp")
    finally:
        shutil.rmtree(top)
        shutil.rmtree(build)
    agreement()
    return tap.end()


sys.exit(main())

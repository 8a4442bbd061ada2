#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Finds out what this machine offers and writes it as make variables; says in one line what is
# skipped and which package would bring it. Knows no source file: what a program needs stands in
# its libs.mk (NAME_NEEDS = pkg-config names or headers).
# usage: mk/probe.sh OUTPUT [LIBS_MK...]
set -eu

out=$1
shift
mkdir -p "$(dirname "$out")"
tmp=$out.$$
trap 'rm -f "$tmp"' EXIT
: >"$tmp"

# The Debian package that brings a pkg-config name or a header.
package_of() {
	case $1 in
	pmix | pmix.h) echo libpmix-dev ;;
	jansson | jansson.h) echo libjansson-dev ;;
	ev.h) echo libev-dev ;;
	munge.h) echo libmunge-dev ;;
	nettle) echo nettle-dev ;;
	libsodium) echo libsodium-dev ;;
	sqlite3) echo libsqlite3-dev ;;
	ompi | mpi.h) echo libopenmpi-dev ;;
	*.h) echo "the package with $1" ;;
	*) echo "lib$1-dev" ;;
	esac
}

has() {
	case $1 in
	*.h) printf '#include <%s>\n' "$1" | ${CC:-gcc} -E -x c - >/dev/null 2>&1 ;;
	*) pkg-config --exists "$1" 2>/dev/null ;;
	esac
}

skip() { # WHAT, PACKAGE
	echo "skipped: $1 (install $2)"
}

# The same for the Open MPI component, which most of the suite is for: make says it again at its end.
skip_mtl() { # WHY
	echo "skipped: mtl/pm: $1"
	echo "MTL_MISSING := $1" >>"$tmp"
}

# Directories, or the -I words of pkg-config, as include directories whose headers are not ours to warn about.
as_system() { # DIRECTORIES
	for dir in "$@"; do
		printf ' -isystem %s' "${dir#-I}"
	done
}

# The directory below which Open MPI's internal headers lie, if they were installed.
ompi_internal() {
	for dir in $(mpicc --showme:incdirs); do
		for sub in "$dir" "$dir/openmpi"; do
			if [ -f "$sub/ompi/mca/mtl/mtl.h" ]; then
				echo "$sub"
				return
			fi
		done
	done
}

# The header that is missing for a component, if one is.
ompi_missing() { # FLAGS
	# shellcheck disable=SC2086  # a list of words
	printf '#include "%s"\n' ompi_config.h ompi/mca/mtl/mtl.h |
		LC_ALL=C ${CC:-gcc} $1 -E -x c - 2>&1 >/dev/null |
		sed -n 's/.*error: \(.*\): No such file.*/\1/p' | head -1
}

# The component of PMIx 5 without which Debian's Open MPI 5 looks for ours where PMIx keeps its own.
probe_pmdl() {
	# shellcheck disable=SC2046  # a list of words
	flags5=$(as_system $(pkg-config --cflags-only-I pmix 2>/dev/null))
	# shellcheck disable=SC2086  # a list of words
	if echo '#include "src/mca/pmdl/pmdl.h"' | ${CC:-gcc} $flags5 -E -x c - >/dev/null 2>&1; then
		echo "HAVE_PMDL := 1" >>"$tmp"
	fi
}

probe_ompi() {
	if ! command -v mpicc >/dev/null 2>&1; then
		skip_mtl "Open MPI is not installed (install libopenmpi-dev openmpi-bin)"
		return
	fi
	echo "HAVE_MPICC := 1" >>"$tmp"
	internal=$(ompi_internal)
	if [ -z "$internal" ]; then
		skip_mtl "Open MPI's internal headers are missing (install libopenmpi-dev)"
		return
	fi
	# shellcheck disable=SC2046  # lists of words
	flags=$(as_system $(mpicc --showme:incdirs) "$internal")
	# Open MPI 5 uses the machine's PMIx without naming it, and does not install all headers: ours stand for them.
	if [ -n "$(ompi_missing "$flags")" ]; then
		# shellcheck disable=SC2046  # a list of words
		flags="$flags$(as_system $(pkg-config --cflags-only-I pmix 2>/dev/null) mpi-glue/openmpi5)"
	fi
	missing=$(ompi_missing "$flags")
	if [ -n "$missing" ]; then
		skip_mtl "Open MPI has not installed $missing"
		return
	fi
	libs=$(pkg-config --libs pmix 2>/dev/null) || libs=-lpmix
	if [ -f "$internal/orte/mca/schizo/schizo.h" ]; then
		echo "HAVE_ORTE := 1" >>"$tmp"
		libs=-lopen-rte
	else
		probe_pmdl
	fi
	{
		echo "HAVE_OMPI := 1"
		echo "OMPI_CPPFLAGS :=$flags"
		echo "OMPI_LIBS := $(mpicc --showme:libdirs |
			sed 's/[^ ][^ ]*/-L&/g') -lmpi -lopen-pal $libs"
	} >>"$tmp"
}

probe_clang() {
	if ! command -v clang >/dev/null 2>&1; then
		skip "BPF programs and libFuzzer" clang
		return
	fi
	echo "HAVE_CLANG := 1" >>"$tmp"
	if find "$(clang -print-resource-dir)/lib" -name 'libclang_rt.fuzzer-*.a' 2>/dev/null |
		grep -q .; then
		echo "HAVE_LIBFUZZER := 1" >>"$tmp"
	fi
}

# pm-ethernetd, and the tests of the programs it loads into the kernel.
probe_ethernetd() {
	missing=
	command -v clang >/dev/null 2>&1 || missing=" clang"
	has libbpf || missing="$missing libbpf-dev"
	[ -n "$missing" ] || echo "HAVE_LIBBPF := 1" >>"$tmp"
	if has jansson; then
		echo "HAVE_JANSSON := 1" >>"$tmp"
	else
		missing="$missing $(package_of jansson)"
	fi
	[ -n "$missing" ] || return 0
	skip pm-ethernetd "${missing# }"
	echo "SKIP_TOOLS += pm-ethernetd" >>"$tmp"
}

# The headers only: the library is looked for when a context is opened.
probe_verbs() {
	if has infiniband/verbs.h; then
		echo "HAVE_VERBS := 1" >>"$tmp"
	else
		skip pm-verbs libibverbs-dev
	fi
}

# One program's libs.mk: every missing need is named, the program is left out once.
probe_tool() {
	name=$(basename "$(dirname "$1")")
	needs=$(sed -n "s/^${name}_NEEDS[[:space:]]*[:+?]*=//p" "$1")
	missing=
	for need in $needs; do
		has "$need" || missing="$missing $(package_of "$need")"
	done
	[ -n "$missing" ] || return 0
	skip "$name" "${missing# }"
	echo "SKIP_TOOLS += $name" >>"$tmp"
}

probe_ompi
probe_clang
probe_ethernetd
probe_verbs
for file in "$@"; do
	probe_tool "$file"
done
cmp -s "$tmp" "$out" || cp "$tmp" "$out"

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# From a fresh Debian 12 to a working suite: installs the packages that are missing, then calls
# make. Nothing else in the tree installs anything.
# usage: ./bootstrap.sh [deps|build|check|check-vm|check-vm-zerocopy|demo|bench]     (default: build)
# Exit status: of make; 1 when something can't be installed; 77 when check-vm-zerocopy can't get its kernel.
set -eu

# One package per line, with the reason.
packages() {
	sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' <<-'LIST'
		gcc                   # compiler
		g++                   # the public headers are tried from C++
		libc6-dev
		binutils              # nm, readelf: exported symbols
		make
		pkg-config
		clang                 # second compiler, libFuzzer
		libclang-rt-14-dev
		clang-format
		shellcheck
		flake8
		perl                  # prove
		python3
		python3-rich          # progress and tables of the Python programs
		python3-matplotlib    # plots of the bench report
		python3-pytest
		python3-hypothesis
		mandoc                # manual pages are checked
		libopenmpi-dev        # Open MPI with the headers for components
		openmpi-bin
		openssh-client        # mpirun looks for a remote shell
		hpcc                  # real MPI programs for the tests
		netpipe-openmpi
		libpmix-dev           # start-up of PM programs by a launcher
		libjansson-dev        # cluster.json
		libev-dev             # event loops of the launcher and scheduler
		libmunge-dev          # who sent a request
		munge
		libhwloc-dev          # binding of ranks to cores
		nettle-dev            # SHA-256 of files that are staged
		libsqlite3-dev        # the scheduler's journal
		sqlite3
		pdsh                  # a private cluster is started through it
		mpich                 # programs that speak PMI-1, for the tests
		libmpich-dev
		slurmctld             # a private cluster inside an allocation of Slurm, for the tests
		slurmd
		slurm-client
		libbpf-dev            # pm-ethernetd loads its programs into the kernel
		libibverbs-dev        # headers of RDMA; the library itself is looked for at run time
		iproute2              # the lab: namespaces, bridges, rates; rdma
		ethtool
		kmod
		procps
		util-linux
		qemu-system-x86       # virtual machines: real drivers for the tests
		busybox-static
		ibverbs-providers     # RDMA in them
		ibverbs-utils
		perftest
		valgrind              # instructions are counted
		linux-perf            # tests/bench/budget samples the cores
	LIST
}

die() {
	echo "bootstrap.sh: $*" >&2
	exit 1
}

is_installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Slurm's daemons do not start unless they are configured. Where they are, this is a host of a cluster, whose Slurm is its
# administrator's.
is_left_alone() {
	case $1 in slurm*) [ -e /etc/slurm/slurm.conf ] ;; *) false ;; esac
}

missing_packages() {
	for package in $(packages); do
		is_installed "$package" || is_left_alone "$package" || printf ' %s' "$package"
	done
}

install_missing() {
	command -v dpkg-query >/dev/null ||
		die "this is no Debian system; install these by your own means, then run make:" \
			"$(packages | tr '\n' ' ')"
	missing=$(missing_packages)
	[ -n "$missing" ] || return 0
	[ "$(id -u)" = 0 ] ||
		die "packages are missing:$missing; run as root: sudo ./bootstrap.sh deps"
	echo "installing:$missing"
	export DEBIAN_FRONTEND=noninteractive
	apt-get -q update || die "apt-get update failed: is the network up?"
	# shellcheck disable=SC2086  # a list of names
	apt-get -q -y install --no-install-recommends $missing ||
		die "apt-get could not install:$missing"
}

# What virtual machines boot is unpacked into the build directory, not installed: the kernel of this machine's
# own sources, which is what the suite has to do with. The tests do without it. One unpacked by an earlier version of
# this tree may lack modules.
fetch_kernel() {
	[ "$(uname -m)" = x86_64 ] || return 0
	tests/vm/kernel-fetch --is-whole build/vm/kernel || tests/vm/kernel-fetch build/vm/kernel ||
		echo "bootstrap.sh: tests with virtual machines will be skipped, in part or all"
}

# For check-vm-zerocopy: one whose virtio_net can do zero copy, which Debian 12 has not.
fetch_zerocopy_kernel() {
	[ "$(uname -m)" = x86_64 ] || give_up "virtual machines are for x86_64 only"
	tests/vm/kernel-fetch --is-whole build/vm/zerocopy && return 0
	echo "fetching a newer kernel for virtual machines (150 MB; nothing is installed)"
	why=$(tests/vm/kernel-fetch build/vm/zerocopy trixie-backports 2>&1 >/dev/null) ||
		give_up "check-vm-zerocopy needs Linux 7.0 or later in build/vm/zerocopy: $why"
}

give_up() {
	echo "bootstrap.sh: $*" >&2
	exit 77
}

# Open MPI 5 and PMIx 5, for tests/system/pmix5.t: unpacked as well.
fetch_debian13() {
	[ "$(uname -m)" = x86_64 ] && [ ! -e build/debian13/root ] || return 0
	tests/debian13/fetch build/debian13 ||
		echo "bootstrap.sh: tests with Open MPI 5 and PMIx 5 will be skipped"
}

# sshd, for tests/system/ssh.t: unpacked, as installed it would be started and listen.
fetch_sshd() {
	[ -x build/sshd/sshd ] || tests/ssh/fetch build/sshd ||
		echo "bootstrap.sh: the test with sshd will be skipped"
}

cd "$(dirname "$0")"
goal=${1:-build}
case $goal in
deps | build | check | check-vm | check-vm-zerocopy | demo | bench) ;;
*)
	echo "usage: ./bootstrap.sh [deps|build|check|check-vm|check-vm-zerocopy|demo|bench]" >&2
	exit 2
	;;
esac

install_missing
case $goal in
deps | check)
	fetch_kernel
	fetch_debian13
	fetch_sshd
	;;
check-vm) fetch_kernel ;;
check-vm-zerocopy) fetch_zerocopy_kernel ;;
esac
[ "$goal" = deps ] && exit 0
make -j"$(nproc)" all
[ "$goal" = build ] || exec make -j"$(nproc)" "$goal"

#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# From a fresh Debian 12 or 13 to a working suite: installs the packages of mk/packages that the goal wants and that are
# missing, then calls make. Nothing else in the tree installs anything. Installing needs root (with or without
# sudo); no service is started or enabled by it. A package that can't be had costs its part and one line here.
# usage: ./bootstrap.sh [build|check|check-short|check-other|check-vm|check-vm-zerocopy|demo|bench]     (default: build)
#        ./bootstrap.sh deps [GOAL]      (what that goal wants, else what any wants; nothing is built)
# Exit status: of make; 1 when a package is missing that the goal can't do without; 77 when check-vm-zerocopy can't get
# its kernel, or check-other no other Debian.
set -eu

# Of a shell that su(1) has made the directories for root are missing.
PATH=$PATH:/usr/sbin:/sbin
policy=/usr/sbin/policy-rc.d
policy_mark="written by OpenSCore's bootstrap.sh while it installs packages"
# Names of services that packages of the list bring and enable. The tests start their own.
services="munge slurmctld slurmd"

die() {
	echo "bootstrap.sh: $*" >&2
	exit 1
}

say() {
	echo "bootstrap.sh: $*" >&2
}

# The sets of mk/packages that a goal takes.
sets_of() {
	case $1 in
	build) echo build ;;
	demo) echo demo ;;
	check-short) echo build demo short ;;
	check-other) echo other ;;
	check-vm*) echo build check guests ;;
	check) echo build demo check guests ;;
	bench) echo build demo guests bench ;;
	deps) echo build demo check guests bench other ;;
	*) return 1 ;;
	esac
}

# Lines "PACKAGE !|- PART" of the goal's packages; "!" where it can't do without.
wanted() {
	awk -v goal="$(sets_of "$1")" '
		/^#/ || NF == 0 { next }
		{
			split(goal, of_goal, " ")
			count = split($2, sets, ",")
			need = ""
			for (i = 1; i <= count; i++)
				for (g in of_goal) {
					if (sets[i] == of_goal[g] "!")
						need = "!"
					if (sets[i] == of_goal[g] && need == "")
						need = "-"
				}
			if (need == "")
				next
			part = $0
			sub(/^[^ ]+ +[^ ]+ +/, "", part)
			print $1, need, part
		}' mk/packages
}

is_installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Slurm's daemons do not start unless they are configured. Where they are, this is a host of a cluster, whose Slurm is its
# administrator's.
is_left_alone() {
	case $1 in slurm*) [ -e /etc/slurm/slurm.conf ] ;; *) false ;; esac
}

# Of packages on standard input, those that are not installed.
missing() {
	while read -r package rest; do
		is_installed "$package" || is_left_alone "$package" || echo "$package${rest:+ $rest}"
	done
}

apt() {
	LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -q -o Acquire::http::Timeout=20 -o DPkg::Lock::Timeout=300 "$@"
}

# The last thing apt-get complained of.
reason() {
	grep '^E:' "$1" | tail -1 | sed 's/^E: //' | grep . || tail -1 "$1"
}

# Packages that this machine's sources have, of those given.
offered() {
	LC_ALL=C apt-cache policy "$@" | awk '/^[^ ]/ { sub(/:$/, ""); name = $0 } /Candidate: [^(]/ { print name }'
}

# invoke-rc.d and deb-systemd-invoke ask this file before they start a service. An administrator's own is left alone.
# Ours goes at the end; the next run takes away that of one that was killed.
forbid_starts() {
	[ ! -e "$policy" ] || grep -q "$policy_mark" "$policy" || return 0
	trap allow_starts EXIT
	trap 'exit 130' HUP INT TERM
	printf '#!/bin/sh\n# %s\nexit 101\n' "$policy_mark" >"$policy"
	chmod 755 "$policy"
}

allow_starts() {
	! grep -qs "$policy_mark" "$policy" || rm -f "$policy"
}

# Services of packages that we have just installed: not for this machine's next boot. The helper asks to be told the
# package in whose name it is called.
disable_services() { # SERVICE...
	for service in "$@"; do
		is_installed "$service" || continue
		DPKG_MAINTSCRIPT_PACKAGE=$service deb-systemd-helper disable "$service.service" >/dev/null ||
			say "cannot disable $service.service"
		[ ! -e "/etc/init.d/$service" ] || update-rc.d "$service" disable ||
			say "cannot disable /etc/init.d/$service"
	done
}

# All at once where that works. Where it does not, one after another, so that one at fault costs itself only.
install_packages() { # DIRECTORY of logs, PACKAGE...
	logs=$1
	shift
	apt -y install --no-install-recommends "$@" 2>"$logs/all" && return
	say "apt-get could not install all at once: $(reason "$logs/all")"
	for package in "$@"; do
		if [ -s "$logs/update" ]; then # no network: each would wait for it
			cp "$logs/all" "$logs/$package"
		else
			apt -y install --no-install-recommends "$package" >"$logs/$package" 2>&1 || true
		fi
	done
}

# One line for each package that is still missing, with its part.
tell_missing() { # DIRECTORY of logs
	fatal=
	while read -r package need part; do
		if [ -s "$1/$package" ]; then
			why=$(reason "$1/$package")
		elif [ "$(id -u)" != 0 ]; then
			why="only root can install it"
		elif [ -s "$1/update" ]; then
			why="$(reason "$1/update")"
		else
			why="this machine's package sources do not have it"
		fi
		if [ "$need" = ! ]; then
			say "package $package is missing ($why), and $goal needs it: $part"
			fatal="$fatal $package"
		else
			say "package $package is missing ($why): without it no $part"
		fi
	done
	[ -z "$fatal" ] || die "install as root, then run this again: apt-get install$fatal"
}

install_missing() {
	command -v dpkg-query >/dev/null ||
		die "this is no Debian system; install these by your own means, then run make:" \
			"$(wanted "$goal" | cut -d ' ' -f 1 | tr '\n' ' ')"
	[ "$(id -u)" != 0 ] || allow_starts
	lack=$(wanted "$goal" | missing)
	[ -n "$lack" ] || return 0
	logs=$(mktemp -d)
	if [ "$(id -u)" = 0 ]; then
		# shellcheck disable=SC2046  # a list of names
		install_as_root "$logs" $(echo "$lack" | cut -d ' ' -f 1)
	fi
	wanted "$goal" | missing >"$logs/lack"
	is_ready=yes
	(tell_missing "$logs") <"$logs/lack" || is_ready=
	rm -rf "$logs"
	[ -n "$is_ready" ] || exit 1
}

install_as_root() { # DIRECTORY of logs, PACKAGE...
	logs=$1
	shift
	if apt update --error-on=any >"$logs/update" 2>&1; then
		: >"$logs/update"
	else
		say "apt-get update failed ($(reason "$logs/update")); the lists of packages that are here have to do"
	fi
	packages=$(offered "$@")
	[ -n "$packages" ] || return 0
	# shellcheck disable=SC2086  # lists of names, here and below
	fresh=$(printf '%s\n' $services | missing)
	forbid_starts
	# shellcheck disable=SC2086
	echo "installing:" $packages
	# shellcheck disable=SC2086
	install_packages "$logs" $packages
	# shellcheck disable=SC2086
	disable_services $fresh
	allow_starts
}

# The kernel that virtual machines boot is unpacked into the build directory, not installed. It comes from the package
# sources of this machine, because the suite has to work with that kernel. Without it the tests that need virtual
# machines are skipped. A kernel that an earlier version of this tree unpacked may lack modules.
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
	[ "$(uname -m)" = x86_64 ] && [ ! -e build/debian13/system/usr/bin/mpirun.openmpi ] || return 0
	! pkg-config --atleast-version=5 pmix || return 0
	tests/debian13/fetch build/debian13 ||
		echo "bootstrap.sh: tests with Open MPI 5 and PMIx 5 will be skipped"
}

# sshd, for tests/system/ssh.t: unpacked, as installed it would be started and listen.
fetch_sshd() {
	[ -x build/sshd/sshd ] || tests/ssh/fetch build/sshd ||
		echo "bootstrap.sh: the test with sshd will be skipped"
}

# CRIU, for tests of checkpoints: Debian 12 and 13 have none.
fetch_criu() {
	[ -x build/criu/criu ] || tests/criu/fetch build/criu ||
		echo "bootstrap.sh: tests of checkpoints will be skipped"
}

usage() {
	echo "usage: ./bootstrap.sh [build|check|check-short|check-other|check-vm|check-vm-zerocopy|demo|bench] | deps [GOAL]" >&2
	exit 2
}

cd "$(dirname "$0")"
then=${1:-build}
goal=$then
[ $# -lt 2 ] || [ "$then" = deps ] || usage
[ $# -lt 2 ] || goal=$2
sets_of "$goal" >/dev/null || usage

install_missing
case $goal in
deps | check)
	fetch_kernel
	fetch_debian13
	fetch_sshd
	fetch_criu
	;;
check-vm) fetch_kernel ;;
check-vm-zerocopy) fetch_zerocopy_kernel ;;
check-other)
	[ "$then" = deps ] || exec tests/debian/check
	;;
esac
[ "$then" = deps ] && exit 0
make -j"$(nproc)" all
[ "$goal" = build ] || exec make -j"$(nproc)" "$goal"

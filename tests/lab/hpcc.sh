# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
# The demonstrations share this: HPC Challenge with small problems on a process grid of 2 x 2, and its judgement. Where hpcc
# is not installed, a program of the tests that checks its own data takes its place.
# To be sourced with these two set.
: "${here:?directory of the demonstration}" "${build:?directory of the build}"

# The program that 4 ranks are to run, by its path.
hpcc_program() {
	command -v hpcc || echo "$build/mpi/collectives"
}

hpcc_name() {
	if command -v hpcc >/dev/null; then
		echo "HPC Challenge"
	else
		echo "collective operations with checked data (hpcc is not installed)"
	fi
}

hpcc_prepare() { # DIRECTORY in which it will run
	rm -f "$1/hpccoutf.txt"
	cp "$here/hpccinf.txt" "$1/"
}

# Prints the figures; fails when a verification did.
hpcc_judge() { # DIRECTORY
	command -v hpcc >/dev/null || return 0
	grep -E '^(HPL_Tflops|HPL_N|PTRANS_GBs|PTRANS_residual|MPIRandomAccess_GUPs|MPIRandomAccess_ErrorsFraction|MPIFFT_Gflops|MPIFFT_maxErr|MaxPingPongLatency_usec|MinPingPongBandwidth_GBytes|Success)=' \
		"$1/hpccoutf.txt"
	if grep FAILED "$1/hpccoutf.txt" >&2 || ! grep -q '^Success=1' "$1/hpccoutf.txt"; then
		echo "demo: a verification of hpcc failed" >&2
		return 1
	fi
	echo "all verifications of hpcc passed ($(grep -c PASSED "$1/hpccoutf.txt") lines say so)"
}

// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/* The programs of pm_ethernet.bpf.c once more, for the ingress hook of tc (hook_tc.bpf.h). */
#define ETH_TC

#include "pm-ethernet/bpf/pm_ethernet.bpf.c"

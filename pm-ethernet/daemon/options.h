/* SPDX-License-Identifier: BSD-3-Clause */
/* options - the command line of pm-ethernetd. Knows no system but names and numbers. */
#ifndef PM_ETHERNET_DAEMON_OPTIONS_H
#define PM_ETHERNET_DAEMON_OPTIONS_H

#include <stddef.h>

#include "pm-ethernet/daemon/ethd.h"

#define ETHD_OPTIONS_HELP 1 /* --help or --version was given, and obeyed */

/* 0 and *ret complete, ETHD_OPTIONS_HELP, or -EINVAL with a sentence. */
int ethd_options_parse(int argc, char **argv, struct ethd_options *ret, char *why, size_t why_size);

#endif

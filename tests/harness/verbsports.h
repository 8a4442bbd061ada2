/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbsports - what contexts of one process use of this machine's RDMA ports. All that there are,
 * unless $TEST_VERBS_PORTS says, a word for each member, which are whose: then members meet by what
 * lies between the ports. $TEST_VERBS_FAULT is a command that breaks some of that meanwhile.
 */
#ifndef TESTS_HARNESS_VERBSPORTS_H
#define TESTS_HARNESS_VERBSPORTS_H

#include <stdbool.h>

#define VERBSPORTS_CONFIG 256

/*
 * Options for the context of each of @n members, @options among them; NULL, or why there are none.
 */
const char *verbsports_configs(unsigned int n, const char *options,
			       char (*ret_configs)[VERBSPORTS_CONFIG]);

/* Descriptors of RDMA devices and their events that this process has open. */
unsigned int verbsports_open(void);

bool verbsports_are_faulted(void);
/* Starts the command, if there is one. */
void verbsports_break(void);
/* Its standard input ends; returns when it has mended what it broke. */
void verbsports_mend(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ethhosts - hosts of namespaces with network cards, switches and a pm-ethernetd each, made once
 * per program. Contexts are opened from the test's own process by the daemons' sockets. All of it
 * hangs on processes that die with the test, so a crash leaves nothing but an empty directory.
 */
#ifndef TESTS_HARNESS_ETHHOSTS_H
#define TESTS_HARNESS_ETHHOSTS_H

#include <stdbool.h>

#define ETHHOSTS 3
#define ETHHOSTS_CONFIG 256

/*
 * Options for a context on each host, with ethernet.attach=@attach. NULL when they could be made,
 * else why not (not root, no daemon built). Hosts are made at the first call.
 */
const char *ethhosts_configs(const char *attach, char ret_configs[ETHHOSTS][ETHHOSTS_CONFIG]);

#endif

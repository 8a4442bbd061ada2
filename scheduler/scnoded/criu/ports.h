/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ports - the TCP addresses of a job, which a restore binds again. After the job's death the kernel
 * keeps one of each connection for a minute (TIME_WAIT), and nobody can bind it. Another program
 * may have it by now.
 */
#ifndef SCHEDULER_SCNODED_CRIU_PORTS_H
#define SCHEDULER_SCNODED_CRIU_PORTS_H

#include <netinet/in.h>
#include <stdbool.h>

#define PORTS_TEXT_MAX (INET6_ADDRSTRLEN + 16)

/*
 * Writes those of all processes in /proc, which is that of the job, to a file in directory @dir. 0
 * or -errno.
 */
int ports_write(int dir);
/*
 * Has the kernel forget what it keeps of ended connections at just these addresses. 0 or -errno.
 * @ret_taken: an address, as text, where the job listens and another program does now; "": none.
 * CRIU would bind it all the same, and nobody could tell who gets a connection.
 */
int ports_free(int dir, char ret_taken[PORTS_TEXT_MAX]);

#endif

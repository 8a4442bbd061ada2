/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dump - writes the processes of a job on this host, and its files in memory, into a directory. The
 * processes stand still meanwhile, and then go on. They have no connections that lead out of them.
 */
#ifndef SCHEDULER_SCNODED_CRIU_DUMP_H
#define SCHEDULER_SCNODED_CRIU_DUMP_H

#include <stdint.h>
#include <sys/types.h>

#include "scheduler/scnoded/criu/criu.h"

#define DUMP_LOG "dump.log"
#define DUMP_GHOST_BYTES "16777216" /* of a file without a name; as holdings are judged */

struct dump_order {
	const struct criu *criu;
	int images; /* directory, empty, mode 0700; it is read and written by its descriptor only */
	pid_t init; /* the host's number of process 1 of the job */
	uint64_t job;
	const char *host;
	const char *tmp; /* $TMPDIR of the job, as it sees it: a whole path */
};

/*
 * Blocks for seconds to minutes, and changes namespaces of its process. So it is called in a child
 * of scnoded, as root, which nobody kills: processes whose CRIU is killed are lost. CRIU goes on
 * and ends by itself without scnoded. NULL, or a sentence of the caller's, which tells whether the
 * processes may be lost.
 */
char *dump_job(const struct dump_order *order);

#endif

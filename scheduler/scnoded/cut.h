/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cut - files that a job writes, before it is restored from a checkpoint: what it has written since
 * is cut off, as it writes it again.
 */
#ifndef SCHEDULER_SCNODED_CUT_H
#define SCHEDULER_SCNODED_CUT_H

#include <sys/types.h>

#include "scheduler/scnoded/store/hostfile.h"

/*
 * As the job's user, by whose rights the files are opened: for a child of scnoded that ends then.
 * @host: this one; device numbers of another one's checkpoint mean nothing here. Files below @tmp
 * and /dev/shm are the job's own and in its images. NULL, or a sentence to be freed: a file is
 * another one than it was, or has lost what the job has written.
 */
char *cut_files(const struct hostfile *hostfile, const char *host, const char *tmp, uid_t uid,
		gid_t gid);

#endif

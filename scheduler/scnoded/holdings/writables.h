/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * writables - the files that a job writes, by what its processes hold. An image of CRIU does not
 * have their contents. A restart from an older image must cut each file to the size that it had.
 * Device and inode tell whether it is still the same file.
 */
#ifndef SCHEDULER_SCNODED_HOLDINGS_WRITABLES_H
#define SCHEDULER_SCNODED_HOLDINGS_WRITABLES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "scheduler/scnoded/holdings/holdings.h"

struct writable {
	const char *path; /* of the holdings; as the job sees it */
	uint64_t device, inode;
	uint64_t size;   /* bytes */
	uint64_t offset; /* bytes, the largest of its descriptors */
	bool is_append;  /* one of these is open with O_APPEND */
	bool is_mapped;  /* somebody writes it by a shared mapping */
	pid_t pid;       /* one that holds it */
	uint32_t rank;   /* HOLDINGS_NO_RANK: not known */
};

/*
 * Each file once, by device and inode in ascending order; those without a name are stored in the
 * image and left out. Their number, with free() for *@ret; -ENOMEM.
 */
ssize_t writables_list(const struct holdings *h, struct writable **ret);

#endif

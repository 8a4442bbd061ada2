/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * directory - where a job's segment lies: <shmem.dir>/openscore.<uid>.<hash of the job key>, mode
 * 0700, holding "segment" and one FIFO "wake.<slot>" per process. Owns names, safe opening in a
 * world-writable place, and the removal of what killed jobs left. Knows nothing of what is in the
 * files.
 */
#ifndef PM_SHMEM_DIRECTORY_H
#define PM_SHMEM_DIRECTORY_H

#include <stddef.h>
#include <stdint.h>

struct pms_directory {
	int parent;    /* shmem.dir */
	int fd;        /* the job's directory */
	int file;      /* segment, its lock held after pms_directory_open */
	char name[48]; /* of the directory, below parent */
};

/* SipHash-2-4 of @value under the job key: tells jobs apart without telling the key. */
uint64_t pms_job_hash(uint64_t job_key, uint64_t value);

/*
 * Opens the job's directory and its segment file, making them when absent, and takes the segment
 * lock. The file may be empty. -errno with a sentence in @why.
 */
int pms_directory_open(const char *parent, uint64_t job_key, struct pms_directory *ret_dir,
		       char *why, size_t why_size);
/* Closes the descriptors, and with them gives up the locks. */
void pms_directory_close(struct pms_directory *dir);
/* Removes the files and the directory; the lock is held and no slot is. */
void pms_directory_remove(struct pms_directory *dir);
/* Removes the FIFOs of processes that are no more; same condition. */
void pms_directory_clean(struct pms_directory *dir);
/* Removes other directories of this user whose jobs are gone. */
void pms_directory_sweep(const struct pms_directory *dir);

#endif

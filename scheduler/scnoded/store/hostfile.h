/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hostfile - what host.json says of a host's part of a checkpoint. Its bytes come from a disk, so
 * hostfile_decode() believes nothing. Pure.
 */
#ifndef SCHEDULER_SCNODED_STORE_HOSTFILE_H
#define SCHEDULER_SCNODED_STORE_HOSTFILE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define HOSTFILE_NAME "host.json"
#define HOSTFILE_FILES_MAX 1000000
#define HOSTFILE_TEXT_MAX 256 /* bytes of a host's name, a version, the end included */

struct hostfile_file {
	char *name; /* without '/' */
	uint64_t size;
	uint32_t crc; /* CRC-32C */
};

/* A file of the job that its images do not have the contents of, see holdings/writables.h. */
struct hostfile_writable {
	char *path; /* as the job sees it, absolute */
	uint64_t device, inode, size;
};

struct hostfile {
	uint64_t job, round;
	uint32_t index, n_hosts; /* of the job */
	int64_t taken;           /* seconds since the epoch */
	char host[HOSTFILE_TEXT_MAX], kernel[HOSTFILE_TEXT_MAX], criu[HOSTFILE_TEXT_MAX];
	char *cpu_flags; /* as /proc/cpuinfo has them, "" where it has none */
	json_t *order;   /* of the job, as order.h encodes it for this host */
	struct hostfile_writable *writables;
	size_t n_writables;
	struct hostfile_file *files;
	size_t n_files;
};

/* NULL: out of memory. */
json_t *hostfile_encode(const struct hostfile *hostfile);
/*
 * 0; or -EPROTO (-ENOMEM: no memory) with a sentence that names the field, and @ret is empty. The
 * order is an object, and no more is known of it.
 */
int hostfile_decode(struct hostfile *ret, const json_t *json, char *why, size_t why_size);
void hostfile_fini(struct hostfile *hostfile);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * store - checkpoint images of jobs on disk. Below a directory that is root's alone lie
 *
 *   JOB/ROUND.new/INDEX/        images of one host of the job, while they are written
 *   JOB/ROUND/INDEX/            the same, committed
 *   identity                    the directory's name, the same for all hosts that share it
 *
 * INDEX is the host's place in the job's order. The directory may be one of this host, or one that
 * all hosts share: each host writes and commits its INDEX alone. In INDEX are the files of the
 * dump, and last host.json (hostfile.h), which has the size and the checksum of each. The rename
 * of INDEX from ROUND.new to ROUND is the commit. All calls block: they are for children of
 * scnoded. Those that return text: NULL, or one sentence to be freed, with the place and a remedy.
 */
#ifndef SCHEDULER_SCNODED_STORE_STORE_H
#define SCHEDULER_SCNODED_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/scnoded/store/hostfile.h"

/* One host's part of one checkpoint. */
struct store_place {
	const char *directory; /* of all checkpoints */
	uint64_t job, round;
	uint32_t index;
};

#define STORE_IDENTITY_SIZE 33 /* bytes of the text, the end included */

/*
 * The directory's identity, drawn at random when the first of its hosts asks. Makes the directory
 * if its parent is there. 0 or -errno; -EPERM: others may enter it; -EBADMSG: it has a wrong one.
 */
int store_identity(const char *directory, const char *host, char ret[STORE_IDENTITY_SIZE]);
/*
 * Makes the directory of all checkpoints if it is missing; refuses one that others may enter.
 * Anything of the same place that is not committed is removed; a committed one is an error. @bytes:
 * room that the images will need, which must be free. Makes the place, mode 0700, and in it the
 * file "writer" with the name of this @host. By that name store_clean() and store_remove() know
 * whose it is.
 */
char *store_begin(const struct store_place *place, const char *host, uint64_t bytes);
/* A descriptor of the place, committed or not; -errno. */
int store_open(const struct store_place *place, bool is_committed);
/*
 * The dump is done: all files go to the disk, then host.json with what @about has, sizes and
 * checksums. Files, job, round and index of @about are not looked at. *@ret_bytes: of all files.
 */
char *store_seal(const struct store_place *place, const struct hostfile *about,
		 uint64_t *ret_bytes);
/*
 * It is kept from now on, which a crash does not undo. Done already is fine. Then this host's
 * images of the job with a round below @keep are removed, as all that it did not commit. Images of
 * its index are among them, though before a restart another host may have written these.
 */
char *store_commit(const struct store_place *place, uint64_t keep);
/* Removes what is not committed of the place. Nothing there is fine. */
char *store_abandon(const struct store_place *place);
/* Removes all of this host's images of the job. Nothing there is fine. */
char *store_remove(const char *directory, uint64_t job, const char *host);
/*
 * Reads host.json of a committed place (free with hostfile_fini()), and sees that each file has its
 * size and checksum and that nothing else is there, but logs of a restart. The files of @ret are
 * sorted by name. On an error @ret has nothing to be freed.
 */
char *store_verify(const struct store_place *place, struct hostfile *ret);
/*
 * When scnoded starts: removes what @host has not committed, and directories that are empty then.
 * Images of other hosts in a directory that is shared are left alone.
 */
void store_clean(const char *directory, const char *host);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * outbox - bytes that wait for room in a socket, and the descriptors that travel with some of them.
 * Bytes that the socket takes at once are never copied, except into records where the connection is
 * sealed. Records are made when the socket has room, so bytes that wait for long lie here as they
 * were given. Knows no frames and no event loop.
 */
#ifndef SCHEDULER_PROTO_OUTBOX_H
#define SCHEDULER_PROTO_OUTBOX_H

#include <stddef.h>
#include <sys/uio.h>

#include "scheduler/proto/seal.h"
#include "scheduler/proto/shared.h"

#define OUTBOX_FDS_MAX 4 /* descriptors with one message */

struct outbox_chunk;

/* Zeroed = empty. */
struct outbox {
	struct outbox_chunk *first, *last;
	size_t bytes;      /* that wait, records included */
	struct seal *seal; /* NULL = bytes go as they are */
	char *records;     /* made, and not taken by the socket yet */
	size_t start, end, room;
};

/* One message in up to two pieces. */
struct outbox_message {
	struct iovec part[2];
	struct shared *shared; /* instead of part[1]: held, not copied, if it has to wait */
	const int *fds;        /* duplicated if they have to wait */
	int n_fds;
};

/*
 * Sends @message by @fd, or puts what the socket does not take behind what waits already; @fd -1 =
 * all of it waits. 0; -ENOMEM: nothing of it was sent or kept; any other -errno: the connection is
 * of no use any more.
 */
int outbox_send(struct outbox *box, int fd, const struct outbox_message *message);
/* Sends what the socket takes. 0, or -errno when the connection is of no use any more. */
int outbox_flush(struct outbox *box, int fd);
/*
 * From now on all goes in records of @seal, which must outlive the box: first what waits already as
 * it is, then @opening of seal_begin(). 0, -ENOMEM.
 */
int outbox_seal(struct outbox *box, struct seal *seal,
		const unsigned char opening[SEAL_OPENING_BYTES]);
/* Of a sealed box in which nothing waits: the last record waits in it. 0, -ENOMEM. */
int outbox_end(struct outbox *box);
/* Puts all of @from, which is not sealed, behind what waits in @box. */
void outbox_join(struct outbox *box, struct outbox *from);
void outbox_clear(struct outbox *box);

#endif

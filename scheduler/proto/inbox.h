/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inbox - bytes and descriptors that came from a socket, until whole frames are taken from them.
 * Grows with what comes: an idle connection costs a few KiB, a busy one a few hundred. Knows no
 * event loop.
 */
#ifndef SCHEDULER_PROTO_INBOX_H
#define SCHEDULER_PROTO_INBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "scheduler/proto/frame.h"
#include "scheduler/proto/seal.h"

#define INBOX_FDS_MAX 16 /* descriptors no frame has claimed yet */

/* Zeroed = empty. */
struct inbox {
	char *data;
	size_t start, end, room; /* bytes from start to end wait */
	int fds[INBOX_FDS_MAX];  /* oldest first */
	int n_fds;
	bool has_filled;           /* the last read took all there was room for */
	struct seal *seal;         /* NULL = bytes come as they are */
	char *records;             /* what has come, until a whole record is there */
	size_t came, records_room; /* bytes of it */
};

/*
 * Reads once from @fd, frames of at most @limit bytes. Bytes read; 0 = the other side closed;
 * -EAGAIN; -ENOMEM; -EPROTO = descriptors where none are allowed (@takes_fds) or too many; -EBADMSG
 * = seal_pull() does not take what came; any other errno of the socket.
 */
ssize_t inbox_read(struct inbox *box, int fd, size_t limit, bool takes_fds);
/*
 * All bytes that no frame has been made of yet, and all that come, are of @seal. 0, -ENOMEM,
 * -EBADMSG.
 */
int inbox_seal(struct inbox *box, struct seal *seal);
/* Bytes it keeps room for. */
size_t inbox_room(const struct inbox *box);
/*
 * As frame_decode(); -E2BIG: its head has more than @values values (0 = any number). The frame's
 * body is valid until the next inbox_read() or inbox_trim().
 */
int inbox_next(struct inbox *box, struct frame *ret, size_t limit, size_t values);
/* Gives back what an empty box keeps beyond @room bytes. */
void inbox_trim(struct inbox *box, size_t room);
/* Takes the oldest @n descriptors, which the caller owns then. 0, or -EPROTO: there are less. */
int inbox_take_fds(struct inbox *box, int *to, int n);
/* Whether no part of a frame or of a record waits for its rest. */
bool inbox_is_empty(const struct inbox *box);
void inbox_clear(struct inbox *box);

#endif

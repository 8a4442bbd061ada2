/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * link - one authenticated and sealed connection between two programs of the suite, in a libev
 * loop. Owns the socket, both buffers, the handshake and its time limit. Knows nothing of what the
 * messages mean.
 *
 * Handshake, after the preamble of frame.h (all frames at most FRAME_MAX_STRANGER bytes,
 * LINK_HANDSHAKE_S in all):
 *   listener  {"op":"hello", "nonce":N1, "uid":its effective user}
 *   connector {"op":"hello", "nonce":N2, "role":R, "key":K2, "cipher":O, "credential":C}
 *                                                 C over "connect R J N1 N2 K2 O A", readable by
 *                                                 that user
 *   listener  {"op":"welcome", "key":K1, "cipher":S, "credential":D}
 *                                                 D over "accept R J N2 N1 K1 S A", readable by the
 *                                                 connector
 *          or {"op":"refused", "text":why}
 * K1 and K2 are public keys in hexadecimal, made for this connection. All that follows is sealed by
 * them (seal.h). O is the best cipher that the connector has, and S the one that is used: O, or
 * "xchacha20poly1305" if the listener lacks O. J is the number of the job that the preamble names:
 * somebody on the way who writes another one there is refused. A is the listener's "ADDRESS:PORT"
 * of this connection, as each side's kernel tells it: what a man in the middle got is of no use at
 * another address. So connections through address translation are refused. The connector takes the
 * listener for whom munge says it is, and refuses one that is none of: root, itself, the user it
 * was told to expect.
 *
 * Local links (a socketpair, a unix socket) have no handshake and are not sealed: the kernel says
 * who is there.
 */
#ifndef SCHEDULER_PROTO_LINK_H
#define SCHEDULER_PROTO_LINK_H

#include <ev.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "scheduler/proto/auth.h"
#include "scheduler/proto/seal.h"
#include "scheduler/proto/shared.h"

#define LINK_HANDSHAKE_S 5.0
#define LINK_FULL (1u << 20) /* bytes not sent yet from which on link_is_full() */
#define LINK_FDS_MAX 4       /* descriptors with one message of a local link */

struct link;

/*
 * Callbacks of a link. Any of them may be NULL. Each may call any function of this header,
 * link_close() included. The head is borrowed, the body valid during the call; fds (local links)
 * belong to the callee.
 */
struct link_events {
	void (*ready)(struct link *link, void *owner); /* both sides know each other */
	void (*message)(struct link *link, const char *op, json_t *head, const char *body,
			size_t body_size, void *owner);
	void (*fds)(struct link *link, const int *fds, int n,
		    void *owner);                        /* came with the next message */
	void (*drained)(struct link *link, void *owner); /* was full, is half empty now */
	/*
	 * A message came that link_limit() forbids: EMSGSIZE, E2BIG its values, EDQUOT. Nothing
	 * more is read. If the owner does not close the link now, closed() tells its end.
	 */
	void (*refused)(struct link *link, int error, void *owner);
	/*
	 * The end: @why is a sentence. error: 0 = the other side closed, was killed or was cut off;
	 * ECONNREFUSED, ETIMEDOUT, EACCES, EPROTO, EBADMSG (what came is not what was sent)... The
	 * link is closed and freed when this returns. Never called from within a function of this
	 * header that the owner called.
	 */
	void (*closed)(struct link *link, int error, const char *why, void *owner);
};

/*
 * Connects to "HOST:PORT" (a name is resolved; IPv4 or [IPv6]), for job 0 to the daemon itself.
 * @role: who we are ("scrun", "scnoded", "scstepd", "tool"). @expect: whom we expect beside root
 * and ourselves, (uid_t)-1 = nobody. Never blocks, except for looking up a name. NULL: no memory;
 * all other failures come by closed().
 */
struct link *link_connect(struct ev_loop *loop, struct auth *auth, const char *address,
			  uint64_t job, const char *role, uid_t expect,
			  const struct link_events *events, void *owner);
/*
 * The listening side of @fd (ours from now on), whose preamble was read already. @job: what we
 * serve, 0 = ourselves.
 */
struct link *link_accept(struct ev_loop *loop, struct auth *auth, int fd, uint64_t job,
			 const struct link_events *events, void *owner);
/*
 * Both sides of a local connection; ready at once, but ready() is not called. @uid: who is there,
 * from the kernel.
 */
struct link *link_local(struct ev_loop *loop, int fd, uid_t uid, const struct link_events *events,
			void *owner);
/* Goes on with a socket that link_give_up() gave, maybe in another program. @seal is copied. */
struct link *link_take_over(struct ev_loop *loop, int fd, uid_t uid, const struct seal *seal,
			    const struct link_events *events, void *owner);

/* The user of the other side; valid when ready. */
uid_t link_uid(const struct link *link);
gid_t link_gid(const struct link *link);
const char *link_role(const struct link *link); /* of an accepted one, else "" */
const char *link_peer(const struct link *link); /* "ADDRESS:PORT" or "local", for messages */
/* Our own end of it, "ADDRESS:PORT"; "" if the kernel does not tell. */
void link_here(const struct link *link, char *to, size_t size);

/* Bytes in the buffers of all links that share it. */
struct link_quota {
	size_t used, max;
};
/*
 * Limits what a peer outside our own daemons may cost us. Its messages have at most @frame bytes
 * with at most @values values in the head (0 = any number). @quota (NULL = none from now on) must
 * outlive its use. A message beyond these limits is reported by refused().
 */
void link_limit(struct link *link, size_t frame, size_t values, struct link_quota *quota);
/* CLOCK_MONOTONIC when we began with the message that is being handed out or refused. */
uint64_t link_begun_ns(const struct link *link);

/* Other events or another owner from now on. */
void link_set(struct link *link, const struct link_events *events, void *owner);

/*
 * Sends; takes the reference to @head. 0, -EPIPE (it is ending), -EMSGSIZE, -ENOMEM. Queues
 * whatever does not go now.
 */
int link_send(struct link *link, json_t *head, const void *body, size_t body_size);
/* With a body that many are sent: what waits of it is held, not copied. */
int link_send_shared(struct link *link, json_t *head, struct shared *body);
/* A whole frame (frame_encode()) that many are sent: encoded once. */
int link_send_frame(struct link *link, struct shared *frame);
/*
 * With descriptors, over a local link; they are duplicated. The head is given the field "fds":
 * their number.
 */
int link_send_fds(struct link *link, json_t *head, const int *fds, int n);
/*
 * Whether more than LINK_FULL bytes wait: the sender stops reading its own sources until drained().
 */
bool link_is_full(const struct link *link);
/* Whether bytes have come that were not read yet, or its end. */
bool link_has_input(const struct link *link);
/* Stops and goes on reading: back pressure towards the other side. */
void link_pause(struct link *link, bool is_paused);
/* Ends one that is not ready; the other side may still read @why. No event comes any more. */
void link_refuse(struct link *link, const char *why);
/*
 * Gives its socket up, to be spoken to by another program, and ends the link without a word. The
 * descriptor, the caller's; -EBUSY: more has come or has to go, or it is not ready, and all is as
 * it was. @seal, NULL for a local link, is what link_take_over() needs.
 */
int link_give_up(struct link *link, struct seal *seal);
/*
 * Ends it; what is queued is sent first for at most @linger_s seconds (0: thrown away). No event
 * comes any more.
 */
void link_close(struct link *link, double linger_s);

#endif

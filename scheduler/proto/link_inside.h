/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * link_inside - what the files of link share: link.c (the interface, sending, ending), link_read.c
 * (what comes in), link_open.c (how a link begins).
 *
 * Every callback of the event loop stands between link_enter() and link_leave(): the owner may
 * close the link in any of his, so its memory goes only when the last of them is left. After
 * anything that calls the owner, is_released tells.
 */
#ifndef SCHEDULER_PROTO_LINK_INSIDE_H
#define SCHEDULER_PROTO_LINK_INSIDE_H

#include "scheduler/proto/handshake.h"
#include "scheduler/proto/inbox.h"
#include "scheduler/proto/link.h"
#include "scheduler/proto/outbox.h"
#include "scheduler/proto/seal.h"

#define LINK_CONNECT_S 5.0 /* for all addresses of a name together */
#define LINK_WHY_MAX 1024

enum link_state {
	LINK_CONNECTING, /* the kernel is */
	LINK_SHAKING,    /* handshake */
	LINK_READY,
	LINK_DEAD, /* closed() is about to be called */
};

struct link {
	struct ev_loop *loop;
	enum link_state state;
	int fd; /* -1 = none now */
	bool is_local;
	bool is_paused;
	bool was_full;      /* link_is_full() may have been seen, drained() is owed */
	bool is_closing;    /* by link_close(): what waits is sent, nobody listens any more */
	bool is_at_end;     /* the other side will send nothing more */
	bool is_shut;       /* we have told the other side that we send nothing more */
	bool is_ended;      /* our last record is in the outbox, or gone */
	bool is_released;   /* only the memory is left */
	int broken;         /* errno of sending, 0 = it works */
	unsigned int depth; /* callbacks of the loop under way */

	ev_io io;
	ev_timer limit;               /* of connecting, of the handshake, of lingering */
	ev_timer soon;                /* what has to wait until the owner's call has returned */
	size_t frame_max, values_max; /* of link_limit(); 0 = as everybody */
	struct link_quota *quota;
	size_t charged; /* of our bytes in quota->used */
	uint64_t begun_ns;
	struct inbox in;
	struct outbox out;
	struct outbox held; /* messages for when it is ready */
	struct handshake shake;
	struct seal seal;                  /* of in and out, when ready and not local */
	struct addrinfo *addresses, *next; /* all, and the next one to try */

	const struct link_events *events;
	void *owner;
	uid_t uid;
	gid_t gid;
	char peer[NETADDR_TEXT_MAX];
	int error; /* of closed() */
	char why[LINK_WHY_MAX];
};

/* In link.c. */
struct link *link_new(struct ev_loop *loop, const struct link_events *events, void *owner);
void link_enter(struct link *link);
void link_leave(struct link *link);
/* Waits for what it now has to wait for. */
void link_watch(struct link *link);
/* The end: the socket goes now, closed() is called soon. */
__attribute__((format(printf, 3, 4))) void link_fail(struct link *link, int error, const char *fmt,
						     ...);
/* The quota hears what the buffers hold now. */
void link_charge(struct link *link);
/* Sends or queues a head of the handshake; takes the reference. */
void link_say(struct link *link, json_t *head);
/* Sends what waits, and ends the link if that was all that was left to do. */
void link_flush(struct link *link);

/* In link_read.c. */
void link_read(struct link *link);
void link_process(struct link *link); /* the frames that have come */
/* Bytes that are not taken: -ENOMEM, -EPROTO, -EBADMSG. */
void link_refuse_bytes(struct link *link, int err);

/* In link_open.c. */
void link_connected(struct link *link); /* the socket is writable */
void link_timed_out(struct link *link);

#endif

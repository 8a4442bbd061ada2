/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * handshake - what both sides of a new connection say to each other before anything else (link.h),
 * as a machine that is fed heads and says heads. Knows no socket and no clock.
 *
 * Both credentials also name the address of the listening side, as each side's kernel tells it:
 * what somebody in the middle got from one side is of no use to him at another address. Both name
 * the job that the connection is for, which the preamble says in clear. Each names the public key
 * of the side that made it, so all that follows can be sealed. Each names the cipher that this side
 * says as well: nobody on the way can lead them to a worse one than both have.
 */
#ifndef SCHEDULER_PROTO_HANDSHAKE_H
#define SCHEDULER_PROTO_HANDSHAKE_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "scheduler/proto/auth.h"
#include "scheduler/proto/netaddr.h"
#include "scheduler/proto/seal.h"

#define HANDSHAKE_ROLE_MAX 32 /* characters */

/* Callbacks of a handshake. It is not used any more after one that has called handshake_end(). */
struct handshake_events {
	void (*say)(json_t *head, void *owner); /* to the other side; takes the reference */
	void (*done)(void *owner);              /* uid, gid and role are valid */
	/*
	 * EACCES (also: the other side refuses), EPROTO, EAGAIN (munged), ENOMEM. @why as in
	 * link_events.
	 */
	void (*failed)(int error, const char *why, void *owner);
};

struct handshake {
	struct auth *auth;
	struct auth_task
		*task; /* NULL unless munged is being asked: nothing is to be fed until then */
	bool is_listener;
	bool is_said; /* connector: its hello is out, the listener's answer is awaited */
	uid_t expect; /* connector: whom to accept beside root and ourselves */
	uid_t uid;    /* of the other side; connector: what it claims until done */
	gid_t gid;
	char role[HANDSHAKE_ROLE_MAX + 1]; /* of the connector */
	uint64_t job; /* that the connection is for; 0 = the daemon that listens */
	char mine[AUTH_NONCE_HEX], theirs[AUTH_NONCE_HEX];
	struct netaddr_net from; /* of the connector */
	struct seal_keys keys;
	unsigned char their_key[SEAL_KEY_BYTES]; /* valid when done() */
	enum seal_cipher offer;                  /* the connector's best one */
	enum seal_cipher cipher;         /* the one that the listener takes; valid when done() */
	char listener[NETADDR_TEXT_MAX]; /* address of the listening side */
	char peer[NETADDR_TEXT_MAX];     /* for messages */
	const struct handshake_events *events;
	void *owner;
};

/*
 * The fields auth, is_listener, job, listener, peer, events, owner, of a listener from, of a
 * connector role and expect, are filled in.
 */
void handshake_begin(struct handshake *hs);
/* Takes a message of the other side; @head is borrowed. */
void handshake_hear(struct handshake *hs, const json_t *head);
bool handshake_is_busy(const struct handshake *hs);
/* Forgets it and its keys; no event comes any more. */
void handshake_end(struct handshake *hs);

#endif

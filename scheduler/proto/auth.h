/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * auth - who is at the other end: munge credentials, made and read by a thread of its own, since
 * munged may be slow, stopped or dead and no daemon may wait for it. Each credential is bound to
 * one connection by the nonces of both sides, so that it is worth nothing anywhere else; munge
 * itself refuses what is old, from the future or seen before.
 */
#ifndef SCHEDULER_PROTO_AUTH_H
#define SCHEDULER_PROTO_AUTH_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define AUTH_NONCE_BYTES 16
#define AUTH_NONCE_HEX (2 * AUTH_NONCE_BYTES + 1)

struct netaddr_net;
struct auth;      /* the thread */
struct auth_task; /* one question to it */

/* The result of a task. Valid during the call. */
struct auth_answer {
	int error; /* 0 or errno: EACCES refused, EAGAIN munged does not answer, ENOMEM */
	const char *
		/* a sentence with the remedy, if error: names munged, the clocks or the replay */
		why;
	const char *text; /* the credential that was made, or the payload that was read */
	uid_t uid;        /* the user who made the credential that was read */
	gid_t gid;
};
typedef void auth_done(const struct auth_answer *answer, void *owner);

/*
 * Credentials go through the socket @socket_path, NULL = munge's own default ($MUNGE_SOCKET too).
 * NULL: no memory.
 */
struct auth *auth_open(struct ev_loop *loop, const char *socket_path);
/*
 * No answer comes any more. A question under way is left to itself: it ends when munge lets go of
 * it. NULL is fine.
 */
void auth_close(struct auth *auth);

/*
 * Makes a credential of @payload that @reader may read; (uid_t)-1 = anybody. @done is called in the
 * loop. NULL: no memory.
 */
struct auth_task *auth_make(struct auth *auth, const char *payload, uid_t reader, auth_done *done,
			    void *owner);
/*
 * Reads one. @from: the network of a stranger who sent it; those wait for their turns
 * (fairqueue.h), which come after all that is to be made. NULL: we have asked for it ourselves, and
 * it is read before any stranger's.
 */
struct auth_task *auth_read(struct auth *auth, const char *credential,
			    const struct netaddr_net *from, auth_done *done, void *owner);
/* Whether a credential that came from there has held, lately. */
bool auth_knows(const struct auth *auth, const struct netaddr_net *from);
/* Its @done will not be called. */
void auth_forget(struct auth_task *task);

/* Random, in hexadecimal. 0 or -errno. */
int auth_nonce(char to[AUTH_NONCE_HEX]);

#endif

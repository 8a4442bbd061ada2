/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * contexts - who has which number, by which attachment, and what the kernel programs know of it.
 * Decides between direct and port. Knows no connection but as a lease.
 */
#ifndef PM_ETHERNET_DAEMON_CONTEXTS_H
#define PM_ETHERNET_DAEMON_CONTEXTS_H

#include <stddef.h>

#include "pm-ethernet/daemon/ethd.h"

#define ETHD_WAIT 1 /* not an error: a queue is busy, ask again in a while */

/* An answer on its way to a process. */
struct ethd_answer {
	struct eth_granted granted;
	int fds[ETH_FDS_MAX];
	bool is_ours[ETH_FDS_MAX]; /* stays open here after it was handed out */
};

/* The process that asks for a context. */
struct ethd_asker {
	struct ethd_client *client;
	uid_t uid;
	pid_t pid;
	int pidfd;         /* -1 = none; a context keeps a copy */
	uint16_t resuming; /* the suspended context, 0 = a new one */
};

/* 0 and *ret complete, nothing bound; or -errno with a sentence in ret->granted.why. */
int ethd_context_attach(struct ethd *d, const struct ethd_asker *who, const struct eth_request *r,
			struct ethd_answer *ret);
/*
 * Binds what was granted as @g says. 0, and @g says so; ETHD_WAIT, unless @is_last_try; or -errno
 * with a sentence in g->why: then a new context is released, a resumed one suspended.
 */
int ethd_context_bind(struct ethd *d, uint16_t context, bool is_last_try, struct eth_granted *g);
/* Closes what was only to be handed out. */
void ethd_answer_close(struct ethd_answer *answer);
/* Takes sockets and port back, keeps number and key. */
void ethd_context_suspend(struct ethd *d, uint16_t context);
/* Takes the context back. */
void ethd_context_release(struct ethd *d, uint16_t context);
/* Contexts of a user, or of all (@uid (uid_t)-1). */
uint32_t ethd_contexts_count(const struct ethd *d, uid_t uid);
/* Forgets in the kernel what no context accounts for. */
void ethd_contexts_sweep(struct ethd *d);

#endif

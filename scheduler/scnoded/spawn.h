/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spawn - starts a program of ours that lies beside scnoded, as a user, with a connection as
 * descriptor 3. Steps that can fail because of the user's data are done before the fork, as are all
 * that take memory: other threads may hold the allocator's lock.
 */
#ifndef SCHEDULER_SCNODED_SPAWN_H
#define SCHEDULER_SCNODED_SPAWN_H

#include <limits.h>
#include <sys/types.h>

#include "scheduler/scnoded/scnoded.h"

#define SPAWN_FD 3
#define SPAWN_USUAL_GROUP ((gid_t)-1)

struct spawn {
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	int n_groups; /* -1: we are not root, and stay who we are */
	int in;       /* its standard input; -1: /dev/null */
	int err;      /* its standard error; -1: ours */
	char program[PATH_MAX];
	char *env[8];
	int n_env;
	char munge[PATH_MAX], home[PATH_MAX], user[256];
};

/*
 * NULL, or what is wrong on this host, the caller's. @said: path of the program; NULL: @name beside
 * our own. @what: what the daemon runs for users, for the message to another one.
 */
char *spawn_prepare(struct spawn *ret, const struct scnoded *d, const char *name, const char *said,
		    uid_t uid, gid_t gid, const char *what);
/* @variable: "NAME=VALUE", which stays the caller's. */
void spawn_set(struct spawn *spawn, char *variable);
void spawn_fini(struct spawn *spawn);

/* In the child, first of all: a session of its own, nothing set up for signals. */
void spawn_begin(void);
/* And last of all. No descriptor but 0 to 2 and @fd goes with it. */
_Noreturn void spawn_exec(const struct spawn *spawn, char *const *argv, int fd);

#endif

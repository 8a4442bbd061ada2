// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scored/operators.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "scheduler/proto/daemon.h"

#define UNKNOWN ((uid_t)-1)

struct operators {
	char *names; /* one behind the other, each with its zero */
	size_t n, n_unknown;
	double looked; /* when the unknown were looked up last */
	uid_t uids[];  /* in the order of the names */
};

static void look_up(struct operators *o, double now)
{
	const char *name = o->names;

	o->n_unknown = 0;
	o->looked = now;
	for (size_t i = 0; i < o->n; i++, name += strlen(name) + 1) {
		const struct passwd *who = o->uids[i] == UNKNOWN ? getpwnam(name) : NULL;

		if (who)
			o->uids[i] = who->pw_uid;
		o->n_unknown += o->uids[i] == UNKNOWN;
	}
}

static void say_unknown(const struct operators *o)
{
	const char *name = o->names;

	for (size_t i = 0; i < o->n; i++, name += strlen(name) + 1)
		if (o->uids[i] == UNKNOWN)
			daemon_say("operator %s: no user of that name is known here", name);
}

/* Commas become the ends of the names; returns how many there are. */
static size_t split(char *names)
{
	size_t n = *names != '\0';

	for (; *names; names++)
		if (*names == ',') {
			*names = '\0';
			n++;
		}
	return n;
}

struct operators *operators_open(const char *names, double now)
{
	char *copy = strdup(names ? names : "");
	size_t n = copy ? split(copy) : 0;
	struct operators *o = copy ? malloc(sizeof(*o) + n * sizeof(o->uids[0])) : NULL;

	if (!o) {
		free(copy);
		return NULL;
	}
	o->names = copy;
	o->n = n;
	for (size_t i = 0; i < n; i++)
		o->uids[i] = UNKNOWN;
	look_up(o, now);
	say_unknown(o);
	return o;
}

void operators_close(struct operators *o)
{
	if (!o)
		return;
	free(o->names);
	free(o);
}

bool operators_has(struct operators *o, uid_t uid, double now)
{
	if (!uid)
		return true;
	if (!o || uid == UNKNOWN)
		return false;
	if (o->n_unknown && now - o->looked >= OPERATORS_AGAIN_S)
		look_up(o, now);
	for (size_t i = 0; i < o->n; i++)
		if (o->uids[i] == uid)
			return true;
	return false;
}

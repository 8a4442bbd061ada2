// SPDX-License-Identifier: BSD-3-Clause
/*
 * pmi1 - one connection per rank: a line comes, a line goes back. A rank whose answer does not go
 * out is not read any more; what it sends and puts is limited, so it can hurt nobody but itself.
 *
 * A host whose ranks are gone, one of them without cmd=init, adds an abort marker to the barrier in
 * which ranks of other hosts may wait, now or later. The marker is the number of that rank under
 * the empty key, which no rank can put. A host whose own ranks wait in the barrier then aborts the
 * job and names that rank.
 */
#include "scheduler/scstepd/pmi1.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/scstepd/pmi1_client.h"
#include "scheduler/scstepd/pmi1_line.h"
#include "scheduler/scstepd/pmi1_space.h"

#define KVSNAME_MAX 256
#define PUT_MAX (256u << 10) /* bytes a rank may put in all */
#define LEFT " left"         /* behind the rank that other hosts are told of: it is CLIENT_LEFT */

static const char absence[] = "it ended before MPI_Init, and others wait for it there";
static const char leave[] = "it closed its descriptor PMI_FD before MPI_Finalize, and others wait "
			    "for it; a program has to leave that descriptor open";

/* --- barrier --- */

/* NULL: it may still come, or need not. */
static const char *why_absent(const struct client *client)
{
	if (client->state == CLIENT_LEFT)
		return leave;
	return client->state == CLIENT_NEVER ? absence : NULL;
}

/*
 * Whether all ranks of this host are where the barrier wants them, and one of them waits.
 * *@ret_absent: one that will never come, or NULL.
 */
static bool is_barrier_full(struct pmi1 *pmi, struct client **ret_absent)
{
	bool is_wanted = false;

	*ret_absent = NULL;
	for (uint32_t i = 0; i < pmi->n_local; i++) {
		struct client *client = &pmi->clients[i];

		if (client->state == CLIENT_BARRIER)
			is_wanted = true;
		else if (why_absent(client))
			*ret_absent = client;
		else if (client->state != CLIENT_OVER)
			return false;
	}
	return is_wanted;
}

static void abort_barrier(struct pmi1 *pmi, int error)
{
	for (uint32_t i = 0; i < pmi->n_local; i++)
		if (pmi->clients[i].state == CLIENT_BARRIER) {
			pmi1_fail(&pmi->clients[i], "PMI-1: the barrier failed: %s",
				  strerror(error));
			return;
		}
}

static void fence(struct pmi1 *pmi, const char *data, size_t size)
{
	int rc;

	pmi->is_fencing = true;
	rc = pmi->ops->fence(data, size, pmi->owner);
	if (rc) {
		pmi->is_fencing = false;
		abort_barrier(pmi, -rc);
	}
}

/*
 * No rank of this host will come to a barrier any more, and one of them never began or left. Only
 * other hosts know whether that matters.
 */
static void add_marker(struct pmi1 *pmi)
{
	const struct client *first = NULL;
	char data[32] = "";
	int n;

	for (uint32_t i = pmi->n_local; i--;) {
		if (why_absent(&pmi->clients[i]))
			first = &pmi->clients[i];
		else if (pmi->clients[i].state != CLIENT_OVER)
			return;
	}
	if (pmi->is_marked || pmi->n_local == pmi->size || !first)
		return;
	pmi->is_marked = true;
	n = sprintf(data + 1, "%u%s", first->rank, first->state == CLIENT_LEFT ? LEFT : "");
	fence(pmi, data, 1 + (size_t)n + 1);
}

static void check_barrier(struct pmi1 *pmi)
{
	struct client *absent;

	if (pmi->is_fencing)
		return;
	if (!is_barrier_full(pmi, &absent)) {
		add_marker(pmi);
	} else if (absent) {
		pmi1_fail(absent, "%s", why_absent(absent));
	} else {
		fence(pmi, pmi->fresh.bytes, pmi->fresh.n);
		pmi->fresh.n = 0;
	}
}

/* Whether a rank of another host never comes; then nobody here needs to wait. */
static bool is_in_vain(struct pmi1 *pmi)
{
	const char *who = pmi1_space_get(&pmi->space, "");
	char *end = NULL;
	uint32_t rank = who ? (uint32_t)strtoul(who, &end, 10) : 0;

	for (uint32_t i = 0; who && i < pmi->n_local; i++)
		if (pmi->clients[i].state == CLIENT_BARRIER) {
			pmi->ops->abort(rank, 1, strcmp(end, LEFT) ? absence : leave, pmi->owner);
			return true;
		}
	return who;
}

void pmi1_fenced(struct pmi1 *pmi, int error, const void *data, size_t size)
{
	pmi->is_fencing = false;
	if (!error)
		error = -pmi1_space_merge(&pmi->space, data, size);
	if (error) {
		abort_barrier(pmi, error);
		return;
	}
	if (is_in_vain(pmi))
		return;
	for (uint32_t i = 0; i < pmi->n_local; i++) {
		struct client *client = &pmi->clients[i];

		if (client->state != CLIENT_BARRIER)
			continue;
		client->state = CLIENT_ACTIVE;
		pmi1_answer(client, "cmd=barrier_out rc=0\n");
	}
	/* Somebody may have left meanwhile. */
	check_barrier(pmi);
}

/* --- commands --- */

static bool is_space(const struct client *client, const struct pmi1_line *line)
{
	const char *name = pmi1_line_get(line, "kvsname");

	return name && !strcmp(name, client->pmi->kvsname);
}

static void on_init(struct client *client, const struct pmi1_line *line)
{
	const char *version = pmi1_line_get(line, "pmi_version");

	if (!version || strcmp(version, "1") || client->state != CLIENT_SILENT) {
		pmi1_answer(client, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n");
		return;
	}
	client->state = CLIENT_ACTIVE;
	client->pmi->ops->initialized(client->rank, client->pmi->owner);
	pmi1_answer(client, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
}

static void on_maxes(struct client *client, const struct pmi1_line *line)
{
	(void)line;
	pmi1_answer(client, "cmd=maxes rc=0 kvsname_max=%d keylen_max=%d vallen_max=%d\n",
		    KVSNAME_MAX, PMI1_KEY_MAX, PMI1_VALUE_MAX);
}

static void on_appnum(struct client *client, const struct pmi1_line *line)
{
	(void)line;
	pmi1_answer(client, "cmd=appnum rc=0 appnum=%u\n", client->appnum);
}

static void on_kvsname(struct client *client, const struct pmi1_line *line)
{
	(void)line;
	pmi1_answer(client, "cmd=my_kvsname rc=0 kvsname=%s\n", client->pmi->kvsname);
}

static void on_universe(struct client *client, const struct pmi1_line *line)
{
	uint32_t universe = client->pmi->universe;

	(void)line;
	pmi1_answer(client, "cmd=universe_size rc=0 size=%d\n", universe ? (int)universe : -1);
}

static void on_put(struct client *client, const struct pmi1_line *line)
{
	const char *key = pmi1_line_get(line, "key"), *value = pmi1_line_get(line, "value");
	struct pmi1 *pmi = client->pmi;
	const char *wrong = NULL;
	int rc;

	if (!key || !*key || !value || !is_space(client, line)) {
		pmi1_answer(client, "cmd=put_result rc=-1 msg=needs_kvsname_key_value\n");
		return;
	}
	client->n_put += strlen(key) + strlen(value) + 2;
	if (client->n_put > PUT_MAX) {
		pmi1_answer(client, "cmd=put_result rc=-1 msg=rank_has_put_more_than_%u_bytes\n",
			    PUT_MAX);
		return;
	}
	rc = pmi1_space_put(&pmi->space, key, value);
	if (!rc)
		rc = pmi1_pairs_add(&pmi->fresh, key, value);
	if (rc)
		wrong = rc == -EMSGSIZE ? "key_or_value_too_long" : "no_memory";
	pmi1_answer(client, "cmd=put_result rc=%d msg=%s\n", rc ? -1 : 0,
		    wrong ? wrong : "success");
}

static void on_get(struct client *client, const struct pmi1_line *line)
{
	const char *key = pmi1_line_get(line, "key"), *value = NULL;

	if (key && is_space(client, line))
		value = pmi1_space_get(&client->pmi->space, key);
	if (value)
		pmi1_answer(client, "cmd=get_result rc=0 msg=success value=%s\n", value);
	else
		pmi1_answer(client, "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
}

static void on_barrier(struct client *client, const struct pmi1_line *line)
{
	(void)line;
	if (client->state == CLIENT_BARRIER) {
		pmi1_fail(client, "PMI-1: cmd=barrier_in within a barrier");
		return;
	}
	client->state = CLIENT_BARRIER;
	check_barrier(client->pmi);
}

static void on_finalize(struct client *client, const struct pmi1_line *line)
{
	(void)line;
	client->state = CLIENT_OVER;
	client->pmi->ops->finalized(client->rank, client->pmi->owner);
	pmi1_answer(client, "cmd=finalize_ack rc=0\n");
	check_barrier(client->pmi);
}

static void on_abort(struct client *client, const struct pmi1_line *line)
{
	const char *code = pmi1_line_get(line, "exitcode");
	long number = code ? strtol(code, NULL, 10) : 1;

	if (number < INT_MIN || number > INT_MAX)
		number = 1;
	client->is_aborting = true;
	client->pmi->ops->abort(client->rank, (int)number, "", client->pmi->owner);
}

static void on_name(struct client *client, const struct pmi1_line *line)
{
	pmi1_answer(client, "cmd=%.*s_result rc=-1 msg=PMI-1_names_are_not_offered\n",
		    (int)strcspn(line->command, "_"), line->command);
}

static const struct command {
	const char *name;
	void (*run)(struct client *client, const struct pmi1_line *line);
} commands[] = {
	{"init", on_init},
	{"get_maxes", on_maxes},
	{"get_appnum", on_appnum},
	{"get_my_kvsname", on_kvsname},
	{"get_universe_size", on_universe},
	{"put", on_put},
	{"get", on_get},
	{"barrier_in", on_barrier},
	{"finalize", on_finalize},
	{"abort", on_abort},
	{"publish_name", on_name},
	{"unpublish_name", on_name},
	{"lookup_name", on_name},
};

static void obey(struct client *client, const struct pmi1_line *line)
{
	bool is_begun = client->state == CLIENT_ACTIVE || client->state == CLIENT_BARRIER;

	if (!is_begun && strcmp(line->command, "init") && strcmp(line->command, "abort")) {
		pmi1_fail(client, "PMI-1: cmd=%.64s %s", line->command,
			  client->state == CLIENT_OVER ? "after cmd=finalize" : "before cmd=init");
		return;
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(line->command, commands[i].name)) {
			commands[i].run(client, line);
			return;
		}
	pmi1_fail(client, "PMI-1: cmd=%.64s is not offered", line->command);
}

/* mcmd=spawn is many lines, the last one is endcmd; their values may hold blanks. */
static void on_line(struct client *client, char *text, size_t size)
{
	struct pmi1_line line;

	if (client->is_aborting)
		return;
	if (client->is_spawning) {
		if (size != strlen("endcmd") || memcmp(text, "endcmd", size))
			return;
		client->is_spawning = false;
		pmi1_answer(client, "cmd=spawn_result rc=-1 msg=MPI_Comm_spawn_needs_PMIx\n");
		return;
	}
	if (pmi1_line_decode(&line, text, size))
		pmi1_fail(client, "PMI-1: a line that is not cmd=... name=value");
	else if (!strcmp(line.command, "spawn") && !strncmp(text, "mcmd", 4))
		client->is_spawning = true;
	else
		obey(client, &line);
}

/* --- sockets --- */

static void take_lines(struct client *client)
{
	char *at = client->in;

	while (client->fd >= 0 && !client->n_out) {
		char *end = memchr(at, '\n', client->n_in);

		if (!end)
			break;
		client->n_in -= (size_t)(end + 1 - at);
		on_line(client, at, (size_t)(end - at));
		at = end + 1;
	}
	memmove(client->in, at, client->n_in);
	if (client->fd >= 0 && client->n_in == PMI1_LINE_MAX && !client->n_out)
		pmi1_fail(client, "PMI-1: a line of more than %d bytes", PMI1_LINE_MAX);
	/* It may have gone by what it read, or by an answer that found nobody. */
	if (client->fd < 0)
		check_barrier(client->pmi);
}

static void on_timeout(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct client *client = timer->data;

	(void)loop;
	(void)events;
	client->state = CLIENT_LEFT;
	check_barrier(client->pmi);
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct client *client = watcher->data;
	ssize_t n = recv(client->fd, client->in + client->n_in, PMI1_LINE_MAX - client->n_in, 0);

	(void)loop;
	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		pmi1_hang_up(client);
		check_barrier(client->pmi);
		return;
	}
	client->n_in += (size_t)n;
	take_lines(client);
}

static void on_writable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct client *client = watcher->data;

	(void)loop;
	(void)events;
	pmi1_flush(client);
	take_lines(client);
}

int pmi1_add(struct pmi1 *pmi, uint32_t rank, int fd)
{
	struct client *client;

	if (rank < pmi->first || rank - pmi->first >= pmi->n_local ||
	    pmi->clients[rank - pmi->first].state != CLIENT_ABSENT) {
		close(fd);
		return -EINVAL;
	}
	client = &pmi->clients[rank - pmi->first];
	client->state = CLIENT_SILENT;
	client->fd = fd;
	ev_io_init(&client->readable, on_readable, fd, EV_READ);
	ev_io_init(&client->writable, on_writable, fd, EV_WRITE);
	ev_timer_init(&client->timeout, on_timeout, PMI1_TIMEOUT_S, 0);
	client->timeout.data = client;
	client->readable.data = client;
	client->writable.data = client;
	/* Ranks are held by not reading their requests: none is answered then. */
	if (!pmi->is_held)
		ev_io_start(pmi->loop, &client->readable);
	return 0;
}

void pmi1_release(struct pmi1 *pmi)
{
	if (!pmi->is_held)
		return;
	pmi->is_held = false;
	for (uint32_t i = 0; i < pmi->n_local; i++)
		if (pmi->clients[i].fd >= 0)
			ev_io_start(pmi->loop, &pmi->clients[i].readable);
}

static int fill(struct pmi1 *pmi, const struct pmi1_setup *setup)
{
	int rc;

	pmi->kvsname = strdup(setup->kvsname);
	pmi->clients = calloc(setup->n_local ? setup->n_local : 1, sizeof(*pmi->clients));
	if (!pmi->kvsname || !pmi->clients)
		return -ENOMEM;
	pmi->n_local = setup->n_local;
	for (uint32_t i = 0; i < setup->n_local; i++) {
		pmi->clients[i].pmi = pmi;
		pmi->clients[i].rank = setup->first + i;
		pmi->clients[i].appnum = setup->appnum ? setup->appnum[i] : 0;
		pmi->clients[i].fd = -1;
	}
	rc = pmi1_space_put(&pmi->space, "PMI_process_mapping", setup->mapping);
	/* Without it MPICH's ranks tell each other where they are. */
	return rc == -EMSGSIZE ? 0 : rc;
}

struct pmi1 *pmi1_open(struct ev_loop *loop, const struct pmi1_setup *setup,
		       const struct pmi1_ops *ops, void *owner)
{
	struct pmi1 *pmi;
	int rc;

	if (!*setup->kvsname || strlen(setup->kvsname) >= KVSNAME_MAX ||
	    strpbrk(setup->kvsname, " \n=")) {
		errno = EINVAL;
		return NULL;
	}
	pmi = calloc(1, sizeof(*pmi));
	if (!pmi)
		return NULL;
	pmi->loop = loop;
	pmi->ops = ops;
	pmi->owner = owner;
	pmi->size = setup->size;
	pmi->universe = setup->universe;
	pmi->is_held = setup->is_held;
	pmi->first = setup->first;
	rc = fill(pmi, setup);
	if (rc) {
		pmi1_close(pmi);
		errno = -rc;
		return NULL;
	}
	return pmi;
}

void pmi1_close(struct pmi1 *pmi)
{
	if (!pmi)
		return;
	for (uint32_t i = 0; i < pmi->n_local; i++) {
		pmi1_hang_up(&pmi->clients[i]);
		ev_timer_stop(pmi->loop, &pmi->clients[i].timeout);
	}
	pmi1_space_fini(&pmi->space);
	free(pmi->clients);
	free(pmi->kvsname);
	free(pmi->fresh.bytes);
	free(pmi);
}

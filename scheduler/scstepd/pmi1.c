// SPDX-License-Identifier: BSD-3-Clause
/*
 * pmi1 - one connection per rank: a line comes, a line goes back. A rank whose answer does not go
 * out is not read any more; what it sends and puts is limited, so it can hurt nobody but itself.
 *
 * A host whose ranks are gone, one of them without cmd=init, brings an excuse to the barrier
 * in which others may be or come to be. It is the number of that rank under the empty key, which no
 * rank can put. Whoever waits is told so by it.
 */
#include "scheduler/scstepd/pmi1.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/scstepd/pmi1_line.h"
#include "scheduler/scstepd/pmi1_space.h"

#define KVSNAME_MAX 256
#define OUT_MAX 1024
#define PUT_MAX (256u << 10) /* bytes a rank may put in all */

enum client_state {
	CLIENT_ABSENT, /* not forked yet */
	CLIENT_SILENT, /* no cmd=init so far */
	CLIENT_ACTIVE,
	CLIENT_BARRIER,
	/* it went between init and finalize: nobody waits in vain, its end ends the job */
	CLIENT_LOST,
	CLIENT_NEVER, /* it went and had never begun */
	CLIENT_OVER,  /* finalized */
};

struct client {
	struct pmi1 *pmi;
	uint32_t rank;
	uint32_t appnum;
	enum client_state state;
	int fd;
	ev_io readable, writable;
	bool is_spawning; /* within the lines of mcmd=spawn */
	bool is_aborting; /* what follows is the rest of its message */
	size_t n_in, n_out, n_put;
	char in[PMI1_LINE_MAX + 1];
	char out[OUT_MAX];
};

struct pmi1 {
	struct ev_loop *loop;
	const struct pmi1_ops *ops;
	void *owner;
	char *kvsname;
	uint32_t size, universe, first, n_local;
	struct client *clients;
	struct pmi1_space space;
	bool is_held;
	bool is_fencing;
	char *fresh; /* put since the last barrier, as pmi1_space_merge() takes it */
	size_t n_fresh, room;
	bool is_excused;
};

static const char absence[] = "it ended before MPI_Init, and others wait for it there";

static void hang_up(struct client *client)
{
	if (client->fd < 0)
		return;
	ev_io_stop(client->pmi->loop, &client->readable);
	ev_io_stop(client->pmi->loop, &client->writable);
	close(client->fd);
	client->fd = -1;
	if (client->state == CLIENT_SILENT)
		client->state = CLIENT_NEVER;
	else if (client->state != CLIENT_OVER)
		client->state = CLIENT_LOST;
}

__attribute__((format(printf, 2, 3))) static void fail(struct client *client, const char *format,
						       ...)
{
	struct pmi1 *pmi = client->pmi;
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	client->state = CLIENT_LOST;
	hang_up(client);
	pmi->ops->abort(client->rank, 1, text, pmi->owner);
}

static void flush(struct client *client)
{
	ssize_t n = send(client->fd, client->out, client->n_out, MSG_NOSIGNAL);

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		hang_up(client);
		return;
	}
	if (n > 0) {
		client->n_out -= (size_t)n;
		memmove(client->out, client->out + n, client->n_out);
	}
	if (client->n_out) {
		ev_io_stop(client->pmi->loop, &client->readable);
		ev_io_start(client->pmi->loop, &client->writable);
	} else {
		ev_io_stop(client->pmi->loop, &client->writable);
		ev_io_start(client->pmi->loop, &client->readable);
	}
}

/* At most the answer to a barrier and the answer to one line more are under way: both have room. */
__attribute__((format(printf, 2, 3))) static void answer(struct client *client, const char *format,
							 ...)
{
	size_t room = OUT_MAX - client->n_out;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(client->out + client->n_out, room, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= room) {
		fail(client, "PMI-1: it does not read its answers");
		return;
	}
	client->n_out += (size_t)n;
	flush(client);
}

/* --- barrier --- */

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
		else if (client->state == CLIENT_NEVER)
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
			fail(&pmi->clients[i], "PMI-1: the barrier failed: %s", strerror(error));
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
 * Nobody here will come to a barrier any more, and one never began: whether that matters, other
 * hosts know.
 */
static void excuse(struct pmi1 *pmi)
{
	uint32_t rank = pmi->first + pmi->n_local;
	char data[16] = "";

	for (uint32_t i = pmi->n_local; i--;) {
		if (pmi->clients[i].state == CLIENT_NEVER)
			rank = pmi->clients[i].rank;
		else if (pmi->clients[i].state != CLIENT_OVER)
			return;
	}
	if (pmi->is_excused || pmi->n_local == pmi->size || rank == pmi->first + pmi->n_local)
		return;
	pmi->is_excused = true;
	fence(pmi, data, 1 + (size_t)sprintf(data + 1, "%u", rank) + 1);
}

static void check_barrier(struct pmi1 *pmi)
{
	struct client *absent;

	if (pmi->is_fencing)
		return;
	if (!is_barrier_full(pmi, &absent)) {
		excuse(pmi);
	} else if (absent) {
		fail(absent, "%s", absence);
	} else {
		fence(pmi, pmi->fresh, pmi->n_fresh);
		pmi->n_fresh = 0;
	}
}

/* Whether a rank of another host never came; then nobody here needs to wait. */
static bool is_in_vain(struct pmi1 *pmi)
{
	const char *rank = pmi1_space_get(&pmi->space, "");

	for (uint32_t i = 0; rank && i < pmi->n_local; i++)
		if (pmi->clients[i].state == CLIENT_BARRIER) {
			pmi->ops->abort((uint32_t)strtoul(rank, NULL, 10), 1, absence, pmi->owner);
			return true;
		}
	return rank;
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
		answer(client, "cmd=barrier_out rc=0\n");
	}
}

/* --- commands --- */

static bool is_space(const struct client *client, const struct pmi1_line *line)
{
	const char *name = pmi1_line_get(line, "kvsname");

	return name && !strcmp(name, client->pmi->kvsname);
}

static int remember(struct pmi1 *pmi, const char *key, const char *value)
{
	size_t n_key = strlen(key) + 1, n_value = strlen(value) + 1;
	size_t need = pmi->n_fresh + n_key + n_value;

	if (need > pmi->room) {
		char *fresh = realloc(pmi->fresh, need * 2);

		if (!fresh)
			return -ENOMEM;
		pmi->fresh = fresh;
		pmi->room = need * 2;
	}
	memcpy(pmi->fresh + pmi->n_fresh, key, n_key);
	memcpy(pmi->fresh + pmi->n_fresh + n_key, value, n_value);
	pmi->n_fresh = need;
	return 0;
}

static void on_init(struct client *client, const struct pmi1_line *line)
{
	const char *version = pmi1_line_get(line, "pmi_version");

	if (!version || strcmp(version, "1") || client->state != CLIENT_SILENT) {
		answer(client, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n");
		return;
	}
	client->state = CLIENT_ACTIVE;
	client->pmi->ops->initialized(client->rank, client->pmi->owner);
	answer(client, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
}

static void on_maxes(struct client *client, const struct pmi1_line *line)
{
	(void)line;
	answer(client, "cmd=maxes rc=0 kvsname_max=%d keylen_max=%d vallen_max=%d\n", KVSNAME_MAX,
	       PMI1_KEY_MAX, PMI1_VALUE_MAX);
}

static void on_appnum(struct client *client, const struct pmi1_line *line)
{
	(void)line;
	answer(client, "cmd=appnum rc=0 appnum=%u\n", client->appnum);
}

static void on_kvsname(struct client *client, const struct pmi1_line *line)
{
	(void)line;
	answer(client, "cmd=my_kvsname rc=0 kvsname=%s\n", client->pmi->kvsname);
}

static void on_universe(struct client *client, const struct pmi1_line *line)
{
	uint32_t universe = client->pmi->universe;

	(void)line;
	answer(client, "cmd=universe_size rc=0 size=%d\n", universe ? (int)universe : -1);
}

static void on_put(struct client *client, const struct pmi1_line *line)
{
	const char *key = pmi1_line_get(line, "key"), *value = pmi1_line_get(line, "value");
	struct pmi1 *pmi = client->pmi;
	const char *wrong = NULL;
	int rc;

	if (!key || !*key || !value || !is_space(client, line)) {
		answer(client, "cmd=put_result rc=-1 msg=needs_kvsname_key_value\n");
		return;
	}
	client->n_put += strlen(key) + strlen(value) + 2;
	if (client->n_put > PUT_MAX) {
		answer(client, "cmd=put_result rc=-1 msg=rank_has_put_more_than_%u_bytes\n",
		       PUT_MAX);
		return;
	}
	rc = pmi1_space_put(&pmi->space, key, value);
	if (!rc)
		rc = remember(pmi, key, value);
	if (rc)
		wrong = rc == -EMSGSIZE ? "key_or_value_too_long" : "no_memory";
	answer(client, "cmd=put_result rc=%d msg=%s\n", rc ? -1 : 0, wrong ? wrong : "success");
}

static void on_get(struct client *client, const struct pmi1_line *line)
{
	const char *key = pmi1_line_get(line, "key"), *value = NULL;

	if (key && is_space(client, line))
		value = pmi1_space_get(&client->pmi->space, key);
	if (value)
		answer(client, "cmd=get_result rc=0 msg=success value=%s\n", value);
	else
		answer(client, "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
}

static void on_barrier(struct client *client, const struct pmi1_line *line)
{
	(void)line;
	if (client->state == CLIENT_BARRIER) {
		fail(client, "PMI-1: cmd=barrier_in within a barrier");
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
	answer(client, "cmd=finalize_ack rc=0\n");
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
	answer(client, "cmd=%.*s_result rc=-1 msg=PMI-1_names_are_not_offered\n",
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
		fail(client, "PMI-1: cmd=%.64s %s", line->command,
		     client->state == CLIENT_OVER ? "after cmd=finalize" : "before cmd=init");
		return;
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(line->command, commands[i].name)) {
			commands[i].run(client, line);
			return;
		}
	fail(client, "PMI-1: cmd=%.64s is not offered", line->command);
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
		answer(client, "cmd=spawn_result rc=-1 msg=MPI_Comm_spawn_needs_PMIx\n");
		return;
	}
	if (pmi1_line_decode(&line, text, size))
		fail(client, "PMI-1: a line that is not cmd=... name=value");
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
		fail(client, "PMI-1: a line of more than %d bytes", PMI1_LINE_MAX);
	/* It may have gone by what it read, or by an answer that found nobody. */
	if (client->fd < 0)
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
		hang_up(client);
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
	flush(client);
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
	for (uint32_t i = 0; i < pmi->n_local; i++)
		hang_up(&pmi->clients[i]);
	pmi1_space_fini(&pmi->space);
	free(pmi->clients);
	free(pmi->kvsname);
	free(pmi->fresh);
	free(pmi);
}

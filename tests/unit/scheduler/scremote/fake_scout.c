// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/scheduler/scremote/fake_scout.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scheduler/proto/frame.h"
#include "scheduler/proto/head.h"
#include "scheduler/proto/ops.h"
#include "scheduler/scremote/agent.h"
#include "scheduler/scremote/environment.h"
#include "tests/harness/tap.h"

#define AGENT_FD 3

static _Noreturn void be_agent(int fd, const char *munge_socket, const char *home)
{
	struct scremote_options options = {
		.fd = AGENT_FD, .host = SCOUT_HOST, .munge_socket = munge_socket};
	struct ev_loop *loop;
	struct agent agent;
	char why[256];

	/* The ends of other scouts' connections would keep those open. */
	dup2(fd, AGENT_FD);
	close_range(AGENT_FD + 1, ~0u, 0);
	loop = ev_loop_new(EVFLAG_AUTO);
	if (home)
		setenv("HOME", home, 1);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	if (!loop || environment_complete() || agent_open(&agent, loop, &options, why, sizeof(why)))
		_exit(1);
	ev_run(loop, 0);
	agent_close(&agent);
	ev_run(loop, 0);
	ev_loop_destroy(loop);
	_exit(0);
}

void scout_open(struct scout *scout)
{
	scout_open_with(scout, NULL, NULL);
}

void scout_open_with(struct scout *scout, const char *munge_socket, const char *home)
{
	int pair[2];

	*scout = (struct scout){.fd = -1};
	must(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	fflush(NULL);
	scout->agent = fork();
	if (!scout->agent) {
		close(pair[0]);
		be_agent(pair[1], munge_socket, home);
	}
	close(pair[1]);
	scout->fd = pair[0];
	is_str(scout_hear(scout, SCOUT_HEAR_MS), OP_REMOTE_READY);
}

void scout_close(struct scout *scout)
{
	close(scout->fd);
	json_decref(scout->head);
	free(scout->bytes);
	if (scout->agent > 0)
		waitpid(scout->agent, NULL, 0);
}

/* ---- messages ---- */

static void write_all(int fd, const char *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = send(fd, bytes + done, size - done, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		done += (size_t)n;
	}
}

void scout_say(struct scout *scout, json_t *head, const void *body, size_t size)
{
	size_t head_size = 0;
	char *bytes = head ? frame_encode(head, size, &head_size) : NULL;

	json_decref(head);
	must(bytes != NULL);
	write_all(scout->fd, bytes, head_size);
	write_all(scout->fd, body, size);
	free(bytes);
}

/* Some more bytes; false: none. */
static bool read_more(struct scout *scout, int ms)
{
	struct pollfd on = {.fd = scout->fd, .events = POLLIN};
	ssize_t n;

	if (scout->room - scout->n < FRAME_CHUNK) {
		scout->room = 2 * scout->room + 2 * FRAME_CHUNK;
		scout->bytes = realloc(scout->bytes, scout->room);
	}
	if (poll(&on, 1, ms) <= 0)
		return false;
	n = recv(scout->fd, scout->bytes + scout->n, scout->room - scout->n, 0);
	scout->n += n > 0 ? (size_t)n : 0;
	return n > 0;
}

const char *scout_hear(struct scout *scout, int ms)
{
	struct frame frame;
	size_t used;

	/* The last one lies at the front. */
	if (scout->head) {
		size_t done = (size_t)(scout->body + scout->body_size - scout->bytes);

		scout->n -= done;
		memmove(scout->bytes, scout->bytes + done, scout->n);
		json_decref(scout->head);
		scout->head = NULL;
	}
	while (frame_decode(&frame, scout->bytes, scout->n, FRAME_MAX, &used) != 1)
		if (!read_more(scout, ms))
			return "";
	scout->head = frame.head;
	scout->body = frame.body;
	scout->body_size = frame.body_size;
	return head_text(scout->head, "op");
}

int64_t scout_number(const struct scout *scout, const char *name)
{
	return json_integer_value(json_object_get(scout->head, name));
}

const char *scout_text(const struct scout *scout, const char *name)
{
	return scout->head ? head_text(scout->head, name) : "";
}

/* ---- commands ---- */

void scout_run(struct scout *scout, const char *line, json_t *more)
{
	json_t *head = json_pack("{s:s, s:i, s:[s, s, s]}", "op", OP_RUN, "id", 1, "argv", "sh",
				 "-c", line);

	if (more)
		json_object_update(head, more);
	json_decref(more);
	scout_say(scout, head, NULL, 0);
}

static void take_out(struct scout *scout, struct scout_end *end)
{
	int64_t stream = scout_number(scout, "stream");
	size_t *size;

	must(stream == 1 || stream == 2);
	size = &end->size[stream - 1];
	end->out[stream - 1] = realloc(end->out[stream - 1], *size + scout->body_size + 1);
	memcpy(end->out[stream - 1] + *size, scout->body, scout->body_size);
	*size += scout->body_size;
	end->out[stream - 1][*size] = 0;
	scout_say(scout,
		  json_pack("{s:s, s:i, s:I}", "op", OP_OUT_ROOM, "id", 1, "bytes",
			    (json_int_t)scout->body_size),
		  NULL, 0);
}

struct scout_end scout_end_of(struct scout *scout)
{
	struct scout_end end = {.out = {strdup(""), strdup("")}};
	const char *op;

	while (*(op = scout_hear(scout, SCOUT_HEAR_MS)) && strcmp(op, OP_ENDED) != 0)
		if (!strcmp(op, OP_OUT))
			take_out(scout, &end);
	is_str(op, OP_ENDED);
	end.status = (int)scout_number(scout, "status");
	snprintf(end.error, sizeof(end.error), "%s", scout_text(scout, "error"));
	snprintf(end.text, sizeof(end.text), "%s", scout_text(scout, "text"));
	return end;
}

void scout_free_end(struct scout_end *end)
{
	free(end->out[0]);
	free(end->out[1]);
}

pid_t scout_pid(struct scout *scout)
{
	is_str(scout_hear(scout, SCOUT_HEAR_MS), OP_OUT);
	return scout->head ? atoi(scout->body) : 0;
}

/* ---- files ---- */

int names_in(const char *directory)
{
	DIR *dir = opendir(directory);
	const struct dirent *entry;
	int n = 0;

	while (dir && (entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return n;
}

bool has_names_soon(const char *directory, int want)
{
	struct pollfd on = {.fd = inotify_init1(IN_CLOEXEC), .events = POLLIN};
	char events[4096];
	bool has_them;

	ok(inotify_add_watch(on.fd, directory, IN_CREATE | IN_DELETE | IN_MOVE) >= 0);
	while (!(has_them = names_in(directory) == want))
		if (poll(&on, 1, SCOUT_HEAR_MS) <= 0 || read(on.fd, events, sizeof(events)) <= 0)
			break;
	close(on.fd);
	return has_them;
}

/* ---- processes ---- */

bool is_gone(pid_t pid)
{
	struct pollfd on = {.fd = pidfd_open(pid, 0), .events = POLLIN};
	bool is_over;

	if (on.fd < 0)
		return errno == ESRCH;
	is_over = poll(&on, 1, SCOUT_HEAR_MS) > 0;
	close(on.fd);
	return is_over;
}

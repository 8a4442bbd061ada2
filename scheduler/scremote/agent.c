// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scremote/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "scheduler/proto/ops.h"
#include "scheduler/proto/program.h"
#include "scheduler/scremote/get.h"
#include "scheduler/scremote/message.h"
#include "scheduler/scremote/parent.h"
#include "scheduler/scremote/put.h"
#include "scheduler/scremote/run.h"

#define LINGER_S 1 /* for our last word */

/* ---- the end ---- */

static void end(struct agent *agent, double linger)
{
	struct run *run;

	TAILQ_FOREACH(run, &agent->runs, all)
		agent->is_cut |= run_is_under_way(run);
	while (!TAILQ_EMPTY(&agent->runs))
		run_free(TAILQ_FIRST(&agent->runs));
	while (!TAILQ_EMPTY(&agent->puts))
		put_free(TAILQ_FIRST(&agent->puts));
	while (!TAILQ_EMPTY(&agent->gets))
		get_free(TAILQ_FIRST(&agent->gets));
	parents_close(agent->parents);
	agent->parents = NULL;
	if (agent->link)
		link_close(agent->link, linger);
	agent->link = NULL;
	ev_break(agent->loop, EVBREAK_ALL);
}

static void closed(struct link *link, int error, const char *why, void *owner)
{
	struct agent *agent = owner;

	(void)link;
	agent->link = NULL;
	/* A scout that closes has all it wants. */
	if (error)
		snprintf(agent->why, sizeof(agent->why), "%s", why);
	end(agent, 0);
}

/* A process that says this is no scout of ours: nothing it has started goes on. */
static void refuse(struct agent *agent, uint64_t id, const char *why)
{
	agent_send(agent,
		   json_pack("{s:s, s:I, s:s, s:o}", "op", OP_ERROR, "id", (json_int_t)id, "error",
			     "EPROTO", "text", agent_text(why)),
		   NULL, 0);
	end(agent, LINGER_S);
}

/* ---- what scout says ---- */

static void start(struct agent *agent, const struct message *m)
{
	if (run_find(agent, m->id))
		refuse(agent, m->id, "run: this id is that of a command that has not ended");
	else
		run_start(agent, m);
}

static void start_get(struct agent *agent, const struct message *m)
{
	if (get_find(agent, m->id))
		refuse(agent, m->id, "get: this id is that of a file that is being sent");
	else
		get_start(agent, m);
}

static int start_put(struct agent *agent, struct link *from, const struct message *m)
{
	if (put_find(agent, from, m->id))
		return -EPROTO;
	put_start(agent, from, m);
	return 0;
}

/* One that has failed takes the rest as well, so that nobody waits. */
static void give_room(struct link *to, uint64_t id, size_t bytes)
{
	if (bytes)
		link_send(to,
			  json_pack("{s:s, s:I, s:I}", "op", OP_IN_ROOM, "id", (json_int_t)id,
				    "bytes", (json_int_t)bytes),
			  NULL, 0);
}

int agent_take_file(struct agent *agent, struct link *from, const struct message *m,
		    const char *body, size_t size)
{
	struct put *put;

	if (m->kind == MESSAGE_PUT)
		return start_put(agent, from, m);
	if (m->kind != MESSAGE_DATA)
		return -EPROTO;
	put = put_find(agent, from, m->id);
	if (put)
		return put_data(put, body, size);
	give_room(from, m->id, size);
	return 0;
}

static void open_door(struct agent *agent)
{
	int err = 0;

	if (!agent->parents)
		agent->parents = parents_open(agent);
	if (!agent->parents)
		err = errno;
	agent_send(agent,
		   err ? json_pack("{s:s, s:s, s:s}", "op", OP_ERROR, "error", strerrorname_np(err),
				   "text", strerror(err))
		       : json_pack("{s:s, s:i}", "op", OP_DOOR_OPEN, "port",
				   parents_port(agent->parents)),
		   NULL, 0);
}

static void make_room(struct agent *agent, const struct message *m)
{
	struct run *run = run_find(agent, m->id);
	struct get *get = run ? NULL : get_find(agent, m->id);

	if (run)
		run_room(run, m->bytes);
	else if (get)
		get_room(get, m->bytes);
}

/* To what has ended, which scout did not know yet, nothing is done. */
static void take_signal(struct agent *agent, const struct message *m)
{
	struct run *run = run_find(agent, m->id);
	struct get *get = run ? NULL : get_find(agent, m->id);

	if (run)
		run_signal(run, m->signal);
	else if (get)
		get_cancel(get);
}

static void take_input(struct agent *agent, const struct message *m, const char *body, size_t size)
{
	struct run *run = run_find(agent, m->id);

	if (run && run_input(run, body, size))
		refuse(agent, m->id, "in: more bytes than there was room for");
}

static void take(struct agent *agent, const struct message *m, const char *body, size_t size)
{
	switch (m->kind) {
	case MESSAGE_PING:
		agent_send(agent, json_pack("{s:s, s:I}", "op", OP_PONG, "id", (json_int_t)m->id),
			   NULL, 0);
		break;
	case MESSAGE_RUN:
		start(agent, m);
		break;
	case MESSAGE_IN:
		take_input(agent, m, body, size);
		break;
	case MESSAGE_SIGNAL:
		take_signal(agent, m);
		break;
	case MESSAGE_OUT_ROOM:
		make_room(agent, m);
		break;
	case MESSAGE_PUT:
	case MESSAGE_DATA:
		if (agent_take_file(agent, agent->link, m, body, size))
			refuse(agent, m->id,
			       "put: it is there already, or more came than had room");
		break;
	case MESSAGE_GET:
		start_get(agent, m);
		break;
	case MESSAGE_DOOR_WANTED:
		open_door(agent);
		break;
	case MESSAGE_IN_ROOM:
		refuse(agent, m->id, "in_room: that is ours to give");
		break;
	}
}

/*
 * A command or file that cannot be understood is one that has ended; all else ends the connection.
 */
static void misunderstood(struct agent *agent, const struct message *m, int err, const char *why)
{
	struct keeper_report report = {.status = PROGRAM_NOT_EXECUTABLE << 8, .error = -err};

	if (!m->id || err == -ENOTSUP) {
		refuse(agent, m->id, why);
	} else if (m->kind == MESSAGE_RUN && !run_find(agent, m->id)) {
		snprintf(report.text, sizeof(report.text), "%s", why);
		run_refuse(agent, m->id, &report);
	} else if (m->kind == MESSAGE_PUT || m->kind == MESSAGE_GET) {
		agent_send_failed(agent, m->id, -err, why);
	} else {
		refuse(agent, m->id, why);
	}
}

static void message(struct link *link, const char *op, json_t *head, const char *body, size_t size,
		    void *owner)
{
	struct agent *agent = owner;
	struct message m;
	char why[512];
	int err = message_decode(&m, op, head, why, sizeof(why));

	(void)link;
	if (err)
		misunderstood(agent, &m, err, why);
	else
		take(agent, &m, body, size);
	message_free(&m);
}

static void drained(struct link *link, void *owner)
{
	struct agent *agent = owner;
	struct run *run;
	struct get *get;

	(void)link;
	TAILQ_FOREACH(run, &agent->runs, all)
		run_resume(run);
	TAILQ_FOREACH(get, &agent->gets, all)
		get_resume(get);
}

/* ---- the beginning ---- */

static void ready(struct link *link, void *owner)
{
	struct agent *agent = owner;
	json_t *head = json_pack("{s:s, s:s, s:s, s:I}", "op", OP_REMOTE_READY, "version",
				 PM_VERSION, "host", agent->host, "pid", (json_int_t)getpid());

	(void)link;
	if (agent->key)
		json_object_set_new(head, "key", json_string(agent->key));
	agent_send(agent, head, NULL, 0);
}

static const struct link_events events = {.ready = ready,
					  .message = message,
					  .drained = drained,
					  .closed = closed};

static void name_host(struct agent *agent, const char *name)
{
	if (name)
		snprintf(agent->host, sizeof(agent->host), "%s", name);
	else if (!gethostname(agent->host, sizeof(agent->host) - 1))
		agent->host[strcspn(agent->host, ".")] = 0;
}

/* A connected unix socket whose other end is ours or root's, or -errno. */
static int connect_path(const char *path, char *why, size_t why_size)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	struct ucred who;
	socklen_t size = sizeof(who);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), err;

	if (snprintf(to.sun_path, sizeof(to.sun_path), "%s", path) >= (int)sizeof(to.sun_path))
		errno = ENAMETOOLONG;
	else if (fd >= 0 && !connect(fd, (struct sockaddr *)&to, sizeof(to)) &&
		 !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size)) {
		if (!who.uid || who.uid == geteuid())
			return fd;
		errno = EPERM;
	}
	err = -errno;
	snprintf(why, why_size, "%s: %s; is scout running there?", path, strerror(-err));
	if (fd >= 0)
		close(fd);
	return err;
}

/* Takes it from standard input, where nobody finds it again. */
static int read_seal(struct seal *seal, char *why, size_t why_size)
{
	ssize_t n = read(STDIN_FILENO, seal, sizeof(*seal));
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	bool is_done = null >= 0 && dup2(null, STDIN_FILENO) >= 0;

	if (null >= 0)
		close(null);
	if (n == (ssize_t)sizeof(*seal) && is_done)
		return 0;
	snprintf(
		why, why_size,
		"--sealed: no seal of %zu bytes at standard input; only scnoded gives it, and must "
		"be of one version with scremote",
		sizeof(*seal));
	return -EPROTO;
}

static int open_local(struct agent *agent, int fd, bool is_sealed, char *why, size_t why_size)
{
	struct seal seal;
	int type, err;
	socklen_t size = sizeof(type);

	if (fd < 0)
		return fd;
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size)) {
		snprintf(why, why_size, "--fd %d: %s; only scnoded and scout give it", fd,
			 strerror(errno));
		return -errno;
	}
	if (!is_sealed) {
		agent->link = link_local(agent->loop, fd, geteuid(), &events, agent);
		return 0;
	}
	err = read_seal(&seal, why, why_size);
	if (!err)
		agent->link = link_take_over(agent->loop, fd, geteuid(), &seal, &events, agent);
	seal_forget(&seal);
	return err;
}

static int open_remote(struct agent *agent, const struct scremote_options *o)
{
	if (agent_auth(agent))
		agent->link = link_connect(agent->loop, agent->auth, o->connect, 0, "remote",
					   (uid_t)-1, &events, agent);
	return 0;
}

int agent_open(struct agent *agent, struct ev_loop *loop, const struct scremote_options *options,
	       char *why, size_t why_size)
{
	bool is_path = options->connect && strchr(options->connect, '/');
	int err;

	*agent = (struct agent){
		.loop = loop, .key = options->key, .munge_socket = options->munge_socket};
	TAILQ_INIT(&agent->runs);
	TAILQ_INIT(&agent->puts);
	TAILQ_INIT(&agent->gets);
	name_host(agent, options->host);
	if (is_path || !options->connect)
		err = open_local(agent,
				 is_path ? connect_path(options->connect, why, why_size)
					 : options->fd,
				 options->is_sealed, why, why_size);
	else
		err = open_remote(agent, options);
	if (!err && !agent->link) {
		snprintf(why, why_size, "no memory");
		err = -ENOMEM;
	}
	/* There is no handshake to wait for. */
	if (!err && !agent->auth)
		ready(agent->link, agent);
	return err;
}

void agent_close(struct agent *agent)
{
	end(agent, LINGER_S);
	auth_close(agent->auth);
	agent->auth = NULL;
}

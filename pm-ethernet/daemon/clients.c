// SPDX-License-Identifier: BSD-3-Clause
/* A client asks one thing at a time: while an answer is on its way nothing is read from it. */
#include "pm-ethernet/daemon/clients.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "pm-ethernet/daemon/closer.h"
#include "pm-ethernet/daemon/contexts.h"
#include "pm-ethernet/daemon/process.h"
#include "pm-ethernet/daemon/sources.h"
#include "pm-ethernet/daemon/state.h"
#include "pmcore/util/clock.h"

/*
 * The kernel charges us for answers that a client does not read. It takes two pieces of a report,
 * then the rest waits here.
 */
#define SEND_BYTES ((int)(2 * sizeof(struct eth_report)))
#define SAY_AGAIN_NS 60000000000ull

struct ethd_client {
	struct ethd_client *next;
	int fd, pidfd;
	uid_t uid;
	pid_t pid;
	uint16_t context;                       /* its lease, 0 = none */
	uint64_t waits_from_ns, waits_until_ns; /* for a queue that is busy; 0 = doesn't wait */
	uint64_t retry_ns;                      /* when to try next */
	struct eth_request request;
	struct eth_granted granted; /* its context as it was answered */
	char *report;               /* text that is on its way, NULL = none */
	size_t report_len, report_at;
	int report_error;       /* != 0: its text says why there is no report */
	uint64_t last_piece;    /* pieces are numbered in the order in which they were sent */
	uint64_t last_piece_ns; /* when the socket took it */
};

void ethd_clients_bound(struct ethd *d, uint32_t n_files)
{
	uint32_t part = n_files / ETHD_UID_PART;

	d->n_files = n_files;
	d->uid_contexts = part < 1 ? 1 : part < ETHD_UID_CONTEXTS ? part : ETHD_UID_CONTEXTS;
	if (part < ETHD_UID_CONTEXTS)
		ethd_say("%u descriptors are for %u contexts of each user; allow %u (LimitNOFILE=, "
			 "'ulimit -Hn')",
			 n_files, d->uid_contexts, ETHD_FILES);
}

/* Given up for a moment where there is no other, so that whoever connects is told. */
static int open_spare(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/*
 * Takes the place of the socket of a daemon that was killed, once it can be asked. Clients find one
 * of the two sockets at any time, and by the old one they know that a daemon was here.
 */
static int listen_at(int fd, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (snprintf(address.sun_path, sizeof(address.sun_path), "%s.new", path) >=
	    (int)sizeof(address.sun_path))
		return -ENAMETOOLONG;
	unlink(address.sun_path);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    chmod(address.sun_path, 0666) || listen(fd, ETHD_CLIENTS_MAX) ||
	    rename(address.sun_path, path))
		return -errno;
	return 0;
}

int ethd_clients_open(struct ethd *d, char *why, size_t why_size)
{
	char path[PATH_MAX];
	int err;

	snprintf(path, sizeof(path), "%s/socket", d->options.run);
	d->spare = open_spare();
	d->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	err = d->listener < 0 ? -errno : listen_at(d->listener, path);
	if (!err)
		return ethd_source_add(d, d->listener, EPOLLIN, ETHD_SOURCE_LISTENER, 0);
	snprintf(why, why_size, "socket %s: %s; choose another directory with --run", path,
		 strerror(-err));
	return err;
}

/* No descriptor is left for a connection. The next one that waits would wake us for ever. */
static void turn_away(struct ethd *d)
{
	struct eth_granted g = {
		.magic = ETH_ATTACH_MAGIC, .version = ETH_ATTACH_VERSION, .error = EMFILE};
	int fd;

	close(d->spare);
	fd = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	snprintf(g.why, sizeof(g.why),
		 "pm-ethernetd has no descriptor left of %u; end other programs, or allow it more "
		 "(LimitNOFILE=)",
		 d->n_files);
	if (fd >= 0) {
		(void)send(fd, &g, sizeof(g), MSG_DONTWAIT | MSG_NOSIGNAL);
		close(fd);
	}
	d->spare = open_spare();
}

static uint32_t count_of(const struct ethd *d, uid_t uid)
{
	uint32_t n = 0;

	for (const struct ethd_client *c = d->clients; c; c = c->next)
		n += c->uid == uid;
	return n;
}

static int identify(struct ethd_client *client)
{
	struct ucred who;
	socklen_t len = sizeof(who);

	if (getsockopt(client->fd, SOL_SOCKET, SO_PEERCRED, &who, &len) ||
	    setsockopt(client->fd, SOL_SOCKET, SO_SNDBUF, &(int){SEND_BYTES}, sizeof(int)))
		return -errno;
	client->uid = who.uid;
	client->pid = who.pid;
	client->pidfd = ethd_process_peer(client->fd, who.pid);
	return 0;
}

/* An answer without descriptors. */
static int say(struct ethd_client *client, int err, const char *why)
{
	struct eth_granted g = {
		.magic = ETH_ATTACH_MAGIC, .version = ETH_ATTACH_VERSION, .error = -err};

	snprintf(g.why, sizeof(g.why), "%s", why);
	return send(client->fd, &g, sizeof(g), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

void ethd_clients_accept(struct ethd *d)
{
	int fd = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ethd_client *client;

	if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
		turn_away(d);
		return;
	}
	if (fd < 0) {
		if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
			ethd_say("a connection could not be taken: %m");
		return;
	}
	client = calloc(1, sizeof(*client));
	if (!client) {
		close(fd);
		return;
	}
	client->fd = fd;
	client->pidfd = -1;
	client->next = d->clients;
	d->clients = client;
	d->n_clients++;
	if (identify(client) || d->n_clients > ETHD_CLIENTS_MAX ||
	    count_of(d, client->uid) > d->uid_contexts) {
		say(client, -EDQUOT, "too many connections to pm-ethernetd on this host");
		ethd_client_close(d, client);
		return;
	}
	if (ethd_source_add(d, fd, EPOLLIN, ETHD_SOURCE_CLIENT, (uintptr_t)client))
		ethd_client_close(d, client);
}

void ethd_client_close(struct ethd *d, struct ethd_client *client)
{
	struct ethd_client **at = &d->clients;

	while (*at != client)
		at = &(*at)->next;
	*at = client->next;
	d->n_clients--;
	ethd_source_remove(d, client->fd);
	if (client->context)
		ethd_context_release(d, client->context);
	close(client->fd);
	if (client->pidfd >= 0)
		close(client->pidfd);
	free(client->report);
	free(client);
}

void ethd_clients_forget(struct ethd *d)
{
	while (d->clients) {
		struct ethd_client *client = d->clients;

		d->clients = client->next;
		free(client->report);
		free(client);
	}
}

static int send_granted(struct ethd_client *client, const struct ethd_answer *answer)
{
	union {
		char room[CMSG_SPACE(sizeof(answer->fds))];
		struct cmsghdr align;
	} control = {0};
	struct iovec part = {(void *)&answer->granted, sizeof(answer->granted)};
	struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};
	size_t bytes = answer->granted.n_fds * sizeof(int);
	struct cmsghdr *head;

	if (bytes) {
		msg.msg_control = control.room;
		msg.msg_controllen = CMSG_SPACE(bytes);
		head = CMSG_FIRSTHDR(&msg);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(bytes);
		memcpy(CMSG_DATA(head), answer->fds, bytes);
	}
	return sendmsg(client->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* ATTACH and RESUME. */
static int attach(struct ethd *d, struct ethd_client *client)
{
	struct ethd_asker who = {.client = client,
				 .uid = client->uid,
				 .pid = client->pid,
				 .pidfd = client->pidfd,
				 .resuming = client->context};
	struct ethd_answer answer = {0};
	int err = ethd_context_attach(d, &who, &client->request, &answer);

	if (err)
		return say(client, err, answer.granted.why);
	client->context = answer.granted.context;
	client->granted = answer.granted;
	err = send_granted(client, &answer);
	ethd_answer_close(&answer);
	return err;
}

/* MAPPED: 0 answered or waiting, else the client is to be closed. */
static int bind_mapped(struct ethd *d, struct ethd_client *client, uint64_t now)
{
	bool is_last_try = client->waits_until_ns && now >= client->waits_until_ns;
	struct eth_granted *g = &client->granted;
	int err = ethd_context_bind(d, client->context, is_last_try, g);

	if (err == ETHD_WAIT) {
		if (!client->waits_until_ns)
			client->waits_from_ns = now;
		/*
		 * Sockets that had it may still be closed: the kernel has not begun to free it.
		 * Nobody waits longer for closes that began later.
		 */
		if (!client->waits_until_ns || (ethd_closer_is_busy(d, client->waits_from_ns) &&
						now - client->waits_from_ns < ETHD_CLOSING_NS))
			client->waits_until_ns = now + ETHD_BUSY_NS;
		client->retry_ns = now + ETHD_RETRY_NS;
		return 0;
	}
	client->waits_until_ns = 0;
	if (!err)
		return send(client->fd, g, sizeof(*g), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno
											: 0;
	if (!d->contexts[client->context].key)
		client->context = 0;
	return say(client, err, g->why);
}

static int mapped(struct ethd *d, struct ethd_client *client)
{
	const struct ethd_context *c = &d->contexts[client->context];

	if (!client->context || c->key != client->request.key || !c->is_pending)
		return say(client, -ENOENT, "nothing was granted that waits to be bound");
	return bind_mapped(d, client, clock_monotonic_ns());
}

/*
 * A process whose context an earlier daemon granted comes with a new connection: the lease is this
 * one from now on.
 */
static void take_over(struct ethd *d, struct ethd_client *client)
{
	const struct eth_request *r = &client->request;
	struct ethd_context *c = &d->contexts[r->want_context];

	if (client->context || !r->want_context || c->key != r->key || c->client ||
	    c->uid != client->uid || !c->pid || c->pid != client->pid)
		return;
	client->context = r->want_context;
	c->client = client;
}

static int suspend(struct ethd *d, struct ethd_client *client)
{
	take_over(d, client);
	if (!client->context || d->contexts[client->context].key != client->request.key)
		return say(client, -ENOENT, "no context of this process to suspend");
	ethd_context_suspend(d, client->context);
	ethd_state_save(d);
	return say(client, 0, "");
}

static int resume(struct ethd *d, struct ethd_client *client)
{
	const struct ethd_context *c;

	take_over(d, client);
	c = &d->contexts[client->context];
	if (!client->context || c->key != client->request.key)
		return say(client, -ENOENT, "no context of this process to resume");
	if (c->attachment != ETH_DETACHED)
		return say(client, -EALREADY, "the context is not suspended");
	return attach(d, client);
}

/* As many pieces as the client has room for. */
static int send_report(struct ethd *d, struct ethd_client *client)
{
	while (client->report) {
		size_t left = client->report_len - client->report_at;
		struct eth_report piece = {.magic = ETH_ATTACH_MAGIC,
					   .version = ETH_ATTACH_VERSION,
					   .error = client->report_error};

		piece.length = (uint32_t)(left < sizeof(piece.text) ? left : sizeof(piece.text));
		piece.more = left > piece.length;
		memcpy(piece.text, client->report + client->report_at, piece.length);
		if (send(client->fd, &piece, sizeof(piece), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
			if (errno != EAGAIN)
				return -errno;
			return ethd_source_change(d, client->fd, EPOLLOUT, ETHD_SOURCE_CLIENT,
						  (uintptr_t)client);
		}
		client->report_at += piece.length;
		client->last_piece = ++d->last_piece;
		client->last_piece_ns = clock_monotonic_ns();
		if (piece.more)
			continue;
		free(client->report);
		client->report = NULL;
	}
	return ethd_source_change(d, client->fd, EPOLLIN, ETHD_SOURCE_CLIENT, (uintptr_t)client);
}

/* Its report waits until it has read more. A sentence that takes the place of one is short. */
static bool is_behind(const struct ethd_client *client, uid_t uid)
{
	return client->report && !client->report_error && client->uid == uid;
}

static uint32_t count_behind(const struct ethd *d, uid_t uid)
{
	uint32_t n = 0;

	for (const struct ethd_client *c = d->clients; c; c = c->next)
		n += is_behind(c, uid);
	return n;
}

/* Of those whose reports wait: the one that has read nothing for longest. */
static struct ethd_client *find_stalled(const struct ethd *d, uid_t uid)
{
	struct ethd_client *stalled = NULL;

	for (struct ethd_client *c = d->clients; c; c = c->next)
		if (is_behind(c, uid) && (!stalled || c->last_piece < stalled->last_piece))
			stalled = c;
	return stalled;
}

static void close_stalled(struct ethd *d, struct ethd_client *stalled, uint64_t now)
{
	d->n_unread++;
	if (!d->unread_said_ns || now - d->unread_said_ns >= SAY_AGAIN_NS) {
		d->unread_said_ns = now;
		ethd_say("user %u does not read the reports that its process %d asked for: no more "
			 "than %u may wait, so its connection is closed; such connections since "
			 "the start: %" PRIu64,
			 stalled->uid, (int)stalled->pid, ETHD_UID_REPORTS, d->n_unread);
	}
	ethd_client_close(d, stalled);
}

/* The rest of its report goes; what comes instead ends it for its reader. */
static int replace_report(struct ethd *d, struct ethd_client *client)
{
	char *why;

	if (asprintf(&why,
		     "user %u reads %u other reports of pm-ethernetd, as many as may wait; ask "
		     "again when one of them has ended",
		     client->uid, ETHD_UID_REPORTS) < 0)
		return -ENOMEM;
	free(client->report);
	client->report = why;
	client->report_len = strlen(why);
	client->report_at = 0;
	client->report_error = EAGAIN;
	return send_report(d, client);
}

/*
 * A report is as long as the cluster is large, so a few of a user may wait to be read. With one
 * more the connection goes that has read nothing for longest, but none that reads: then there is no
 * report for this one.
 */
static int make_room(struct ethd *d, struct ethd_client *client)
{
	struct ethd_client *stalled = find_stalled(d, client->uid);
	uint64_t now = clock_monotonic_ns();

	if (count_behind(d, client->uid) <= ETHD_UID_REPORTS)
		return 0;
	if (stalled == client || now - stalled->last_piece_ns < ETHD_READING_NS)
		return replace_report(d, client);
	close_stalled(d, stalled, now);
	return 0;
}

static int report(struct ethd *d, struct ethd_client *client)
{
	struct eth_report piece = {.magic = ETH_ATTACH_MAGIC, .version = ETH_ATTACH_VERSION};
	int err = ethd_report(d, client->request.topic, client->request.about, &client->report,
			      piece.text, ETH_WHY);

	if (err) {
		client->report = NULL;
		piece.error = -err;
		piece.length = (uint32_t)strlen(piece.text);
		return send(client->fd, &piece, sizeof(piece), MSG_DONTWAIT | MSG_NOSIGNAL) < 0
			       ? -errno
			       : 0;
	}
	client->report_len = strlen(client->report);
	client->report_at = 0;
	client->report_error = 0;
	err = send_report(d, client);
	return !err && client->report ? make_room(d, client) : err;
}

static int refuse(struct ethd_client *client, int err, size_t len)
{
	char why[ETH_WHY];

	if (err == -EPROTO)
		snprintf(why, sizeof(why),
			 "%zu bytes that are no request to pm-ethernetd (%zu bytes, magic %08x)",
			 len, sizeof(client->request), ETH_ATTACH_MAGIC);
	else if (err == -EPROTONOSUPPORT)
		snprintf(why, sizeof(why),
			 "request of version %u, this pm-ethernetd speaks %u; install libpm and "
			 "pm-ethernetd of one release",
			 client->request.version, ETH_ATTACH_VERSION);
	else
		snprintf(why, sizeof(why),
			 "a field of the request is out of range (op %u, attach %u, rails %u, "
			 "packets %u "
			 "and %u, context %u, key %s)",
			 client->request.op, client->request.attach, client->request.n_rails,
			 client->request.tx_packets, client->request.rx_packets,
			 client->request.want_context, client->request.key ? "set" : "0");
	return say(client, err, why);
}

static int obey(struct ethd *d, struct ethd_client *client, size_t len)
{
	int err = eth_request_check(&client->request, len);

	if (err)
		return refuse(client, err, len);
	switch (client->request.op) {
	case ETH_OP_ATTACH:
		if (client->context)
			return say(client, -EBUSY, "this connection has a context already");
		return attach(d, client);
	case ETH_OP_SUSPEND:
		return suspend(d, client);
	case ETH_OP_RESUME:
		return resume(d, client);
	case ETH_OP_MAPPED:
		return mapped(d, client);
	default:
		return report(d, client);
	}
}

/* Descriptors that come along are dropped by the kernel, as no room is given for them. */
static int take_request(struct ethd *d, struct ethd_client *client)
{
	ssize_t n;

	if (client->waits_until_ns)
		return -EPROTO; /* speaks before it was answered */
	memset(&client->request, 0, sizeof(client->request));
	n = recv(client->fd, &client->request, sizeof(client->request), MSG_DONTWAIT | MSG_TRUNC);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	return n ? obey(d, client, (size_t)n) : -EPIPE;
}

void ethd_client_ready(struct ethd *d, struct ethd_client *client, uint32_t events)
{
	int err;

	if (client->report)
		err = events & (EPOLLHUP | EPOLLERR) ? -EPIPE : send_report(d, client);
	else
		err = take_request(d, client);
	if (err)
		ethd_client_close(d, client);
}

void ethd_clients_retry(struct ethd *d)
{
	for (struct ethd_client *client = d->clients; client; client = client->next)
		client->retry_ns = 0;
}

uint64_t ethd_clients_timer(struct ethd *d, uint64_t now_ns)
{
	struct ethd_client *client, *next;
	uint64_t deadline = UINT64_MAX;

	for (client = d->clients; client; client = next) {
		next = client->next;
		if (!client->waits_until_ns)
			continue;
		if (client->retry_ns <= now_ns && bind_mapped(d, client, now_ns)) {
			ethd_client_close(d, client);
			continue;
		}
		if (client->waits_until_ns && client->retry_ns < deadline)
			deadline = client->retry_ns;
	}
	return deadline;
}

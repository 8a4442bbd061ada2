// SPDX-License-Identifier: BSD-3-Clause
/*
 * link_open - how a link begins: connecting, accepting, the handshake's place in it. Part of link.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/proto/link_inside.h"

#define SILENT_MS 5000  /* unanswered bytes or probes for so long: the other host is gone */
#define PROBE_AFTER_S 2 /* of silence on an idle connection */
#define PROBE_EVERY_S 1
#define PROBES 3

/* None of them is needed for a connection to work. */
static void tune(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{SOL_SOCKET, SO_KEEPALIVE, 1},
		{IPPROTO_TCP, TCP_KEEPIDLE, PROBE_AFTER_S},
		{IPPROTO_TCP, TCP_KEEPINTVL, PROBE_EVERY_S},
		{IPPROTO_TCP, TCP_KEEPCNT, PROBES},
		{IPPROTO_TCP, TCP_NODELAY, 1},
		{IPPROTO_TCP, TCP_USER_TIMEOUT, SILENT_MS},
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		(void)setsockopt(fd, options[i].level, options[i].name, &options[i].value,
				 sizeof(options[i].value));
}

static void set_limit(struct link *link, double seconds)
{
	if (link->is_closing)
		return; /* it has a shorter time already */
	ev_timer_stop(link->loop, &link->limit);
	ev_timer_set(&link->limit, seconds, 0.);
	ev_timer_start(link->loop, &link->limit);
}

/*
 * --- the handshake ------------------------------------------------------------------------------
 */

static void on_say(json_t *head, void *owner)
{
	link_say(owner, head);
}

/* From here on nobody on the way reads or alters anything. */
static int seal_all(struct link *link)
{
	unsigned char opening[SEAL_OPENING_BYTES];
	int err = seal_begin(&link->seal, &link->shake.keys, link->shake.their_key,
			     link->shake.is_listener, link->shake.cipher, opening);

	seal_keys_forget(&link->shake.keys);
	if (!err)
		err = outbox_seal(&link->out, &link->seal, opening);
	if (!err)
		err = inbox_seal(&link->in, &link->seal);
	return err;
}

static void on_shaken(void *owner)
{
	struct link *link = owner;
	int err;

	if (link->state != LINK_SHAKING)
		return;
	err = seal_all(link);
	if (err) {
		link_refuse_bytes(link, err);
		return;
	}
	link_enter(link);
	if (!link->is_closing)
		ev_timer_stop(link->loop, &link->limit);
	link->uid = link->shake.uid;
	link->gid = link->shake.gid;
	link->state = LINK_READY;
	/* A stranger is not worth it, and is gone soon. */
	if (link->shake.is_listener)
		tune(link->fd);
	outbox_join(&link->out, &link->held);
	if (link->events->ready)
		link->events->ready(link, link->owner);
	if (!link->is_released)
		link_process(link);
	if (!link->is_released && link->state == LINK_READY)
		link_flush(link);
	link_leave(link);
}

/*
 * Unread bytes would make of our end a reset, and the other side would not read why it is refused.
 */
static void on_not_shaken(int error, const char *why, void *owner)
{
	struct link *link = owner;
	char bytes[FRAME_MAX_STRANGER];

	if (link->fd >= 0)
		(void)recv(link->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	link_fail(link, error, "%s", why);
}

void link_refuse(struct link *link, const char *why)
{
	char bytes[FRAME_MAX_STRANGER];
	json_t *head = json_pack("{s:s, s:s}", "op", "refused", "text", why);

	link_enter(link);
	if (head && link->state == LINK_SHAKING && link->shake.is_listener)
		link_say(link, head);
	else
		json_decref(head);
	/* Unread bytes would make of our end a reset. */
	if (link->fd >= 0)
		(void)recv(link->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	link_close(link, 0);
	link_leave(link);
}

static const struct handshake_events shake_events = {
	.say = on_say,
	.done = on_shaken,
	.failed = on_not_shaken,
};

static void begin_handshake(struct link *link, const char *listener)
{
	struct handshake *hs = &link->shake;

	link->state = LINK_SHAKING;
	snprintf(hs->listener, sizeof(hs->listener), "%s", listener);
	snprintf(hs->peer, sizeof(hs->peer), "%s", link->peer);
	hs->events = &shake_events;
	hs->owner = link;
	set_limit(link, LINK_HANDSHAKE_S);
	handshake_begin(hs);
	link_watch(link);
}

void link_timed_out(struct link *link)
{
	if (link->state == LINK_CONNECTING)
		link_fail(
			link, ETIMEDOUT,
			"%s: no connection within %g s: is that host up, and reachable from here?",
			link->peer, LINK_CONNECT_S);
	else if (handshake_is_busy(&link->shake))
		link_fail(link, EAGAIN,
			  "%s: munged of this host has not answered within %g s: is it stopped?",
			  link->peer, LINK_HANDSHAKE_S);
	else
		link_fail(link, ETIMEDOUT,
			  "%s: the other side has not said who it is within %g s: is it OpenSCore, "
			  "and does munged answer there?",
			  link->peer, LINK_HANDSHAKE_S);
}

/*
 * --- connecting ---------------------------------------------------------------------------------
 */

/* Begins with the next address; link_fail() when there is none. */
static void try_next(struct link *link, int err)
{
	while (link->next) {
		const struct addrinfo *at = link->next;

		link->next = at->ai_next;
		if (link->fd >= 0) {
			ev_io_stop(link->loop, &link->io);
			close(link->fd);
		}
		link->fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (link->fd >= 0 &&
		    (!connect(link->fd, at->ai_addr, at->ai_addrlen) || errno == EINPROGRESS)) {
			link_watch(link);
			return;
		}
		err = errno;
	}
	link_fail(link, err, "%s: no connection: %s%s", link->peer, strerror(err),
		  err == ECONNREFUSED ? "; is the daemon running there?" : "");
}

void link_connected(struct link *link)
{
	char bytes[PREAMBLE_BYTES], listener[NETADDR_TEXT_MAX];
	struct outbox_message preamble = {.part = {{bytes, sizeof(bytes)}}};
	socklen_t len = sizeof(int);
	int err = 0;

	if (getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		err = errno;
	if (err) {
		try_next(link, err);
		return;
	}
	tune(link->fd);
	preamble_encode(bytes, link->shake.job);
	err = outbox_send(&link->out, link->fd, &preamble);
	if (err) {
		link_fail(link, -err, "%s: no connection: %s", link->peer, strerror(-err));
		return;
	}
	netaddr_there(listener, sizeof(listener), link->fd);
	begin_handshake(link, listener);
}

struct link *link_connect(struct ev_loop *loop, struct auth *auth, const char *address,
			  uint64_t job, const char *role, uid_t expect,
			  const struct link_events *events, void *owner)
{
	struct link *link = link_new(loop, events, owner);
	char why[LINK_WHY_MAX];
	int err;

	if (!link)
		return NULL;
	link->state = LINK_CONNECTING;
	link->shake.job = job;
	link->shake.auth = auth;
	link->shake.expect = expect;
	snprintf(link->shake.role, sizeof(link->shake.role), "%s", role);
	snprintf(link->peer, sizeof(link->peer), "%s", address);
	err = netaddr_find(&link->addresses, address, false, why, sizeof(why));
	if (err) {
		link_fail(link, -err, "%s", why);
		return link;
	}
	ev_now_update(loop); /* looking up a name may have taken its time */
	set_limit(link, LINK_CONNECT_S);
	link->next = link->addresses;
	try_next(link, EADDRNOTAVAIL);
	return link;
}

/*
 * --- accepting ----------------------------------------------------------------------------------
 */

struct link *link_accept(struct ev_loop *loop, struct auth *auth, int fd, uint64_t job,
			 const struct link_events *events, void *owner)
{
	struct link *link = link_new(loop, events, owner);
	char listener[NETADDR_TEXT_MAX];

	if (!link) {
		close(fd);
		return NULL;
	}
	link->fd = fd;
	link->shake.auth = auth;
	link->shake.is_listener = true;
	link->shake.job = job;
	link->shake.from = netaddr_net_there(fd);
	link->shake.expect = (uid_t)-1;
	netaddr_there(link->peer, sizeof(link->peer), fd);
	netaddr_here(listener, sizeof(listener), fd);
	begin_handshake(link, listener);
	return link;
}

struct link *link_local(struct ev_loop *loop, int fd, uid_t uid, const struct link_events *events,
			void *owner)
{
	struct link *link = link_new(loop, events, owner);
	struct ucred who = {.gid = (gid_t)-1};
	socklen_t len = sizeof(who);

	if (!link) {
		close(fd);
		return NULL;
	}
	link->fd = fd;
	link->is_local = true;
	link->state = LINK_READY;
	link->uid = uid;
	if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len))
		link->gid = who.gid;
	snprintf(link->peer, sizeof(link->peer), "local");
	link_watch(link);
	return link;
}

struct link *link_take_over(struct ev_loop *loop, int fd, uid_t uid, const struct seal *seal,
			    const struct link_events *events, void *owner)
{
	struct link *link = link_local(loop, fd, uid, events, owner);

	if (!link)
		return NULL;
	link->is_local = false;
	link->seal = *seal;
	link->in.seal = link->out.seal = &link->seal;
	return link;
}

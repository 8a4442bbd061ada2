// SPDX-License-Identifier: BSD-3-Clause
/*
 * link - see link.h: the interface, sending and ending. How the parts fit together is said in
 * link_inside.h.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/proto/link_inside.h"
#include "scheduler/proto/netaddr.h"

static const struct link_events nobody;

/*
 * --- life ---------------------------------------------------------------------------------------
 */

/* The message that is being handed out may stand in the inbox. */
static void destroy(struct link *link)
{
	inbox_clear(&link->in);
	seal_forget(&link->seal);
	free(link);
}

void link_charge(struct link *link)
{
	size_t now = link->is_released ? 0
				       : inbox_room(&link->in) + link->out.bytes + link->held.bytes;

	if (!link->quota)
		return;
	link->quota->used += now - link->charged;
	link->charged = now;
}

/* The last record, if it goes at once: who gets it knows that nothing was cut off. */
static void say_end(struct link *link)
{
	if (link->state != LINK_READY || !link->out.seal || link->is_ended || link->broken ||
	    link->fd < 0 || link->out.bytes)
		return;
	link->is_ended = true;
	if (!outbox_end(&link->out))
		(void)outbox_flush(&link->out, link->fd);
}

static void release(struct link *link)
{
	say_end(link);
	ev_io_stop(link->loop, &link->io);
	ev_timer_stop(link->loop, &link->limit);
	ev_timer_stop(link->loop, &link->soon);
	handshake_end(&link->shake);
	if (link->fd >= 0)
		close(link->fd);
	link->fd = -1;
	outbox_clear(&link->out);
	outbox_clear(&link->held);
	if (link->addresses)
		freeaddrinfo(link->addresses);
	link->addresses = NULL;
	link->is_released = true;
	link_charge(link);
	if (!link->depth)
		destroy(link);
}

void link_enter(struct link *link)
{
	link->depth++;
}

void link_leave(struct link *link)
{
	if (!--link->depth && link->is_released)
		destroy(link);
}

void link_fail(struct link *link, int error, const char *fmt, ...)
{
	va_list args;

	if (link->state == LINK_DEAD || link->is_released)
		return;
	va_start(args, fmt);
	vsnprintf(link->why, sizeof(link->why), fmt, args);
	va_end(args);
	link->error = error;
	link->state = LINK_DEAD;
	handshake_end(&link->shake);
	ev_io_stop(link->loop, &link->io);
	ev_timer_stop(link->loop, &link->limit);
	if (link->fd >= 0)
		close(link->fd);
	link->fd = -1;
	ev_timer_start(link->loop, &link->soon);
}

static void on_soon(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct link *link = timer->data;

	link_enter(link);
	if (link->state == LINK_DEAD) {
		if (link->events->closed)
			link->events->closed(link, link->error, link->why, link->owner);
		if (!link->is_released)
			release(link);
	} else {
		if (link->broken && link->was_full) {
			link->was_full = false;
			if (link->events->drained)
				link->events->drained(link, link->owner);
		}
		link_process(link);
	}
	link_leave(link);
}

static void on_limit(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct link *link = timer->data;

	link_enter(link);
	if (link->is_closing)
		release(link);
	else
		link_timed_out(link);
	link_leave(link);
}

static void on_io(struct ev_loop *loop, ev_io *io, int events)
{
	struct link *link = io->data;

	link_enter(link);
	if (link->state == LINK_CONNECTING) {
		link_connected(link);
	} else {
		if (events & EV_WRITE)
			link_flush(link);
		if (!link->is_released && events & EV_READ)
			link_read(link);
	}
	link_leave(link);
}

struct link *link_new(struct ev_loop *loop, const struct link_events *events, void *owner)
{
	struct link *link = calloc(1, sizeof(*link));

	if (!link)
		return NULL;
	link->loop = loop;
	link->fd = -1;
	link->events = events;
	link->owner = owner;
	ev_init(&link->io, on_io);
	ev_timer_init(&link->limit, on_limit, 0., 0.);
	ev_timer_init(&link->soon, on_soon, 0., 0.);
	link->io.data = link->limit.data = link->soon.data = link;
	return link;
}

/*
 * --- what it waits for --------------------------------------------------------------------------
 */

static bool wants_input(const struct link *link)
{
	if (link->is_at_end)
		return false;
	if (link->state == LINK_SHAKING)
		return !handshake_is_busy(&link->shake);
	return link->is_closing || !link->is_paused;
}

void link_watch(struct link *link)
{
	int events = 0;

	link_charge(link);
	if (link->is_released || link->state == LINK_DEAD || link->fd < 0)
		return;
	if (link->state == LINK_CONNECTING || link->out.bytes)
		events |= EV_WRITE;
	if (link->state != LINK_CONNECTING && wants_input(link))
		events |= EV_READ;
	if (ev_is_active(&link->io) && (link->io.events & (EV_READ | EV_WRITE)) == events &&
	    link->io.fd == link->fd)
		return;
	ev_io_stop(link->loop, &link->io);
	ev_io_set(&link->io, link->fd, events);
	if (events)
		ev_io_start(link->loop, &link->io);
}

/*
 * --- sending ------------------------------------------------------------------------------------
 */

/* Sending has failed. Messages that the peer has sent are still read; their end ends the link. */
static void set_broken(struct link *link, int err)
{
	link->broken = err;
	outbox_clear(&link->out);
	outbox_clear(&link->held);
	if (link->was_full)
		ev_timer_start(link->loop, &link->soon);
	/* A connection that is well otherwise ends as well: the other side has half a message. */
	if ((err == ENOMEM || err == ENOBUFS) && link->fd >= 0)
		shutdown(link->fd, SHUT_RDWR);
}

static size_t waiting(const struct link *link)
{
	return link->out.bytes + link->held.bytes;
}

static int post(struct link *link, const struct outbox_message *message, bool is_handshake)
{
	bool is_held = link->state != LINK_READY && !is_handshake;
	int err = outbox_send(is_held ? &link->held : &link->out, is_held ? -1 : link->fd, message);

	if (err && err != -ENOMEM) {
		set_broken(link, -err);
		err = -EPIPE;
	}
	if (waiting(link) > LINK_FULL)
		link->was_full = true;
	link_watch(link);
	return err;
}

static bool is_too_long(const json_t *head, size_t body_size)
{
	return body_size > FRAME_MAX ||
	       json_dumpb(head, NULL, 0, JSON_COMPACT) + FRAME_HEAD_BYTES + body_size > FRAME_MAX;
}

/* @message: all but the head. */
static int send_frame(struct link *link, json_t *head, struct outbox_message *message)
{
	size_t body_size = message->shared ? message->shared->size : message->part[1].iov_len;
	size_t size;
	char *bytes;
	int err;

	if (link->state == LINK_DEAD || link->is_closing || link->broken) {
		json_decref(head);
		return -EPIPE;
	}
	bytes = frame_encode(head, body_size, &size);
	if (!bytes) {
		err = is_too_long(head, body_size) ? -EMSGSIZE : -ENOMEM;
		json_decref(head);
		return err;
	}
	json_decref(head);
	message->part[0] = (struct iovec){bytes, size};
	err = post(link, message, false);
	free(bytes);
	return err;
}

int link_send(struct link *link, json_t *head, const void *body, size_t body_size)
{
	struct outbox_message message = {.part[1] = {(void *)(uintptr_t)body, body_size}};

	return head ? send_frame(link, head, &message) : -ENOMEM;
}

int link_send_shared(struct link *link, json_t *head, struct shared *body)
{
	struct outbox_message message = {.shared = body};

	return head ? send_frame(link, head, &message) : -ENOMEM;
}

int link_send_frame(struct link *link, struct shared *frame)
{
	struct outbox_message message = {.shared = frame};

	if (link->state == LINK_DEAD || link->is_closing || link->broken)
		return -EPIPE;
	return post(link, &message, false);
}

int link_send_fds(struct link *link, json_t *head, const int *fds, int n)
{
	struct outbox_message message = {.fds = fds, .n_fds = n};

	if (!head)
		return -ENOMEM;
	if (json_object_set_new(head, "fds", json_integer(n))) {
		json_decref(head);
		return -ENOMEM;
	}
	return send_frame(link, head, &message);
}

void link_say(struct link *link, json_t *head)
{
	struct outbox_message message = {0};
	size_t size;
	char *bytes = frame_encode(head, 0, &size);

	json_decref(head);
	if (!bytes) {
		link_fail(link, ENOMEM, "%s: no memory for a message", link->peer);
		return;
	}
	message.part[0] = (struct iovec){bytes, size};
	if (post(link, &message, true) == -ENOMEM)
		link_fail(link, ENOMEM, "%s: no memory for a message", link->peer);
	free(bytes);
	if (!inbox_is_empty(&link->in))
		ev_timer_start(link->loop, &link->soon);
}

/*
 * All is sent of a link that is closing: says so, and waits for the other side's end, so that
 * nothing it has not read yet is lost by a reset.
 */
static void finish(struct link *link)
{
	if (link->is_at_end || link->broken) {
		release(link);
		return;
	}
	say_end(link);
	if (link->out.bytes) {
		link_watch(link);
		return;
	}
	if (!link->is_shut)
		shutdown(link->fd, SHUT_WR);
	link->is_shut = true;
	link_watch(link);
}

void link_flush(struct link *link)
{
	int err = outbox_flush(&link->out, link->fd);

	if (err)
		set_broken(link, -err);
	if (link->was_full && !link->broken && waiting(link) <= LINK_FULL / 2) {
		link->was_full = false;
		if (link->events->drained)
			link->events->drained(link, link->owner);
	}
	if (link->is_released || link->state == LINK_DEAD)
		return;
	if (link->is_closing && link->state == LINK_READY && !link->out.bytes)
		finish(link);
	else
		link_watch(link);
}

bool link_is_full(const struct link *link)
{
	return waiting(link) > LINK_FULL;
}

bool link_has_input(const struct link *link)
{
	char byte;

	return link->fd >= 0 && recv(link->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

/*
 * --- the rest of the interface ------------------------------------------------------------------
 */

void link_pause(struct link *link, bool is_paused)
{
	if (link->is_paused == is_paused)
		return;
	link->is_paused = is_paused;
	if (link->state == LINK_DEAD || link->is_closing)
		return;
	if (!is_paused && !inbox_is_empty(&link->in))
		ev_timer_start(link->loop, &link->soon);
	link_watch(link);
}

void link_close(struct link *link, double linger_s)
{
	if (link->is_closing || link->is_released)
		return;
	link->is_closing = true;
	link->events = &nobody;
	link->owner = NULL;
	if (linger_s <= 0. || link->state == LINK_DEAD || link->broken ||
	    (link->state != LINK_READY && !link->held.bytes)) {
		release(link);
		return;
	}
	ev_timer_stop(link->loop, &link->limit);
	ev_timer_set(&link->limit, linger_s, 0.);
	ev_timer_start(link->loop, &link->limit);
	if (link->state == LINK_READY && !link->out.bytes)
		finish(link);
	else
		link_watch(link);
}

int link_give_up(struct link *link, struct seal *seal)
{
	int fd = link->fd;

	if (link->state != LINK_READY || link->is_closing || link->broken || link->is_at_end ||
	    link->out.bytes || !inbox_is_empty(&link->in))
		return -EBUSY;
	ev_io_stop(link->loop, &link->io);
	if (seal)
		*seal = link->seal;
	link->fd = -1;
	link->is_closing = true;
	link->events = &nobody;
	release(link);
	return fd;
}

void link_limit(struct link *link, size_t frame, size_t values, struct link_quota *quota)
{
	if (link->quota)
		link->quota->used -= link->charged;
	link->charged = 0;
	link->frame_max = frame;
	link->values_max = values;
	link->quota = quota;
	link_charge(link);
}

uint64_t link_begun_ns(const struct link *link)
{
	return link->begun_ns;
}

void link_set(struct link *link, const struct link_events *events, void *owner)
{
	link->events = events;
	link->owner = owner;
}

uid_t link_uid(const struct link *link)
{
	return link->uid;
}

gid_t link_gid(const struct link *link)
{
	return link->gid;
}

const char *link_role(const struct link *link)
{
	return link->shake.is_listener ? link->shake.role : "";
}

const char *link_peer(const struct link *link)
{
	return link->peer;
}

void link_here(const struct link *link, char *to, size_t size)
{
	netaddr_here(to, size, link->fd);
}

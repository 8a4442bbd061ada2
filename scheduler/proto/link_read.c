// SPDX-License-Identifier: BSD-3-Clause
/*
 * link_read - what comes in: bytes, frames, descriptors, the end of the connection. Part of link.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pmcore/util/clock.h"
#include "scheduler/proto/link_inside.h"

#define DISCARD_BYTES (64u << 10) /* at once, of what comes after link_close() */

static size_t frame_limit(const struct link *link)
{
	if (link->state != LINK_READY)
		return FRAME_MAX_STRANGER;
	return link->frame_max ? link->frame_max : FRAME_MAX;
}

/* Whether what has come may be handed out now. */
static bool may_process(const struct link *link)
{
	if (link->is_released)
		return false;
	if (link->state == LINK_SHAKING)
		return !handshake_is_busy(&link->shake);
	return link->state == LINK_READY && !link->is_paused && !link->is_closing;
}

/* The descriptors that belong to a message. False: the link is no more what it was. */
static bool hand_out_fds(struct link *link, const json_t *head)
{
	json_int_t n = json_integer_value(json_object_get(head, "fds"));
	int fds[LINK_FDS_MAX];

	if (!n || !link->is_local)
		return true;
	if (n < 0 || n > LINK_FDS_MAX || inbox_take_fds(&link->in, fds, (int)n)) {
		link_fail(link, EPROTO, "%s: a message came without its descriptors", link->peer);
		return false;
	}
	if (link->events->fds) {
		link->events->fds(link, fds, (int)n, link->owner);
	} else {
		for (json_int_t i = 0; i < n; i++)
			close(fds[i]);
	}
	return !link->is_released && !link->is_closing && link->state == LINK_READY;
}

static void hand_out(struct link *link, const struct frame *frame)
{
	const char *op = json_string_value(json_object_get(frame->head, "op"));

	if (link->state == LINK_SHAKING)
		handshake_hear(&link->shake, frame->head);
	else if (hand_out_fds(link, frame->head) && link->events->message)
		link->events->message(link, op, frame->head, frame->body, frame->body_size,
				      link->owner);
}

static void refuse_frame(struct link *link, int err)
{
	bool is_over = err == -EMSGSIZE || err == -E2BIG || err == -EDQUOT;

	if (is_over && link->state == LINK_READY && link->events->refused) {
		link->events->refused(link, -err, link->owner);
		if (link->is_released || link->is_closing)
			return;
	}
	if (err == -EDQUOT)
		link_fail(link, EDQUOT, "%s: what waits of its user is more than %zu bytes",
			  link->peer, link->quota->max);
	else if (err == -E2BIG)
		link_fail(link, E2BIG, "%s: a message of more than %zu values came", link->peer,
			  link->values_max);
	else if (err == -EMSGSIZE)
		link_fail(link, EMSGSIZE, "%s: a message of more than %zu bytes came", link->peer,
			  frame_limit(link));
	else if (err == -ENOMEM)
		link_fail(link, ENOMEM, "%s: no memory for a message that came", link->peer);
	else
		link_fail(link, EPROTO,
			  "%s: what came is no message; both sides must be of one version of "
			  "OpenSCore",
			  link->peer);
}

void link_process(struct link *link)
{
	struct frame frame;
	int got;

	while (may_process(link)) {
		link->begun_ns = clock_monotonic_ns();
		got = inbox_next(&link->in, &frame, frame_limit(link), link->values_max);
		if (!got)
			break;
		if (got < 0) {
			refuse_frame(link, got);
			return;
		}
		hand_out(link, &frame);
		json_decref(frame.head);
	}
	if (!link->is_released && link->quota)
		inbox_trim(&link->in, 0);
	link_watch(link);
}

/* The other side sends nothing more; everything that it sent has been handed out. */
static void come_to_end(struct link *link, int err)
{
	if (link->broken && link->broken != EPIPE && (!err || err == ECONNRESET))
		err = link->broken;
	if (err && err != ECONNRESET)
		link_fail(link, err, "%s: the connection broke: %s", link->peer, strerror(err));
	else if (link->state == LINK_SHAKING)
		link_fail(link, err ? err : ECONNRESET,
			  "%s: the other side closed the connection before it said who it is",
			  link->peer);
	else if (!inbox_is_empty(&link->in))
		link_fail(link, ECONNRESET,
			  "%s: the other side closed the connection in the middle of a message",
			  link->peer);
	else if (link->in.seal && !link->seal.is_ended)
		link_fail(link, err,
			  "%s: the other side closed the connection without saying so: it was "
			  "killed, or somebody on the way has cut the connection",
			  link->peer);
	else
		link_fail(link, err, "%s: the other side closed the connection", link->peer);
}

/* After link_close(): only the end is of interest. */
static void discard(struct link *link)
{
	char bytes[DISCARD_BYTES];
	ssize_t n = recv(link->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	link->is_at_end = true;
	if (n < 0)
		link->broken = errno;
	link_flush(link);
}

void link_refuse_bytes(struct link *link, int err)
{
	if (err == -EBADMSG) {
		seal_counts()->altered++;
		link_fail(link, EBADMSG,
			  "%s: what came is not what the other side sent: somebody on the way "
			  "alters, "
			  "repeats or leaves out bytes",
			  link->peer);
	} else if (err == -ENOMEM) {
		link_fail(link, ENOMEM, "%s: no memory for a message that comes", link->peer);
	} else if (link->state == LINK_SHAKING) {
		link_fail(link, EPROTO, "%s: its key is none", link->peer);
	} else {
		link_fail(link, EPROTO, "%s: more descriptors came than messages want", link->peer);
	}
}

/* Whether it has grown beyond what its user may have. */
static bool is_over_quota(struct link *link, size_t room)
{
	link_charge(link);
	return link->quota && inbox_room(&link->in) > room && link->quota->used > link->quota->max;
}

void link_read(struct link *link)
{
	size_t room = inbox_room(&link->in);
	ssize_t n;

	if (link->state == LINK_DEAD)
		return;
	if (link->is_closing && link->state == LINK_READY) {
		discard(link);
		return;
	}
	if (!may_process(link))
		return;
	n = inbox_read(&link->in, link->fd, frame_limit(link), link->is_local);
	if (n > 0 && is_over_quota(link, room))
		refuse_frame(link, -EDQUOT);
	else if (n > 0)
		link_process(link);
	else if (n == -ENOMEM || n == -EPROTO || n == -EBADMSG)
		link_refuse_bytes(link, (int)n);
	else if (n != -EAGAIN)
		come_to_end(link, (int)-n);
}

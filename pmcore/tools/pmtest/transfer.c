// SPDX-License-Identifier: BSD-3-Clause
/* transfer - fragments; the busy path is one PM call, one copy and one PM call per datagram. */
#include "pmcore/tools/pmtest/transfer.h"

#include <errno.h>
#include <string.h>

#include "pmcore/tools/common/message.h"

#define BURST 8 /* datagrams in one direction before the other one has its turn */

/* Where in a series of messages one side of the transfer stands. */
struct cursor {
	uint64_t left; /* messages not finished */
	size_t done;   /* bytes of the current one */
};

static inline size_t fragment(const struct session *s, size_t size, size_t done)
{
	return size - done < s->mtu ? size - done : s->mtu;
}

/* The usual small message without a call. */
static inline void copy(void *to, const void *from, size_t len)
{
	if (len == 8)
		memcpy(to, from, 8);
	else
		memcpy(to, from, len);
}

static inline void advance(struct cursor *c, size_t len, size_t size)
{
	c->done += len;
	if (c->done == size) {
		c->done = 0;
		c->left--;
	}
}

/* Sends one datagram if there is room: 1, 0 or -errno. */
static inline int try_send(struct session *s, const char *from, size_t len)
{
	int err = pmPost(s->ctx, s->peer, from, len);

	if (err == ENOBUFS)
		return 0;
	return err ? session_failed(s, "pmPost", s->peer, err) : 1;
}

static int wrong_length(struct session *s, pmDesc desc, size_t got, size_t want)
{
	message_error("node %u: a datagram of %zu bytes came instead of one of %zu", s->peer, got,
		      want);
	pmReleaseReceiveBuffer(s->ctx, desc);
	return -EBADMSG;
}

/* Receives one datagram of exactly @len bytes if it is there: 1, 0 or -errno. */
static inline int try_receive(struct session *s, char *to, size_t len)
{
	pmNode src = s->peer;
	pmDesc desc;
	size_t got;
	void *buf;
	int err;

	err = pmReceive(s->ctx, &buf, &got, &src, &desc);
	if (err == ENOBUFS)
		return 0;
	if (err)
		return session_failed(s, "pmReceive", src, err);
	if (got != len)
		return wrong_length(s, desc, got, len);
	copy(to, buf, len);
	err = pmReleaseReceiveBuffer(s->ctx, desc);
	return err ? session_failed(s, "pmReleaseReceiveBuffer", src, err) : 1;
}

/* No room: lets PM work. Messages that come in meanwhile stay in its queue. */
static int wait_for_room(struct session *s)
{
	int err = pmIsSendDone(s->ctx, s->peer), rc;

	if (err && err != ENOBUFS)
		return session_failed(s, "pmIsSendDone", s->peer, err);
	rc = wait_idle(&s->wait, WAIT_ROOM);
	return rc ? session_gave_up(s, "acknowledgement", s->peer, rc) : 0;
}

static int wait_for_message(struct session *s)
{
	int rc = wait_idle(&s->wait, WAIT_MESSAGE);

	return rc ? session_gave_up(s, "message", s->peer, rc) : 0;
}

static inline int send_message(struct session *s, const void *from, size_t size)
{
	size_t done = 0, len;
	int n;

	size = transfer_bytes(size);
	while (done < size) {
		len = fragment(s, size, done);
		n = try_send(s, (const char *)from + done, len);
		if (n > 0) {
			wait_busy(&s->wait);
			done += len;
			continue;
		}
		if (n == 0)
			n = wait_for_room(s);
		if (n)
			return n;
	}
	return 0;
}

static inline int receive_message(struct session *s, void *to, size_t size)
{
	size_t done = 0, len;
	int n;

	size = transfer_bytes(size);
	while (done < size) {
		len = fragment(s, size, done);
		n = try_receive(s, (char *)to + done, len);
		if (n > 0) {
			wait_busy(&s->wait);
			done += len;
			continue;
		}
		if (n == 0)
			n = wait_for_message(s);
		if (n)
			return n;
	}
	return 0;
}

int transfer_send(struct session *s, const void *from, size_t size)
{
	return send_message(s, from, size);
}

int transfer_receive(struct session *s, void *to, size_t size)
{
	return receive_message(s, to, size);
}

/* A message of several datagrams is a burst: those behind the first may share a system call. */
static void cork(struct session *s, size_t size)
{
	pmCork(s->ctx, size > s->mtu);
}

int transfer_ping(struct session *s, const void *from, void *to, size_t size, uint64_t count)
{
	int rc = 0;

	cork(s, size);
	while (count-- && !rc) {
		rc = send_message(s, from, size);
		if (!rc)
			rc = receive_message(s, to, size);
	}
	pmCork(s->ctx, 0);
	return rc;
}

int transfer_echo(struct session *s, void *buf, size_t size, uint64_t count)
{
	int rc = 0;

	cork(s, size);
	while (count-- && !rc) {
		rc = receive_message(s, buf, size);
		if (!rc)
			rc = send_message(s, buf, size);
	}
	pmCork(s->ctx, 0);
	return rc;
}

/* Up to BURST datagrams out; their number or -errno. */
static int send_some(struct session *s, const char *from, struct cursor *out, size_t size)
{
	int sent = 0, n;
	size_t len;

	for (; sent < BURST && out->left; sent++) {
		len = fragment(s, size, out->done);
		n = try_send(s, from + out->done, len);
		if (n <= 0)
			return n ? n : sent;
		advance(out, len, size);
	}
	return sent;
}

static int receive_some(struct session *s, char *to, struct cursor *in, size_t size)
{
	int got = 0, n;
	size_t len;

	for (; got < BURST && in->left; got++) {
		len = fragment(s, size, in->done);
		n = try_receive(s, to + in->done, len);
		if (n <= 0)
			return n ? n : got;
		advance(in, len, size);
	}
	return got;
}

int transfer_exchange(struct session *s, const void *from, uint64_t n_out, void *to, uint64_t n_in,
		      size_t size)
{
	struct cursor out = {.left = n_out}, in = {.left = n_in};
	int sent, got, rc;

	size = transfer_bytes(size);
	while (out.left || in.left) {
		sent = send_some(s, from, &out, size);
		if (sent < 0)
			return sent;
		got = receive_some(s, to, &in, size);
		if (got < 0)
			return got;
		if (sent || got)
			wait_busy(&s->wait);
		else if (in.left && !out.left)
			rc = wait_for_message(s);
		else
			rc = wait_for_room(s);
		if (!sent && !got && rc)
			return rc;
	}
	return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
/* outbox - see outbox.h. A list of chunks, each filled from the front and sent from the front. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/proto/outbox.h"

#define CHUNK_MIN (16u << 10) /* bytes a chunk has room for at least: small messages share one */
#define IOV_MAX_AT_ONCE 32    /* chunks in one system call */
/*
 * Bytes that are sealed at once, so that they are in the cache when the socket takes them: a frame
 * of output and its head.
 */
#define SEAL_AT_ONCE (SEAL_PLAIN_MAX + (4u << 10))
#define SEAL_IN_A_TURN (16 * SEAL_PLAIN_MAX) /* then the loop's other connections have theirs */

struct outbox_chunk {
	struct outbox_chunk *next;
	size_t start, end, room; /* sent until start, filled until end */
	int fds[OUTBOX_FDS_MAX]; /* go with the first byte */
	int n_fds;
	struct shared *shared; /* has the bytes; NULL: they are here */
	char data[];
};

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

static bool would_block(int err)
{
	return err == EAGAIN || err == EWOULDBLOCK;
}

/* Bytes taken, 0 if there is no room, or -errno. */
static ssize_t send_now(int fd, struct iovec *iov, size_t n_iov, const int *fds, int n_fds)
{
	union {
		char bytes[CMSG_SPACE(OUTBOX_FDS_MAX * sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = n_iov};
	ssize_t n;

	if (n_fds) {
		struct cmsghdr *cmsg = &control.align;

		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN((size_t)n_fds * sizeof(int));
		memcpy(CMSG_DATA(cmsg), fds, (size_t)n_fds * sizeof(int));
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE((size_t)n_fds * sizeof(int));
	}
	do
		n = sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return n;
	return would_block(errno) ? 0 : -errno;
}

/*
 * --- records ------------------------------------------------------------------------------------
 */

static int make_room(struct outbox *box, size_t more)
{
	char *records;

	if (box->end + more <= box->room)
		return 0;
	records = realloc(box->records, box->end + more);
	if (!records)
		return -ENOMEM;
	box->records = records;
	box->room = box->end + more;
	return 0;
}

static void drop_records(struct outbox *box)
{
	free(box->records);
	box->records = NULL;
	box->start = box->end = box->room = 0;
}

static void push(struct outbox *box, const char *from, size_t size, bool is_last)
{
	box->end += seal_push(box->seal, box->records + box->end, from, size, is_last);
}

/* Bytes of @iov behind the first @skip that are sealed now. */
static size_t push_some(struct outbox *box, const struct iovec *iov, size_t n_iov, size_t skip)
{
	size_t taken = 0;

	for (size_t i = 0; i < n_iov && taken < SEAL_AT_ONCE; i++) {
		size_t at = skip < iov[i].iov_len ? skip : iov[i].iov_len;

		skip -= at;
		while (at < iov[i].iov_len && taken < SEAL_AT_ONCE) {
			size_t n = min_size(iov[i].iov_len - at, SEAL_AT_ONCE - taken);

			n = min_size(n, SEAL_PLAIN_MAX);
			push(box, (const char *)iov[i].iov_base + at, n, false);
			at += n;
			taken += n;
		}
	}
	return taken;
}

/* Sends the records that wait. Whether all are gone, or -errno. */
static int send_records(struct outbox *box, int fd)
{
	struct iovec iov = {box->records + box->start, box->end - box->start};
	ssize_t sent;

	if (!iov.iov_len)
		return true;
	sent = send_now(fd, &iov, 1, NULL, 0);
	if (sent < 0)
		return (int)sent;
	box->start += (size_t)sent;
	box->bytes -= (size_t)sent;
	return box->start == box->end;
}

/*
 * Makes records of @iov and sends them, as long as the socket takes them. Bytes of @iov that need
 * not be kept, or -errno.
 */
static ssize_t send_sealed(struct outbox *box, int fd, const struct iovec *iov, size_t n_iov)
{
	size_t size = 0, done = 0, before;
	int is_sent;

	for (size_t i = 0; i < n_iov; i++)
		size += iov[i].iov_len;
	while ((is_sent = send_records(box, fd)) > 0 && done < size && done < SEAL_IN_A_TURN) {
		size_t some = min_size(size - done, SEAL_AT_ONCE);

		box->start = box->end = 0;
		if (make_room(box, some + (n_iov + 2) * SEAL_EXTRA_BYTES))
			return done ? (ssize_t)done : -ENOMEM;
		before = box->end;
		done += push_some(box, iov, n_iov, done);
		box->bytes += box->end - before;
	}
	if (is_sent > 0)
		drop_records(box);
	return is_sent < 0 ? is_sent : (ssize_t)done;
}

/*
 * --- what waits as it was given -----------------------------------------------------------------
 */

static void chunk_free(struct outbox_chunk *chunk)
{
	shared_release(chunk->shared);
	for (int i = 0; i < chunk->n_fds; i++)
		close(chunk->fds[i]);
	free(chunk);
}

static struct outbox_chunk *chunk_new(size_t size, const int *fds, int n_fds)
{
	size_t room = size > CHUNK_MIN ? size : CHUNK_MIN;
	struct outbox_chunk *chunk = malloc(sizeof(*chunk) + room);

	if (!chunk)
		return NULL;
	*chunk = (struct outbox_chunk){.room = room};
	for (; chunk->n_fds < n_fds; chunk->n_fds++) {
		int fd = fcntl(fds[chunk->n_fds], F_DUPFD_CLOEXEC, 0);

		if (fd < 0) {
			chunk_free(chunk);
			return NULL;
		}
		chunk->fds[chunk->n_fds] = fd;
	}
	return chunk;
}

static struct outbox_chunk *chunk_shared(struct shared *shared, size_t start)
{
	struct outbox_chunk *chunk = malloc(sizeof(*chunk));

	if (chunk)
		*chunk = (struct outbox_chunk){.start = start,
					       .end = shared->size,
					       .room = shared->size,
					       .shared = shared_hold(shared)};
	return chunk;
}

static char *chunk_bytes(struct outbox_chunk *chunk)
{
	return (chunk->shared ? chunk->shared->bytes : chunk->data) + chunk->start;
}

static void append(struct outbox *box, struct outbox_chunk *chunk)
{
	*(box->last ? &box->last->next : &box->first) = chunk;
	box->last = chunk;
}

/* Copies as much of what starts at @*skip of @message as the chunk has room for. */
static void chunk_fill(struct outbox_chunk *chunk, const struct outbox_message *message,
		       size_t *skip)
{
	size_t before = 0;

	for (int i = 0; i < 2; i++) {
		const struct iovec *part = &message->part[i];
		size_t from = *skip > before ? *skip - before : 0;

		before += part->iov_len;
		if (from < part->iov_len) {
			size_t n = part->iov_len - from, room = chunk->room - chunk->end;

			n = n < room ? n : room;
			memcpy(chunk->data + chunk->end, (const char *)part->iov_base + from, n);
			chunk->end += n;
			*skip += n;
		}
	}
}

/*
 * Copies @message without its first @sent bytes. Descriptors start a chunk, so that they go with
 * its first byte.
 */
static int copy(struct outbox *box, const struct outbox_message *message, size_t sent)
{
	size_t size = message->part[0].iov_len + message->part[1].iov_len;
	int n_fds = sent ? 0 : message->n_fds;
	struct outbox_chunk *last = box->last, *more = NULL;
	size_t room = last && !n_fds ? last->room - last->end : 0;

	if (size - sent > room) {
		more = chunk_new(size - sent - room, message->fds, n_fds);
		if (!more)
			return -ENOMEM;
	}
	box->bytes += size - sent;
	if (room)
		chunk_fill(last, message, &sent);
	if (more) {
		chunk_fill(more, message, &sent);
		append(box, more);
	}
	return 0;
}

/* Keeps @message without its first @sent bytes: what is shared without copying it. */
static int keep(struct outbox *box, const struct outbox_message *message, size_t sent)
{
	size_t head = message->part[0].iov_len, skipped = sent > head ? sent - head : 0;
	struct outbox_chunk *rest;

	if (!message->shared)
		return copy(box, message, sent);
	rest = chunk_shared(message->shared, skipped);
	if (!rest)
		return -ENOMEM;
	if (sent < head && copy(box, message, sent)) {
		chunk_free(rest);
		return -ENOMEM;
	}
	append(box, rest);
	box->bytes += rest->end - rest->start;
	return 0;
}

int outbox_send(struct outbox *box, int fd, const struct outbox_message *message)
{
	const struct shared *shared = message->shared;
	struct iovec iov[2] = {message->part[0],
			       shared ? (struct iovec){shared->bytes, shared->size}
				      : message->part[1]};
	size_t size = iov[0].iov_len + iov[1].iov_len;
	ssize_t sent = 0;

	if (fd >= 0 && !box->bytes) {
		sent = box->seal ? send_sealed(box, fd, iov, 2)
				 : send_now(fd, iov, 2, message->fds, message->n_fds);
		if (sent < 0)
			return (int)sent;
		if ((size_t)sent == size)
			return 0;
	}
	if (keep(box, message, (size_t)sent))
		return sent ? -ENOBUFS : -ENOMEM; /* half a message is out: nothing can follow */
	return 0;
}

static void drop_sent(struct outbox *box, size_t n)
{
	box->bytes -= n;
	while (n) {
		struct outbox_chunk *chunk = box->first;
		size_t here = chunk->end - chunk->start;

		here = n < here ? n : here;
		chunk->start += here;
		n -= here;
		for (; chunk->n_fds; chunk->n_fds--)
			close(chunk->fds[chunk->n_fds - 1]);
		if (chunk->start < chunk->end)
			return;
		box->first = chunk->next;
		if (!box->first)
			box->last = NULL;
		chunk_free(chunk);
	}
}

int outbox_flush(struct outbox *box, int fd)
{
	struct iovec iov[IOV_MAX_AT_ONCE];
	struct outbox_chunk *chunk = box->first;
	size_t n_iov = 0;
	ssize_t sent;

	for (; chunk && n_iov < IOV_MAX_AT_ONCE; chunk = chunk->next) {
		if (n_iov && chunk->n_fds)
			break;
		iov[n_iov++] = (struct iovec){chunk_bytes(chunk), chunk->end - chunk->start};
	}
	if (!n_iov && box->start == box->end)
		return 0;
	sent = box->seal ? send_sealed(box, fd, iov, n_iov)
			 : send_now(fd, iov, n_iov, box->first->fds, box->first->n_fds);
	if (sent < 0)
		return (int)sent;
	drop_sent(box, (size_t)sent);
	return 0;
}

int outbox_seal(struct outbox *box, struct seal *seal,
		const unsigned char opening[SEAL_OPENING_BYTES])
{
	size_t size = box->bytes + SEAL_OPENING_BYTES;

	if (make_room(box, size))
		return -ENOMEM;
	while (box->first) {
		struct outbox_chunk *chunk = box->first;
		size_t here = chunk->end - chunk->start;

		memcpy(box->records + box->end, chunk_bytes(chunk), here);
		box->end += here;
		drop_sent(box, here);
	}
	memcpy(box->records + box->end, opening, SEAL_OPENING_BYTES);
	box->end += SEAL_OPENING_BYTES;
	box->bytes = size;
	box->seal = seal;
	return 0;
}

int outbox_end(struct outbox *box)
{
	size_t before = box->end;

	if (make_room(box, SEAL_EXTRA_BYTES))
		return -ENOMEM;
	push(box, NULL, 0, true);
	box->bytes += box->end - before;
	return 0;
}

void outbox_join(struct outbox *box, struct outbox *from)
{
	if (!from->first)
		return;
	*(box->last ? &box->last->next : &box->first) = from->first;
	box->last = from->last;
	box->bytes += from->bytes;
	*from = (struct outbox){0};
}

void outbox_clear(struct outbox *box)
{
	while (box->first) {
		struct outbox_chunk *chunk = box->first;

		box->first = chunk->next;
		chunk_free(chunk);
	}
	free(box->records);
	*box = (struct outbox){.seal = box->seal};
}

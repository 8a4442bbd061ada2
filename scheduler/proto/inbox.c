// SPDX-License-Identifier: BSD-3-Clause
/*
 * inbox - see inbox.h. One buffer; what is left over of a frame moves to its front before the next
 * read.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scheduler/proto/inbox.h"
#include "scheduler/proto/outbox.h"

#define ROOM_MIN (4u << 10) /* bytes, of a connection that says little */
#define ROOM_BULK                                                                                  \
	(256u << 10) /* of one that says much; more only while a larger frame is under way */
#define RECORDS_BULK (2 * SEAL_RECORD_MAX) /* the same, of records */

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Bytes of the frame that begins the box, as far as is known. */
static size_t wanted(const struct inbox *box)
{
	uint32_t be;

	if (box->end - box->start < sizeof(be))
		return ROOM_MIN;
	memcpy(&be, box->data + box->start, sizeof(be));
	return sizeof(be) + ntohl(be);
}

/* The bytes that wait go to the front of @need bytes. */
static int move(struct inbox *box, size_t need)
{
	size_t rest = box->end - box->start;

	if (need > box->room || (!rest && box->room > ROOM_BULK)) {
		char *data = malloc(need);

		if (!data)
			return -ENOMEM;
		if (rest)
			memcpy(data, box->data + box->start, rest);
		free(box->data);
		box->data = data;
		box->room = need;
	} else if (rest && box->start) {
		memmove(box->data, box->data + box->start, rest);
	}
	box->start = 0;
	box->end = rest;
	return 0;
}

static int make_room(struct inbox *box, size_t limit)
{
	size_t rest = box->end - box->start, need = wanted(box);

	if (box->has_filled && box->room < ROOM_BULK && need < 2 * box->room)
		need = 2 * box->room;
	if (!rest && box->room > ROOM_BULK)
		need = ROOM_BULK;
	if (need < ROOM_MIN)
		need = ROOM_MIN;
	return move(box, min_size(need, limit));
}

/* Descriptors beyond the room are closed by the kernel (MSG_CTRUNC) or here. */
static int keep_fds(struct inbox *box, struct msghdr *msg)
{
	bool is_wrong = msg->msg_flags & MSG_CTRUNC;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (box->n_fds < INBOX_FDS_MAX) {
				box->fds[box->n_fds++] = fd;
			} else {
				close(fd);
				is_wrong = true;
			}
		}
	}
	return is_wrong ? -EPROTO : 0;
}

/* As recvmsg() without waiting, or -errno. */
static ssize_t receive(int fd, struct msghdr *msg)
{
	ssize_t n;

	do
		n = recvmsg(fd, msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	return n;
}

/*
 * --- records ------------------------------------------------------------------------------------
 */

static int make_records_room(struct inbox *box)
{
	size_t need = box->came ? seal_wants(box->seal, box->records, box->came) : 0;
	char *records;

	if (box->has_filled && box->records_room < RECORDS_BULK && need < 2 * box->records_room)
		need = min_size(2 * box->records_room, RECORDS_BULK);
	if (need < ROOM_MIN)
		need = ROOM_MIN;
	if (need <= box->records_room)
		return 0;
	records = realloc(box->records, need);
	if (!records)
		return -ENOMEM;
	box->records = records;
	box->records_room = need;
	return 0;
}

/* Puts what whole records hold behind what waits. Frames are of at most @limit bytes. */
static int take_records(struct inbox *box, size_t limit)
{
	size_t rest = box->end - box->start, at = 0, n, used;
	size_t need = rest + box->came, frame = rest ? min_size(wanted(box), limit) : 0;
	int got;

	if (move(box, need > frame ? need : frame))
		return -ENOMEM;
	while ((got = seal_pull(box->seal, box->records + at, box->came - at, box->data + box->end,
				&n, &used)) > 0) {
		at += used;
		box->end += n;
	}
	box->came -= at;
	memmove(box->records, box->records + at, box->came);
	return got;
}

static ssize_t read_records(struct inbox *box, int fd, size_t limit)
{
	int err = make_records_room(box);
	struct iovec iov;
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	if (err)
		return err;
	iov = (struct iovec){box->records + box->came, box->records_room - box->came};
	n = receive(fd, &msg);
	if (n <= 0)
		return n;
	box->came += (size_t)n;
	box->has_filled = box->came == box->records_room;
	err = take_records(box, limit);
	return err ? err : n;
}

int inbox_seal(struct inbox *box, struct seal *seal)
{
	size_t size = box->end - box->start;

	if (size)
		memmove(box->data, box->data + box->start, size);
	box->records = box->data;
	box->records_room = box->room;
	box->came = size;
	box->data = NULL;
	box->start = box->end = box->room = 0;
	box->has_filled = false;
	box->seal = seal;
	return size ? take_records(box, FRAME_MAX) : 0;
}

/*
 * --- all ----------------------------------------------------------------------------------------
 */

size_t inbox_room(const struct inbox *box)
{
	return box->room + box->records_room;
}

ssize_t inbox_read(struct inbox *box, int fd, size_t limit, bool takes_fds)
{
	union {
		char bytes[CMSG_SPACE(OUTBOX_FDS_MAX * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov;
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;
	int err;

	if (box->seal)
		return read_records(box, fd, limit);
	err = make_room(box, limit);
	if (err)
		return err;
	iov = (struct iovec){box->data + box->end, box->room - box->end};
	if (takes_fds) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
	}
	n = receive(fd, &msg);
	if (n < 0)
		return n;
	err = takes_fds ? keep_fds(box, &msg) : 0;
	if (err)
		return err;
	box->end += (size_t)n;
	box->has_filled = box->end == box->room;
	return n;
}

int inbox_next(struct inbox *box, struct frame *ret, size_t limit, size_t values)
{
	size_t used = 0;
	int got;

	if (box->start == box->end)
		return 0;
	if (values && frame_values(box->data + box->start, box->end - box->start) > values)
		return -E2BIG;
	got = frame_decode(ret, box->data + box->start, box->end - box->start, limit, &used);
	box->start += used;
	return got;
}

void inbox_trim(struct inbox *box, size_t room)
{
	if (!inbox_is_empty(box) || inbox_room(box) <= room)
		return;
	free(box->data);
	free(box->records);
	box->data = box->records = NULL;
	box->start = box->end = box->room = box->records_room = 0;
}

int inbox_take_fds(struct inbox *box, int *to, int n)
{
	if (n > box->n_fds)
		return -EPROTO;
	memcpy(to, box->fds, (size_t)n * sizeof(*to));
	box->n_fds -= n;
	memmove(box->fds, box->fds + n, (size_t)box->n_fds * sizeof(*to));
	return 0;
}

bool inbox_is_empty(const struct inbox *box)
{
	return box->start == box->end && !box->came;
}

void inbox_clear(struct inbox *box)
{
	while (box->n_fds)
		close(box->fds[--box->n_fds]);
	free(box->data);
	free(box->records);
	*box = (struct inbox){0};
}

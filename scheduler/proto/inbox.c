// SPDX-License-Identifier: BSD-3-Clause
/* inbox - see inbox.h. One buffer; what is left over of a frame moves to its front before the next read. */
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

static int make_room(struct inbox *box, size_t limit)
{
	size_t rest = box->end - box->start, need = wanted(box);

	if (box->has_filled && box->room < ROOM_BULK && need < 2 * box->room)
		need = 2 * box->room;
	if (!rest && box->room > ROOM_BULK)
		need = ROOM_BULK;
	if (need < ROOM_MIN)
		need = ROOM_MIN;
	need = min_size(need, limit);
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

ssize_t inbox_read(struct inbox *box, int fd, size_t limit, bool takes_fds)
{
	union {
		char bytes[CMSG_SPACE(OUTBOX_FDS_MAX * sizeof(int))];
		struct cmsghdr align;
	} control;
	int err = make_room(box, limit);
	struct iovec iov = {box->data + box->end, box->room - box->end};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	if (err)
		return err;
	if (takes_fds) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
	}
	do
		n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
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
	if (box->start != box->end || box->room <= room)
		return;
	free(box->data);
	box->data = NULL;
	box->start = box->end = box->room = 0;
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
	return box->start == box->end;
}

void inbox_clear(struct inbox *box)
{
	while (box->n_fds)
		close(box->fds[--box->n_fds]);
	free(box->data);
	*box = (struct inbox){0};
}

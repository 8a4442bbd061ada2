/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * descriptor - reads and writes without waiting on a descriptor that other programs share with us,
 * such as the terminal or a pipe: O_NONBLOCK would be theirs, too, so it is never set on it. Pipes
 * and terminals are opened a second time; sockets take a flag with each call; regular files do not
 * wait; for the rest poll(2) is asked first.
 */
#ifndef SCHEDULER_SCRUN_DESCRIPTOR_H
#define SCHEDULER_SCRUN_DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum descriptor_kind {
	DESCRIPTOR_OWN, /* opened by us, O_NONBLOCK, closed by us */
	DESCRIPTOR_SOCKET,
	DESCRIPTOR_FILE,
	DESCRIPTOR_SHARED, /* could not be opened again */
};

struct descriptor {
	int fd; /* to watch */
	enum descriptor_kind kind;
	bool is_ours; /* closed with it */
};

/* @fd stays the caller's, and open. */
void descriptor_open(struct descriptor *d, int fd, bool does_write);
/* @fd is a file that we opened ourselves; ours from now on. */
void descriptor_take_file(struct descriptor *d, int fd);
void descriptor_close(struct descriptor *d);

/* Bytes, 0 = the end, or -errno; -EAGAIN: nothing now. */
ssize_t descriptor_read(const struct descriptor *d, void *to, size_t size);
/* Bytes, or -errno; -EAGAIN: no room now. */
ssize_t descriptor_write(const struct descriptor *d, const void *from, size_t size);

#endif

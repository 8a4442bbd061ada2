/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file - a process of the agent's that writes a file which comes, or reads one that is sent, with a
 * pipe for the bytes. It sends its reports, struct file_report, over a SOCK_SEQPACKET pair.
 *
 * A file that comes is written beside its place and gets there by rename(2) when all of it is on
 * the disk and has the right SHA-256. Whatever fails, also that the pipe ends too early because the
 * agent is gone, leaves nothing behind.
 */
#ifndef SCHEDULER_SCREMOTE_FILE_H
#define SCHEDULER_SCREMOTE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "scheduler/scremote/message.h"

#define FILE_TEXT_MAX 1024

struct file_report {
	int error; /* errno; 0: it went well */
	char text[FILE_TEXT_MAX];
	uint64_t size; /* of the file that is read, as are: */
	mode_t mode;
	int64_t mtime_ns;
	char sha256[MESSAGE_SHA256_CHARS +
		    1]; /* of what was read or written; "" in the first report of a reader */
};

struct file_plan {
	const struct message *message; /* OP_PUT or OP_GET */
	const char *host, *home;
	int control;
	int bytes; /* its end of the pipe */
};

/*
 * Receives a report from the agent's end of the control link; makes one if the process is gone.
 * False: none yet.
 */
bool file_hear(struct file_report *ret, int control, const char *host);
/* The pid, or -errno. Reports once. */
pid_t file_write(const struct file_plan *plan);
/* Reports what the file is, or why it cannot be read; and, at its end, how that came. */
pid_t file_read(const struct file_plan *plan);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * options - the command line of scremote(8). Texts point into argv or the environment.
 */
#ifndef SCHEDULER_SCREMOTE_OPTIONS_H
#define SCHEDULER_SCREMOTE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#define SCREMOTE_EXIT_FAILED 1
#define SCREMOTE_EXIT_USAGE 2

struct scremote_options {
	int fd;              /* connection that is there already; -1: none */
	bool is_sealed;      /* the seal of that connection comes by standard input */
	const char *connect; /* "ADDRESS:PORT" or the path of a unix socket; NULL: fd is given */
	const char *key;     /* said to the other side; NULL: none */
	const char *host;    /* our name; NULL: the host's own, up to the first dot */
	const char *munge_socket;
};

/* 0; 1: the answer is printed, nothing is left to do; -EINVAL and a sentence. */
int scremote_options_read(struct scremote_options *ret, int argc, char **argv, char *why,
			  size_t why_size);

#endif

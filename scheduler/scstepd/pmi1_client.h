/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmi1_client - one rank's connection to the PMI-1 server: its state, and what is sent over it. For
 * pmi1.c, which reads from it.
 */
#ifndef SCHEDULER_SCSTEPD_PMI1_CLIENT_H
#define SCHEDULER_SCSTEPD_PMI1_CLIENT_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scheduler/scstepd/pmi1.h"
#include "scheduler/scstepd/pmi1_line.h"
#include "scheduler/scstepd/pmi1_space.h"

#define PMI1_OUT_MAX 1024

enum client_state {
	CLIENT_ABSENT, /* not forked yet */
	CLIENT_SILENT, /* no cmd=init so far */
	CLIENT_ACTIVE,
	CLIENT_BARRIER,
	/* it went between init and finalize: if it has ended, that ends the job */
	CLIENT_LOST,
	CLIENT_LEFT,  /* the same, and it lives on */
	CLIENT_NEVER, /* it went and had never begun */
	CLIENT_OVER,  /* finalized */
};

struct client {
	struct pmi1 *pmi;
	uint32_t rank;
	uint32_t appnum;
	enum client_state state;
	int fd;
	ev_io readable, writable;
	ev_timer timeout; /* once it is lost */
	bool is_spawning; /* within the lines of mcmd=spawn */
	bool is_aborting; /* what follows is the rest of its message */
	size_t n_in, n_out, n_put;
	char in[PMI1_LINE_MAX + 1];
	char out[PMI1_OUT_MAX];
};

struct pmi1 {
	struct ev_loop *loop;
	const struct pmi1_ops *ops;
	void *owner;
	char *kvsname;
	uint32_t size, universe, first, n_local;
	struct client *clients;
	struct pmi1_space space;
	bool is_held;
	bool is_fencing;
	struct pmi1_pairs fresh; /* put since the last barrier */
	bool is_marked;          /* our abort marker is in the barrier */
};

/* Twice is fine. One that was in MPI is lost, and its timeout begins. */
void pmi1_hang_up(struct client *client);
/* It does not keep to the protocol, or never comes: that ends the job. */
void pmi1_fail(struct client *client, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void pmi1_answer(struct client *client, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Sends what waits; it is read from again when all is sent. */
void pmi1_flush(struct client *client);

#endif

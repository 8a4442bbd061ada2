/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agent - the connection to scout and what is done by its order. Its end is the end of everything
 * that was started and has not ended.
 */
#ifndef SCHEDULER_SCREMOTE_AGENT_H
#define SCHEDULER_SCREMOTE_AGENT_H

#include <ev.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "scheduler/proto/link.h"
#include "scheduler/scremote/options.h"

struct get;
struct message;
struct parents;
struct put;
struct run;
TAILQ_HEAD(get_list, get);
TAILQ_HEAD(put_list, put);
TAILQ_HEAD(run_list, run);

struct agent {
	struct ev_loop *loop;
	struct auth *auth; /* NULL: not needed until now */
	struct link *link;
	struct run_list runs;
	size_t n_runs;
	struct put_list puts;
	size_t n_puts;
	struct get_list gets;
	size_t n_gets;
	struct parents *parents; /* NULL: nobody may come */
	const char *munge_socket;
	const char *key; /* may be NULL */
	char host[256];
	char why[1024]; /* there never was a connection; "" else */
	bool is_cut;    /* something was under way at its end, or has escaped from its keeper */
};

/*
 * 0, or -errno and a sentence. From then on the loop has everything to do; it is left at the end of
 * the connection.
 */
int agent_open(struct agent *agent, struct ev_loop *loop, const struct scremote_options *options,
	       char *why, size_t why_size);
void agent_close(struct agent *agent);

/* agent_send.c */
/* To scout. Takes the reference. */
void agent_send(struct agent *agent, json_t *head, const void *body, size_t size);
void agent_send_failed(struct agent *agent, uint64_t id, int error, const char *text);
/* Borrows the names. */
void agent_send_cut(struct agent *agent, uint64_t id, json_t *hosts, const char *why);
/* The thread that makes and reads credentials; started at the first call. NULL: no memory. */
struct auth *agent_auth(struct agent *agent);
/* A text for scout, whatever bytes are in it. */
json_t *agent_text(const char *text);

/* agent.c */
/*
 * OP_PUT or OP_DATA of a scout or a parent. 0, or -errno: the link that it came by is to be closed.
 */
int agent_take_file(struct agent *agent, struct link *from, const struct message *m,
		    const char *body, size_t size);

#endif

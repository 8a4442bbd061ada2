/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * order - a job with its number, owner and place: what scored tells each scnoded to start, and
 * scnoded each scstepd. The hosts stand in the order of the ranks; host 0 is the leader, whose
 * scstepd talks to scrun.
 */
#ifndef SCHEDULER_PROTO_ORDER_H
#define SCHEDULER_PROTO_ORDER_H

#include "scheduler/proto/job.h"
#include "scheduler/proto/shared.h"

#define ORDER_HOST_RANKS_MAX 4096

struct order_host {
	char *name;
	char *address;  /* "ADDRESS:PORT" of its scnoded */
	uint32_t first; /* first rank: ranks of a host are consecutive */
	uint32_t ranks;
	uint32_t at[JOB_CART_DIMS]; /* where it stands in a hypercrossbar; see order.n_dims */
	/* numbers of its cores (logical, of the host's own report), in the order of use */
	uint32_t *cores;
	size_t n_cores;
};

struct order {
	uint64_t id;          /* number of the job, never used again */
	uint64_t key;         /* PM's job key, random */
	uint32_t incarnation; /* 1; each restart from a checkpoint draws another one */
	uid_t uid;
	gid_t gid;
	char *cluster;   /* name of the cluster, part of the job's full name */
	uint32_t n_dims; /* of the hypercrossbar that the hosts are in; 0: they are in none */
	struct order_host *hosts;
	size_t n_hosts;
	size_t here; /* which of them this copy goes to */
	struct job *job;
};

int order_decode(struct order **ret, const json_t *from, char *why, size_t why_size);
json_t *order_encode(const struct order *order, size_t here);
/*
 * As text (a zero ends it) for all its hosts: whose copy it is stands beside it. NULL: no memory.
 */
struct shared *order_encode_text(const struct order *order);
/*
 * From such text and the number that stands beside it, which may be missing or anything: it is
 * refused then.
 */
int order_decode_text(struct order **ret, const char *text, size_t size, json_t *here, char *why,
		      size_t why_size);
void order_free(struct order *order);

/*
 * The full name of a world of the job, for people and PMIx's JOBID: "CLUSTER.ID.INCARNATION",
 * spawned ones with ".N" behind it. Its namespace is a number (scstepd/world.c).
 */
void order_namespace(const struct order *order, uint32_t world, char *to, size_t size);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host - what a scnoded tells scored of its host when it registers.
 */
#ifndef SCHEDULER_PROTO_HOST_H
#define SCHEDULER_PROTO_HOST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOST_CORES_MAX 4096

struct host {
	char *name;        /* as in cluster.toml, else the host's own name */
	char *address;     /* "ADDRESS:PORT" at which its scnoded listens */
	char *version;     /* of the suite */
	char *kernel;      /* uname -r */
	char *cgroups;     /* "v2", "v1", "hybrid", "none" */
	bool is_realtime;  /* its switch thread has real-time priority */
	uint32_t n_cores;  /* that jobs may use */
	uint64_t memory;   /* bytes */
	uint64_t clock_ns; /* its CLOCK_REALTIME when it sent this */
	char *cpus;        /* the machine's numbers of these cores: "0,2"; NULL or "" = any */
	char *pm; /* what PM devices it has, for people: "ethernet eth1 eth2, shmem, udp" */
};

int host_decode(struct host **ret, const json_t *from, char *why, size_t why_size);
json_t *host_encode(const struct host *host);
void host_free(struct host *host);

#endif

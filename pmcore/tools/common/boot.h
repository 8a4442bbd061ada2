/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * boot - how the processes of a job find each other before PM runs between them: who am I, how many
 * are we, the job's key, everybody's address. One interface, three ways: PMIx (mpirun, scrun, srun,
 * ...), a TCP connection between two programs started by hand, or a process alone. Moves a few
 * hundred bytes per process; knows no context. Every wait has a time limit.
 */
#ifndef TOOLS_BOOT_H
#define TOOLS_BOOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BOOT_WAIT_MS 10000 /* longest wait for the others */
#define BOOT_PORT 17333    /* of a pmtest started by hand */

struct boot;

/* Functions of one way; all return 0 or -errno after saying why on standard error. */
struct boot_ops {
	int (*publish)(struct boot *boot, const void *addr, size_t len);
	/* -EAGAIN: not known yet. The address stays valid until the next call. */
	int (*lookup)(struct boot *boot, uint32_t node, const void **ret_addr, size_t *ret_len);
	int (*barrier)(struct boot *boot);
	/* Whether this way can tell that another node is gone. */
	bool (*is_gone)(struct boot *boot, uint32_t node);
	/* @is_clean: the job ended well, the others are not kept waiting otherwise. */
	void (*close)(struct boot *boot, bool is_clean);
};

/* Embedded first in the state of each way. */
struct boot {
	const struct boot_ops *ops;
	uint64_t key;   /* of the job, secret */
	uint32_t self;  /* this node, 0 .. nodes - 1 */
	uint32_t nodes; /* of the job */
	uint32_t local; /* nodes of the job on this host, 0 = unknown */
	char peer[64];  /* host of the other side where there is one, else "" */
};

/* Whether the environment says that a PMIx server started us. */
bool boot_pmix_is_offered(void);
/* Meets the others of the job; leaves key and numbers in *@ret_boot. */
int boot_pmix_open(struct boot **ret_boot);
/* Waits on an open listening socket for a client to shake hands with; node 1. */
int boot_tcp_accept(int listener, struct boot **ret_boot);
/* Opens the listening socket; port 0 = any. */
int boot_tcp_listen(uint16_t port, int *ret_listener);
/* Connects to "HOST[:PORT]"; node 0, which makes the key. */
int boot_tcp_connect(const char *where, struct boot **ret_boot);
int boot_alone_open(struct boot **ret_boot);

int boot_random(uint64_t *ret_value);

#endif

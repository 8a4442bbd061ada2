/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * port - what is known of an RDMA port, which ports become rails, which of a port's addresses is
 * ours, and whether two ports can talk. Pure decisions: it asks no library; discover.c fills the
 * structs.
 */
#ifndef PM_VERBS_HW_PORT_H
#define PM_VERBS_HW_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PMV_GIDS_MAX 32
#define PMV_GID_AUTO UINT32_MAX

/* The kind of frames that a rail sends: both ends must have the same. */
enum pmv_protocol {
	PMV_INFINIBAND = 1,
	PMV_ROCE_V1,
	PMV_ROCE_V2,
};

struct pmv_gid {
	uint8_t raw[16];
	uint32_t index; /* in the port's table */
	enum pmv_protocol protocol;
};

struct pmv_port {
	char device[64];
	uint8_t number; /* from 1 */
	bool is_active;
	uint8_t skipped;  /* of a rail: ports asked for before it that are none */
	bool is_ethernet; /* link layer: RoCE */
	uint16_t lid;     /* InfiniBand: address in the subnet */
	uint32_t mtu;     /* active, bytes of payload: 256..4096 */
	struct pmv_gid gids[PMV_GIDS_MAX];
	uint32_t n_gids;
};

/*
 * The entry of port->gids to use: the one at @index of the port's table, or with PMV_GID_AUTO the
 * best. On Ethernet the best is RoCE v2 with an IPv4 address, then v2 with another, then v1. On
 * InfiniBand it is the first. -ENXIO with a sentence when there is none.
 */
int pmv_port_gid(const struct pmv_port *port, uint32_t index, char *why, size_t why_size);

/* "rxe0:1" or "rxe0", which is port 1. */
bool pmv_port_is_named(const struct pmv_port *port, const char *name);

/*
 * Which of @ports become rails: the active ones, or those of them that are named, in that order, at
 * most @max. Their number, or -ENODEV with a sentence; their indices in @ret.
 */
int pmv_port_choose(const struct pmv_port *ports, uint32_t n_ports, const char *names, size_t width,
		    uint32_t n_names, uint32_t *ret, uint32_t max, char *why, size_t why_size);

/* One end of a rail, as the other side is told of it. */
struct pmv_end {
	uint8_t gid[16];
	uint32_t qp; /* number of the UD queue pair that takes greetings */
	uint32_t mtu;
	uint16_t lid;
	uint8_t protocol; /* enum pmv_protocol */
	uint8_t skipped;  /* rails that are missing before it: with its index that is its number */
};

/* 0, or -EHOSTUNREACH with a sentence: other protocol, other MTU, other subnet. */
int pmv_port_reaches(const struct pmv_end *ours, const struct pmv_end *theirs, char *why,
		     size_t why_size);

/* Says what to do about @limit bytes of lockable memory (UINT64_MAX: it is not limited). */
void pmv_port_explain_memlock(uint64_t limit, const char *what, char *why, size_t why_size);
/* The reason and the remedy where a device or a control group gives no more objects. */
#define PMV_NO_MORE                                                                                \
	"the device or the control group gives no more of these objects: \"rdma resource show\" "  \
	"lists the owners, rdma.max is the limit"
/*
 * Says why device @name with its file @node could not be opened. -EPERM: it is not for this user;
 * else -ENODEV.
 */
int pmv_port_explain_open(int err, const char *name, const char *node, char *why, size_t why_size);

const char *pmv_protocol_name(unsigned int protocol);

#endif

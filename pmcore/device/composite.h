/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * composite - several links behind one face: self for the node itself, shmem on the same host, a
 * network for the rest. Owns the links, the nodes in contact, and the order in which links are
 * polled. Each node's traffic goes over the first link that reaches it.
 */
#ifndef PM_DEVICE_COMPOSITE_H
#define PM_DEVICE_COMPOSITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pm.h"
#include "pm_device.h"
#include "pmcore/util/conf.h"
#include "pmcore/util/nodemap.h"
#include "pmcore/util/region.h"
#include "pmcore/util/stats.h"

#define COMPOSITE_LINKS 8
#define COMPOSITE_WHY 512

struct longread_way;

/* A node in contact. */
struct composite_node {
	uint32_t node;
	bool is_dead;
	uint8_t slot; /* of its link in composite.slots */
	/* ... of the one that its process was asked by for a sign of life, 0 = none */
	uint8_t asked;
	bool is_answered;   /* it has given one */
	uint32_t mtu;       /* largest datagram to it */
	uint32_t n_awaited; /* answers of it to what was carried: see pm_link_ops.await */
	struct pm_link *link;
	const struct pm_link_ops *ops; /* completed by stubs */
	struct pm_link_peer *peer;
	char *why;     /* how its death was found out, or NULL */
	void *address; /* copy, kept while another link may have to take it over; else NULL */
	size_t address_len;
	struct longread_way *way; /* of long reads, or NULL */
};

struct composite_slot {
	struct pm_link *link;
	struct pm_link_ops ops; /* completed by stubs */
	struct stats_link *stats;
	char name[CONF_NAME_MAX];
	const char *device; /* the same in static storage, for users */
};

struct composite {
	struct conf conf;
	struct region_table *regions;
	struct stats *stats;
	uint64_t *looks; /* the counter of fruitless polls in it */
	struct composite_slot slots[COMPOSITE_LINKS];
	unsigned int n_slots;
	unsigned int hot;         /* the cheap link that brought the last datagram */
	uint32_t expensive_in;    /* rounds until the expensive links are polled again */
	uint32_t expensive_every; /* ... and how many that is: grows while cheap links are busy */
	uint32_t expensive_every_max; /* ... up to this */
	uint32_t expensive_rest;      /* ... and so many more, if they bring nothing */
	uint32_t stream_in; /* rounds until the stream is asked, whatever other links bring */
	/* the last slot (takeover.h), NULL until a node needs it */
	struct composite_slot *takeover;
	struct composite_slot *stream; /* of long reads (longread.h), NULL = there is none */
	uint32_t n_reads;              /* that might go by it, under way */
	struct conf stream_conf;       /* its own: it goes over the rails of the network device */
	struct nodemap nodes;          /* struct composite_node */
	struct composite_node *recent; /* the last one that was looked for there, or NULL */
	uint32_t self;
	bool is_parked; /* see composite_open_parked */
	pmResolver resolver;
	void *resolver_arg;
	uint8_t resolved[PM_ADDRESS_MAX]; /* copy of the address being looked at */
	size_t resolved_len;
	char why[COMPOSITE_WHY]; /* sentence of the last failure */
	/* devices that were asked for and could not be opened, with reasons */
	char closed[COMPOSITE_WHY];
	char without[160]; /* what the device that is being opened goes on without */
	/* the same for the user who named the devices, "" = nothing */
	char note[COMPOSITE_WHY + 32];
};

/* A received datagram and the link that lent it. */
struct composite_inbound {
	struct pm_inbound in;
	uint8_t slot;
};

/*
 * Opens the links named in options and environment. @regions: memory that is exported already,
 * which is the composite's from then on; NULL: none is. Errors as pmOpenContext, negative; @why
 * explains.
 */
int composite_open(const struct pmOptions *options, struct region_table *regions,
		   struct composite **ret_composite, char *why, size_t why_size);
/* One that reaches nobody now, for @why: whatever is asked of it gives -EAGAIN. -ENOMEM. */
int composite_open_parked(const struct pmOptions *options, struct region_table *regions,
			  const char *why, struct composite **ret_composite);
/* The exported memory, which is the caller's from then on. */
struct region_table *composite_take_regions(struct composite *c);
void composite_close(struct composite *c);
/* Tells all links: see pm_link_ops.exported. */
void composite_export(struct composite *c, uint64_t rkey, void *addr, uint64_t len);

int composite_address(struct composite *c, void *buf, size_t room);
/*
 * The node's entry, made at first contact. -EAGAIN (resolver), -EHOSTUNREACH, -EINVAL, -EPIPE
 * (dead).
 */
int composite_node(struct composite *c, uint32_t node, struct composite_node **ret_node);
/* The same if it is in contact, dead or alive, else NULL. */
static inline struct composite_node *composite_find(struct composite *c, uint32_t node)
{
	struct composite_node *n = c->recent;

	if (__builtin_expect(n && n->node == node, 1))
		return n;
	n = nodemap_get(&c->nodes, node);
	c->recent = n;
	return n;
}
int composite_add(struct composite *c, uint32_t node, const void *addr, size_t len);
/* Tells all links; see pmCork. */
void composite_cork(struct composite *c, bool is_on);
void composite_remove(struct composite *c, uint32_t node);

/*
 * One round over the links: 1 and *ret, 0, or -EPIPE with ret->in.src dead. 2: *ret is what another
 * context's api has carried; it knows what it is, and releases it.
 */
int composite_poll(struct composite *c, struct composite_inbound *ret);
/* A node is reached by the slot's link, which may be expensive to poll. */
void composite_reached(struct composite *c, const struct composite_slot *slot);
/* Sets the sentence of the last failure; cut when too long. */
__attribute__((format(printf, 2, 3))) void composite_explain(struct composite *c,
							     const char *format, ...);
/* A link's part of a node's address, as pm_device_env.address_of; @arg is the composite. */
int composite_part(void *arg, uint32_t node, const char *name, const void **ret_addr,
		   size_t *ret_len);
/* The node is dead, for what c->why says; see takeover_mark_dead. */
void composite_bury(struct composite *c, struct composite_node *n);
/* Adds to @said, COMPOSITE_WHY bytes, why the link that was asked last does not take the node. */
void composite_note_refusal(const struct composite *c, uint32_t node, char *said);
/* Nothing is known about which links are busy: the next rounds poll all. */
void composite_look_everywhere(struct composite *c);
/* How often expensive links are polled: is a node reached by one, or has sent something by it? */
void composite_pace(struct composite *c, bool is_used);

/* State of all links, see pm_link_ops. */
int composite_quiesce(struct composite *c);
void composite_resume(struct composite *c);
int composite_save(struct composite *c, uint8_t *buf, size_t room);
int composite_restore(struct composite *c, const uint8_t *buf, size_t len);
uint64_t composite_memory(const struct composite *c);

#endif

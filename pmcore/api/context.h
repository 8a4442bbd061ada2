/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * context - what stands behind a pmContext: the handle table of the process, and the tables of
 * descriptors that are open in one context. Internal to api/.
 */
#ifndef PM_API_CONTEXT_H
#define PM_API_CONTEXT_H

#include "pm.h"
#include "pmcore/device/composite.h"
#include "pmcore/device/longread.h"
#include "pmcore/wire/atomic.h"

#define CONTEXT_HANDLES 256  /* contexts open at once in a process */
#define CONTEXT_SENDS 1024   /* send buffers open at once */
#define CONTEXT_INBOUND 8192 /* receive buffers held at once */
#define CONTEXT_OPS 1024     /* one-sided operations open at once */

/*
 * The slot that a descriptor names. The low half of a pmDesc is index + 1, the high half the
 * generation, so that a descriptor that was given back is never valid again.
 */
struct slot {
	uint32_t generation; /* odd while open */
	uint32_t next_free;  /* index + 1 in the free list, 0 = end */
};

struct send_slot {
	struct slot slot;
	uint32_t len; /* reserved, or truncated to */
	struct composite_node *node;
	uint64_t cookie; /* of the link */
};

struct inbound_slot {
	struct slot slot;
	uint8_t link; /* composite slot that lent it */
	void *owned;  /* not NULL: a copy of our own instead (restored, or saved) */
	uint64_t cookie;
};

enum op_kind { OP_READ, OP_WRITE, OP_ATOMIC };

/* An atomic operation of ours. */
struct op_atomic {
	uint32_t node;
	bool is_over;
	int error;       /* positive, once it is over */
	uint64_t before; /* the answer */
};

struct op_slot {
	struct slot slot;
	enum op_kind kind;
	union {
		/* its slot and op are the link and its name of the operation, also of a write */
		struct longread read;
		struct op_atomic atomic;
	};
};

/* The answer to an atomic operation that another node asked for, which waits for room. */
struct atomic_answer {
	struct atomic_answer *next;
	uint8_t bytes[WIRE_ATOMIC_ANSWER_BYTES];
};

/* Those of one node, the oldest first. */
struct atomic_queue {
	struct atomic_queue *next;
	struct atomic_answer *head, **tail;
	uint32_t node;
	uint32_t n;
};

/* A datagram that was taken from a link while the user asked for something else. */
struct stashed {
	struct pm_inbound in;
	uint8_t link;
	void *owned; /* as in inbound_slot */
};

struct slot_table {
	uint8_t *slots;    /* elements that start with struct slot */
	uint32_t size;     /* bytes of an element, for the tables of attributes */
	uint32_t capacity; /* elements at most */
	uint32_t used;     /* elements ever handed out: the rest is untouched memory */
	uint32_t free;     /* index + 1 of the first free one */
	uint32_t n_open;
};

struct context {
	struct composite *c;
	pmContext handle;
	struct pmOptions options; /* that it was opened with; config is NULL */
	bool is_held;             /* between pmHold and pmResume: nothing new is taken on */
	bool is_quiet;            /* between pmQuiesce and pmResume: nothing is sent, either */
	bool is_drained;          /* pmQuiesce, while held, has taken in all that was sent to us */
	bool is_suspended;        /* between pmSuspend and pmRevive: it has no device */
	bool is_short;            /* the last poll lacked memory: a datagram may wait in a device */
	char note[sizeof(((struct composite *)0)->note)]; /* what pmGetNote has given */
	bool is_armed;    /* between pmBeforeSelect and pmAfterSelect */
	bool is_crowded;  /* more local nodes than cores: yield at once */
	uint32_t spin_ns; /* how long pmWait spins now, adapted */
	int epoll_fd;     /* of all links; -1 until first needed */
	struct slot_table sends, inbound, ops;
	struct stashed *stash; /* ring of datagrams to give before polling */
	uint32_t stash_head, stash_count, stash_room;
	uint32_t *dead; /* nodes found dead while the user asked for something else */
	uint32_t n_dead, room_dead;
	struct atomic_queue *answers; /* of the nodes for which some wait */
	uint32_t n_answers;           /* of all of them */
	uint32_t n_over;              /* our operations that are over, and not asked for yet */
	uint64_t odd_atomics;         /* requests and answers that no honest node sends: dropped */
};

/* Whether calls that would give the devices work get ENOBUFS. */
static inline bool context_refuses(const struct context *ctx)
{
	return ctx->is_held | ctx->is_quiet;
}

/* Sets pmLastError and returns @error. */
int fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3), cold));
/* The same with the composite's sentence, from a negative code. */
int fail_why(struct context *ctx, int negative);

/*
 * Handle = generation << 8 | index. A lookup reads one word; opening and closing take a lock. The
 * lookups and the slot functions are inline because each of the calls of a message's path makes
 * some.
 */
struct context_handle {
	pmContext handle; /* 0: free */
	struct context *ctx;
};
extern struct context_handle context_handles[CONTEXT_HANDLES] __attribute__((visibility("hidden")));

struct context *context_unknown(pmContext handle) __attribute__((cold));

/* The context of a handle, or NULL. */
static inline struct context *context_get(pmContext handle)
{
	struct context_handle *h = &context_handles[handle % CONTEXT_HANDLES];

	if (__builtin_expect(!handle || __atomic_load_n(&h->handle, __ATOMIC_ACQUIRE) != handle, 0))
		return context_unknown(handle);
	return h->ctx;
}

/*
 * rma.c: streams are quiet, and no read depends on one any more: 0, or -EAGAIN, poll and ask again.
 */
int rma_settle(struct context *ctx);
/* Whether the handle is one of the node, and [roffset, roffset+len) inside its region: EINVAL. */
int rma_check(const char *call, pmNode node, const pmHandle *remote, uint64_t roffset,
	      uint64_t len);

/*
 * atomic_serve.c: a datagram that composite_poll gave as carried, which is given back. True: it was
 * an answer that the program may wait for.
 */
bool atomic_arrived(struct context *ctx, const struct composite_inbound *m);
/* Sends answers that wait, as far as there is room. */
void atomic_push(struct context *ctx);
/* An answer of the node is not awaited any more. */
void atomic_ended(struct context *ctx, uint32_t node);
/* The node is being removed: its operations end, what it asked is not answered. */
void atomic_forget(struct context *ctx, uint32_t node);
void atomic_fini(struct context *ctx);

int slot_table_init(struct slot_table *table, uint32_t element_size, uint32_t capacity);
void slot_table_fini(struct slot_table *table);

static inline struct slot *slot_at(const struct slot_table *table, uint32_t size, uint32_t index)
{
	return (struct slot *)(table->slots + (size_t)index * size);
}

/* Opens a slot: its element, or NULL when all are open. @size: of an element, a constant here. */
static inline void *slot_open_sized(struct slot_table *table, uint32_t size, pmDesc *ret_desc)
{
	uint32_t index = table->free - 1;
	struct slot *s;

	if (__builtin_expect(table->free != 0, 1)) {
		s = slot_at(table, size, index);
		table->free = s->next_free;
	} else if (table->used < table->capacity) {
		index = table->used++;
		s = slot_at(table, size, index);
	} else {
		return NULL;
	}
	s->generation++;
	table->n_open++;
	*ret_desc = (uint64_t)s->generation << 32 | (index + 1);
	return s;
}

/* The element of an open descriptor, or NULL. */
static inline void *slot_get_sized(const struct slot_table *table, uint32_t size, pmDesc desc)
{
	uint32_t index = (uint32_t)desc - 1;
	struct slot *s;

	if (__builtin_expect(index >= table->used, 0))
		return NULL;
	s = slot_at(table, size, index);
	return s->generation == desc >> 32 && (s->generation & 1) ? s : NULL;
}

/* Closes the open slot of @desc, whose element is @s. */
static inline void slot_close(struct slot_table *table, pmDesc desc, struct slot *s)
{
	s->generation++;
	s->next_free = table->free;
	table->free = (uint32_t)desc;
	table->n_open--;
}

#define slot_open(table, type, ret_desc) ((type *)slot_open_sized(table, sizeof(type), ret_desc))
#define slot_get(table, type, desc) ((type *)slot_get_sized(table, sizeof(type), desc))

/*
 * Polls once; what arrives is stashed. Makes the progress that other calls than pmReceive owe.
 * Returns 1 when something was stashed, or an atomic operation is over; 0 if not.
 */
int context_progress(struct context *ctx);
int context_stash(struct context *ctx, const struct stashed *stashed);
int context_note_dead(struct context *ctx, uint32_t node);
/*
 * Makes a stashed datagram our own, so that no link buffer stays lent: giving one back may owe the
 * peer an ack, or a credit. -ENOMEM: it stays lent.
 */
int context_own(struct context *ctx, struct stashed *s);
/* All of them. */
int context_own_all(struct context *ctx);

/* save.c: EBUSY, with a sentence, unless the context is quiet and no descriptor is open. */
int context_check_still(const struct context *ctx, const char *call);
/* ... that the context has its devices, else EBUSY. */
int context_check_open(const struct context *ctx, const char *call);

#endif

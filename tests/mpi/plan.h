/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random plans of one-sided communication, and the model of the windows that they change. Knows the
 * types of MPI, but calls nothing that communicates: tests/mpi/model.c carries plans out.
 */
#ifndef TESTS_MPI_PLAN_H
#define TESTS_MPI_PLAN_H

#include "tests/mpi/check.h"

#include <stdbool.h>

enum kind { CREATE, ALLOCATE, DYNAMIC, KINDS };
enum sync { FENCE, POST, SHARED, EXCLUSIVE, LOCK_ALL, SYNCS };
enum base { BYTES, SHORTS, INTS, LONGS, WORDS, DOUBLES, PAIRS, BASES };
enum call { PUT, GET, ACCUMULATE, GET_ACCUMULATE, FETCH_AND_OP, COMPARE_AND_SWAP };
enum shape { PLAIN, VECTOR, INDEXED, STRUCT, SHAPES };

/* The use of a cell in a phase. The last three give values of which only the set is known. */
enum rule {
	WRITTEN, /* one put */
	READ,    /* gets of several ranks */
	JOINED,  /* accumulates of several ranks, all with one operation */
	OWN,     /* calls of all kinds of one rank, in its order */
	COUNTED, /* several ranks fetch and add */
	SWAPPED, /* several ranks fetch and replace */
	RACED,   /* several ranks compare and swap */
	RULES
};

enum {
	RANKS = 8, /* at most */
	CELLS = 256,
	OPS = 2048,
	SLOTS = 32768,
	UNITS = 100, /* at most in a layout: each may be a message */
};

/* A pair has a gap of 4 bytes. Each part of a window holds numbers of one base alone. */
static struct {
	MPI_Datatype type;
	int size, first, end; /* bytes; place in each window */
} bases[BASES] = {
	{MPI_UINT8_T, 1, 0, 0x60000},
	{MPI_UINT16_T, 2, 0x60000, 0x70000},
	{MPI_INT32_T, 4, 0x70000, 0x80000},
	{MPI_INT64_T, 8, 0x80000, 0x90000},
	{MPI_UINT64_T, 8, 0x90000, 0xa0000},
	{MPI_DOUBLE, 8, 0xa0000, 0xc0000},
	{MPI_DATATYPE_NULL, 16, 0xc0000, 0xd0000},
};

enum { ROOM = 0xd0000 };

static const struct {
	MPI_Op op;
	unsigned int for_bases; /* set of bits */
} ops[] = {
#define UNSIGNED (1u << BYTES | 1u << SHORTS | 1u << WORDS)
#define INTEGER (UNSIGNED | 1u << INTS | 1u << LONGS)
#define NUMBER (INTEGER | 1u << DOUBLES)
/* op/avx of Open MPI gives the greatest number where a sum of 8 or 16 bits is greater */
#define SUMMABLE (NUMBER & ~(1u << BYTES | 1u << SHORTS))
	{MPI_REPLACE, NUMBER}, {MPI_NO_OP, NUMBER}, {MPI_SUM, SUMMABLE},  {MPI_MIN, NUMBER},
	{MPI_MAX, NUMBER},     {MPI_BAND, INTEGER}, {MPI_BOR, INTEGER},   {MPI_BXOR, INTEGER},
	{MPI_LAND, INTEGER},   {MPI_LXOR, INTEGER}, {MPI_PROD, UNSIGNED},
};

enum { REPLACE, NO_OP, SUM, N_OPS = sizeof(ops) / sizeof(ops[0]) };

/* @n elements in units of @block, one unit each @stride elements; all but VECTOR split each unit */
struct layout {
	enum shape shape;
	int n, block, stride;
};

struct cell {
	enum rule rule;
	enum base base;
	int target, place; /* rank; byte in its window */
	struct layout at;
	int op; /* index into ops, for accumulates */
};

struct op {
	const struct cell *cell;
	enum call call;
	int op, origin, key; /* key: orders those of one origin */
	struct layout at, from, into;
	uint64_t seed;          /* of the data and of how it is done */
	int64_t expected, wish; /* of a compare-and-swap */
	bool is_after;          /* what its origin did before at the target must be complete */
	int slot;               /* of what is fetched, in a table that all ranks join */
	char *result;           /* what it must fetch, packed; ours alone, like all that follows */
	char *data, *got, compare[8]; /* buffers */
	bool is_under_way;
	MPI_Request request;
};

struct window {
	MPI_Win win;
	MPI_Comm comm; /* its ranks may have another order than MPI_COMM_WORLD's */
	int me;
	enum kind kind;
	enum sync sync;
	bool is_pt2pt, is_rdma; /* served by that component of Open MPI */
	bool is_single; /* atomic calls have one element: Open MPI may use those of the network */
	char *memory, *model[RANKS];
	MPI_Aint places[RANKS];
	int units[RANKS];
	bool is_held[RANKS]; /* locks */
};

static struct {
	struct cell cells[CELLS];
	struct op ops[OPS];
	int n_cells, n_ops, n_slots;
	int used[RANKS][BASES]; /* bytes of each part */
	bool may[RANKS][RANKS]; /* origin, target */
	bool is_checked;        /* no assertions to MPI */
} plan;

static uint64_t state; /* of the random numbers of a plan */

/* Number @i of the row @row. */
static inline uint64_t mix(uint64_t row, uint64_t i)
{
	uint64_t x = row + (i + 1) * 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* The same in all ranks, so no rank may ask more often than another. */
static inline int below(int n)
{
	return (int)(mix(state++, 0) % (uint64_t)n);
}

static inline bool is_chain(enum rule rule)
{
	return rule >= COUNTED;
}

static inline int64_t number(enum base base, const void *p)
{
	switch (base) {
	case BYTES:
		return *(const uint8_t *)p;
	case SHORTS:
		return *(const uint16_t *)p;
	case INTS:
		return *(const int32_t *)p;
	case DOUBLES:
		return (int64_t) * (const double *)p;
	default:
		return *(const int64_t *)p;
	}
}

static inline void set_number(enum base base, void *p, int64_t x)
{
	if (base == DOUBLES || base == PAIRS)
		((double *)p)[base == PAIRS] = (double)x;
	if (base == PAIRS)
		x ^= x >> 7;
	if (base != DOUBLES)
		memcpy(p, &x, base == PAIRS ? 4 : (size_t)bases[base].size);
}

/* Signed numbers and doubles stay so small that no sum overflows or is rounded. */
static inline void set_random(enum base base, void *p, uint64_t x)
{
	if (base == INTS || base == DOUBLES || base == PAIRS)
		x = x % (1 << 21) - (1 << 20);
	else if (base == LONGS)
		x = x % (1l << 41) - (1l << 40);
	set_number(base, p, (int64_t)x);
}

/* Element @i of a layout, counted in elements. */
static inline int place_of(const struct layout *l, int i)
{
	int unit = i / l->block, k = i % l->block;

	if (l->shape == PLAIN)
		return i;
	if (l->shape == INDEXED)
		unit = l->n / l->block - 1 - unit;
	if (l->shape != VECTOR && k >= (l->block + 1) / 2)
		k += l->stride - l->block;
	return unit * l->stride + k;
}

static inline int span_of(const struct layout *l)
{
	return l->shape == PLAIN ? l->n : l->n / l->block * l->stride;
}

static inline void copy_element(enum base base, char *to, const char *from)
{
	if (base != PAIRS) {
		memcpy(to, from, (size_t)bases[base].size);
		return;
	}
	memcpy(to, from, 4);
	memcpy(to + 8, from + 8, 8);
}

static inline void pack(enum base base, const struct layout *l, char *packed, const char *from)
{
	for (int i = 0, size = bases[base].size; i < l->n; i++)
		copy_element(base, packed + i * size, from + place_of(l, i) * size);
}

static inline void unpack(enum base base, const struct layout *l, char *to, const char *packed)
{
	for (int i = 0, size = bases[base].size; i < l->n; i++)
		copy_element(base, to + place_of(l, i) * size, packed + i * size);
}

static inline struct layout layout_any(int a, int b)
{
	struct layout l = {.shape = (enum shape)below(SHAPES), .n = a * b};

	l.block = below(2) ? a : b;
	l.stride = l.block + 1 + below(below(4) ? 4 : l.block + 1);
	if (l.n / l.block > UNITS)
		l.shape = PLAIN;
	return l;
}

/* The type and the count of a layout. The type of PLAIN is the base's own. */
static inline int type_open(enum base base, const struct layout *l, MPI_Datatype *ret_type)
{
	int n = l->n / l->block, lengths[2 * UNITS], places[2 * UNITS], size = bases[base].size;
	MPI_Aint fields[2];
	MPI_Datatype types[2] = {bases[base].type, bases[base].type}, split;

	if (l->shape == PLAIN) {
		*ret_type = bases[base].type;
		return l->n;
	}
	for (int i = 0; l->shape != VECTOR && i < 2 * n; i++) {
		lengths[i] = (l->block + (i + 1) % 2) / 2;
		places[i] = lengths[i]
				    ? place_of(l, i / 2 * l->block + (i % 2 ? lengths[i - 1] : 0))
				    : 0;
	}
	if (l->shape == VECTOR) {
		MPI_Type_vector(n, l->block, l->stride, bases[base].type, ret_type);
	} else if (l->shape == INDEXED) {
		MPI_Type_indexed(2 * n, lengths, places, bases[base].type, ret_type);
	} else {
		fields[0] = 0;
		fields[1] = places[1] * size;
		MPI_Type_create_struct(2, lengths, fields, types, &split);
		MPI_Type_create_resized(split, 0, l->stride * size, ret_type);
		MPI_Type_free(&split);
	}
	MPI_Type_commit(ret_type);
	return l->shape == STRUCT ? n : 1;
}

/* Its numbers for the target, packed. */
static inline char *op_data(const struct op *o)
{
	enum base base = o->cell->base;
	int size = bases[base].size;
	char *packed = calloc((size_t)o->at.n, (size_t)size);

	for (int i = 0; i < o->at.n; i++) {
		uint64_t x = mix(o->seed, (uint64_t)i);

		if (o->cell->rule == RACED)
			set_number(base, packed, o->wish);
		else if (o->cell->rule == COUNTED)
			set_number(base, packed + i * size, 1 + (int64_t)(x % 1000));
		else
			set_random(base, packed + i * size, x);
	}
	return packed;
}

/* Changes the model. */
static inline void op_apply(struct window *w, struct op *o)
{
	enum base base = o->cell->base;
	size_t length = (size_t)(o->at.n * bases[base].size);
	char *there = w->model[o->cell->target] + o->cell->place;
	char *old = calloc(1, length), *new = op_data(o);

	pack(base, &o->at, old, there);
	if (o->origin == w->me && o->call != PUT && o->call != ACCUMULATE) {
		o->result = malloc(length);
		memcpy(o->result, old, length);
	}
	if (o->call == COMPARE_AND_SWAP) {
		o->expected = number(base, below(4) ? old : new);
		if (o->expected == number(base, old))
			unpack(base, &o->at, there, new);
	} else if (o->call == PUT || (o->call != GET && o->op == REPLACE)) {
		unpack(base, &o->at, there, new);
	} else if (o->call != GET && o->op != NO_OP) {
		MPI_Reduce_local(new, old, o->at.n, bases[base].type, ops[o->op].op);
		unpack(base, &o->at, there, old);
	}
	free(old);
	free(new);
}

static inline struct op *op_add(struct window *w, const struct cell *c, int origin, enum call call)
{
	struct op *o = &plan.ops[plan.n_ops++];
	struct layout one = {PLAIN, 1, 1, 1};
	bool is_one = call >= FETCH_AND_OP || (call > GET && w->is_single);
	/* osc/rdma of Open MPI before 4.1.5 fetches wrong values into other types, and long ones */
	bool is_plain = is_one || (w->is_rdma && call == GET_ACCUMULATE);

	CHECK(plan.n_ops <= OPS && plan.n_slots < SLOTS, "the plan is too long");
	*o = (struct op){.cell = c, .call = call, .op = c->op, .origin = origin, .at = c->at};
	o->request = MPI_REQUEST_NULL;
	o->seed = mix(state++, 1);
	o->key = below(1000);
	for (int i = plan.n_ops - 2; i >= 0 && plan.ops[i].cell == c; i--)
		if (plan.ops[i].origin == origin && plan.ops[i].key > o->key)
			o->key = plan.ops[i].key;
	if (is_one)
		o->at = one;
	if (is_plain && o->at.n * bases[c->base].size > 4096)
		o->at.n = 4096 / bases[c->base].size;
	if (is_plain)
		o->from = o->into = o->at;
	else
		o->from = layout_any(o->at.block, o->at.n / o->at.block);
	if (!is_plain)
		o->into = layout_any(o->at.block, o->at.n / o->at.block);
	o->slot = plan.n_slots;
	if (is_chain(c->rule))
		plan.n_slots += o->at.n;
	return o;
}

static inline int any_op(enum base base)
{
	int op;

	do
		op = SUM + below(N_OPS - SUM);
	while (!(ops[op].for_bases >> base & 1));
	return op;
}

/*
 * One rank's calls, one after another. MPI keeps the order of accumulates of one operation; all
 * others wait for those before, which they can while a lock is held.
 */
static inline void own_row(struct window *w, struct cell *c, int origin)
{
	bool can_wait = w->sync >= SHARED && below(2), is_swap = c->base != DOUBLES && !below(3);
	bool is_one = c->at.shape != INDEXED || c->at.n == 1;
	struct op *o;

	/* osc/pt2pt carries out a later accumulate before an earlier one that waits for a lock */
	for (int i = w->is_pt2pt && !can_wait ? 0 : below(5); i >= 0; i--) {
		enum call call = (enum call)(ACCUMULATE + below(is_one ? 3 : 2));

		if (can_wait) {
			call = (enum call)below(is_one && c->base != DOUBLES ? 6 : 4);
			c->op = below(4) ? any_op(c->base) : REPLACE;
		} else if (is_swap && is_one) {
			call = COMPARE_AND_SWAP;
		}
		o = op_add(w, c, origin, call);
		o->op = c->op;
		o->is_after = can_wait;
		if (call >= GET_ACCUMULATE && !below(4))
			o->op = NO_OP;
		op_apply(w, o);
	}
}

static inline void cell_fill(struct window *w, struct cell *c, int origin)
{
	int64_t old = number(c->base, w->model[c->target] + c->place);
	int n_raced = 0;

	if (c->rule == WRITTEN)
		op_apply(w, op_add(w, c, origin, PUT));
	if (c->rule == OWN)
		own_row(w, c, origin);
	if (c->rule == WRITTEN || c->rule == OWN)
		return;
	for (int rank = 0; rank < check_size; rank++)
		for (int times = below(4); times > 0 && plan.may[rank][c->target]; times--) {
			bool is_one = c->at.n == 1 && below(2);
			struct op *o;

			if (c->rule == READ || c->rule == JOINED) {
				op_apply(w, op_add(w, c, rank, c->rule == READ ? GET : ACCUMULATE));
			} else if (c->rule == RACED) {
				o = op_add(w, c, rank, COMPARE_AND_SWAP);
				o->expected = old;
				o->wish = old + ++n_raced;
				if (c->base == BYTES || c->base == SHORTS)
					o->wish &= c->base == BYTES ? 0xff : 0xffff;
			} else {
				op_add(w, c, rank, is_one ? FETCH_AND_OP : GET_ACCUMULATE);
			}
		}
}

/* Finds a free place for it in the window of its target. */
static inline bool cell_place(struct window *w, struct cell *c)
{
	int size = bases[c->base].size, *used = &plan.used[c->target][c->base];
	int unit = size > w->units[c->target] ? size : w->units[c->target];

	c->place = bases[c->base].first + *used + (below(2) ? 0 : below(below(9) ? 64 : 9000));
	c->place = (c->place + unit - 1) / unit * unit;
	*used = c->place + span_of(&c->at) * size - bases[c->base].first;
	return *used <= bases[c->base].end - bases[c->base].first;
}

static inline void cell_add(struct window *w, int target)
{
	struct cell *c = &plan.cells[plan.n_cells];
	int origin = below(check_size), chance = below(32), a = 1 + below(4), b = 1 + below(4);

	*c = (struct cell){.rule = (enum rule)below(RULES), .target = target};
	c->base = (enum base)below(c->rule <= READ ? BASES : PAIRS);
	if (c->rule == COUNTED)
		c->base = below(2) ? INTS : below(2) ? LONGS : DOUBLES;
	if (c->rule == RACED)
		c->base = (enum base)below(DOUBLES);
	c->op = c->rule == COUNTED ? SUM : REPLACE;
	if (c->rule == JOINED || c->rule == OWN)
		c->op = any_op(c->base);
	if (!is_chain(c->rule) && chance > 16) {
		a = 1 + below(chance > 28 ? 40 : 20);
		b = 1 + below(chance > 28 ? 200 : 30);
		if (chance == 31)
			b = (1 + below(300000)) / a / bases[c->base].size + 1;
	}
	c->at = layout_any(a, b);
	if (c->rule == RACED || (w->is_single && c->rule > READ))
		c->at = (struct layout){PLAIN, 1, 1, 1};
	/* osc/pt2pt fetches what lies in one piece there, if it does not fit into a fragment */
	if (c->rule >= OWN && (w->is_rdma || a * b * bases[c->base].size > 4096))
		c->at.shape = PLAIN;
	if (!cell_place(w, c) || !plan.may[origin][target])
		return;
	plan.n_cells++;
	cell_fill(w, c, origin);
}

/* Some ranks write to their own windows. */
static inline void plan_stores(struct window *w, char *memory)
{
	for (int rank = 0; rank < check_size; rank++) {
		enum base base = (enum base)below(BASES);
		int size = bases[base].size, n = below(2) * below(100);
		int first = bases[base].first + below(1000) * size;

		for (int i = 0; i < n; i++)
			set_random(base, w->model[rank] + first + i * size,
				   mix(state, (uint64_t)i));
		if (rank == w->me)
			memcpy(memory + first, w->model[rank] + first, (size_t)(n * size));
	}
}

static inline void plan_make(struct window *w)
{
	memset(plan.used, 0, sizeof(plan.used));
	plan.n_cells = plan.n_ops = plan.n_slots = 0;
	plan.is_checked = below(4);
	for (int i = 0; i < check_size * check_size; i++)
		plan.may[i / check_size][i % check_size] = w->sync != POST || below(3);
	for (int target = 0; target < check_size; target++)
		for (int n = below(6); n > 0; n--)
			cell_add(w, target);
}

#endif

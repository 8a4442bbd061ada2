// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/api/context.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct context_handle context_handles[CONTEXT_HANDLES];
static uint32_t generation;
static bool is_fork_watched; /* fork() knows our handlers */
static pthread_mutex_t handles_lock = PTHREAD_MUTEX_INITIALIZER;

struct context *context_unknown(pmContext handle)
{
	fail(EBADF,
	     "context %u: not open: it was closed, belongs to the parent of this process, or never "
	     "came from pmOpenContext",
	     handle);
	return NULL;
}

/* ---- fork: contexts stay with the parent, a child that used or closed one would ruin it ---- */

static void before_fork(void)
{
	pthread_mutex_lock(&handles_lock);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&handles_lock);
}

static void in_child(void)
{
	memset(context_handles, 0, sizeof(context_handles));
	pthread_mutex_unlock(&handles_lock);
}

static int publish(struct context *ctx)
{
	int err = EMFILE;

	pthread_mutex_lock(&handles_lock);
	if (!is_fork_watched && pthread_atfork(before_fork, in_parent, in_child)) {
		pthread_mutex_unlock(&handles_lock);
		return ENOMEM;
	}
	is_fork_watched = true;
	for (uint32_t i = 0; i < CONTEXT_HANDLES; i++) {
		if (context_handles[i].handle)
			continue;
		generation = (generation + 1) & 0xffffff;
		if (!generation)
			generation = 1;
		ctx->handle = generation << 8 | i;
		context_handles[i].ctx = ctx;
		__atomic_store_n(&context_handles[i].handle, ctx->handle, __ATOMIC_RELEASE);
		err = 0;
		break;
	}
	pthread_mutex_unlock(&handles_lock);
	return err;
}

static void withdraw(struct context *ctx)
{
	uint32_t i = ctx->handle % CONTEXT_HANDLES;

	pthread_mutex_lock(&handles_lock);
	__atomic_store_n(&context_handles[i].handle, 0, __ATOMIC_RELEASE);
	context_handles[i].ctx = NULL;
	pthread_mutex_unlock(&handles_lock);
}

/* ---- descriptors ---- */

int slot_table_init(struct slot_table *table, uint32_t element_size, uint32_t capacity)
{
	/* mapped, not touched: memory is spent on the slots that are used */
	void *p = mmap(NULL, (size_t)element_size * capacity, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return ENOMEM;
	*table = (struct slot_table){.slots = p, .size = element_size, .capacity = capacity};
	return 0;
}

void slot_table_fini(struct slot_table *table)
{
	if (table->slots)
		munmap(table->slots, (size_t)table->size * table->capacity);
}

/* ---- open and close ---- */

static unsigned int usable_cores(void)
{
	cpu_set_t set;
	long n;

	if (!sched_getaffinity(0, sizeof(set), &set))
		return (unsigned int)CPU_COUNT(&set);
	n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 ? (unsigned int)n : 1;
}

static int check_options(const struct pmOptions *options, struct pmOptions *ret)
{
	if (!options)
		return fail(EINVAL, "pmOpenContext: options is NULL");
	if (options->size < offsetof(struct pmOptions, nodes))
		return fail(
			EINVAL,
			"pmOpenContext: options.size is %zu: set it to sizeof(struct pmOptions)",
			options->size);
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, options, options->size < sizeof(*ret) ? options->size : sizeof(*ret));
	if (ret->self == PM_NODE_ANY)
		return fail(EINVAL,
			    "pmOpenContext: options.self must be a node number, not PM_NODE_ANY");
	return 0;
}

static void discard(struct context *ctx)
{
	for (uint32_t i = 0; i < ctx->stash_count; i++)
		free(ctx->stash[(ctx->stash_head + i) % ctx->stash_room].owned);
	for (uint32_t i = 0; i < ctx->inbound.used; i++) {
		struct inbound_slot *s = (struct inbound_slot *)ctx->inbound.slots + i;

		if (s->slot.generation & 1)
			free(s->owned);
	}
	atomic_fini(ctx);
	composite_close(ctx->c);
	slot_table_fini(&ctx->sends);
	slot_table_fini(&ctx->inbound);
	slot_table_fini(&ctx->ops);
	if (ctx->epoll_fd >= 0)
		close(ctx->epoll_fd);
	free(ctx->stash);
	free(ctx->dead);
	free(ctx);
}

int pmOpenContext(const struct pmOptions *options, pmContext *ret_ctx)
{
	struct pmOptions opt;
	char why[COMPOSITE_WHY];
	struct context *ctx;
	int err = check_options(options, &opt);

	if (err)
		return err;
	if (!ret_ctx)
		return fail(EINVAL, "pmOpenContext: no place for the context");
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return fail(ENOMEM, "pmOpenContext: out of memory");
	ctx->epoll_fd = -1;
	ctx->options = opt;
	ctx->options.config = NULL;
	err = -composite_open(&opt, NULL, &ctx->c, why, sizeof(why));
	if (err) {
		free(ctx);
		return fail(err, "pmOpenContext: %s", why);
	}
	ctx->spin_ns = ctx->c->conf.spin_us * 1000;
	ctx->is_crowded = opt.local > usable_cores();
	err = slot_table_init(&ctx->sends, sizeof(struct send_slot), CONTEXT_SENDS);
	if (!err)
		err = slot_table_init(&ctx->inbound, sizeof(struct inbound_slot), CONTEXT_INBOUND);
	if (!err)
		err = slot_table_init(&ctx->ops, sizeof(struct op_slot), CONTEXT_OPS);
	if (!err)
		err = publish(ctx);
	if (err) {
		discard(ctx);
		return fail(err,
			    err == EMFILE ? "pmOpenContext: %d contexts are open already: close one"
					  : "pmOpenContext: out of memory (%d contexts at most)",
			    CONTEXT_HANDLES);
	}
	*ret_ctx = ctx->handle;
	return PM_SUCCESS;
}

int pmCloseContext(pmContext handle)
{
	struct context *ctx = context_get(handle);

	if (!ctx)
		return EBADF;
	withdraw(ctx);
	discard(ctx);
	return PM_SUCCESS;
}

/* ---- progress ---- */

int context_stash(struct context *ctx, const struct stashed *stashed)
{
	if (ctx->stash_count == ctx->stash_room) {
		uint32_t room = ctx->stash_room ? 2 * ctx->stash_room : 64;
		struct stashed *grown = malloc(room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		for (uint32_t i = 0; i < ctx->stash_count; i++)
			grown[i] = ctx->stash[(ctx->stash_head + i) % ctx->stash_room];
		free(ctx->stash);
		ctx->stash = grown;
		ctx->stash_room = room;
		ctx->stash_head = 0;
	}
	ctx->stash[(ctx->stash_head + ctx->stash_count++) % ctx->stash_room] = *stashed;
	return 0;
}

int context_note_dead(struct context *ctx, uint32_t node)
{
	if (ctx->n_dead == ctx->room_dead) {
		uint32_t room = ctx->room_dead ? 2 * ctx->room_dead : 16;
		uint32_t *grown = realloc(ctx->dead, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		ctx->dead = grown;
		ctx->room_dead = room;
	}
	ctx->dead[ctx->n_dead++] = node;
	return 0;
}

int context_own(struct context *ctx, struct stashed *s)
{
	struct composite_slot *slot = &ctx->c->slots[s->link];

	if (s->owned)
		return 0;
	s->owned = malloc(s->in.len);
	if (!s->owned)
		return -ENOMEM;
	memcpy(s->owned, s->in.buf, s->in.len);
	slot->ops.release(slot->link, s->in.cookie);
	s->in.buf = s->owned;
	return 0;
}

int context_own_all(struct context *ctx)
{
	int err = 0;

	for (uint32_t i = 0; i < ctx->stash_count && !err; i++)
		err = context_own(ctx, &ctx->stash[(ctx->stash_head + i) % ctx->stash_room]);
	return err;
}

/* Room is made before polling, so that what was taken from a link is never dropped. */
static int reserve_stash(struct context *ctx)
{
	static const struct stashed none;
	int err = context_stash(ctx, &none);

	if (!err)
		ctx->stash_count--;
	if (!err)
		err = context_note_dead(ctx, 0);
	if (!err)
		ctx->n_dead--;
	return err;
}

int context_progress(struct context *ctx)
{
	struct composite_inbound inbound;
	struct stashed stashed = {0};
	int got;

	ctx->is_short = reserve_stash(ctx) != 0;
	if (ctx->is_short)
		return 0;
	if (__builtin_expect(ctx->n_answers > 0, 0))
		atomic_push(ctx);
	got = composite_poll(ctx->c, &inbound);
	if (!got)
		return 0;
	if (got == 2)
		return atomic_arrived(ctx, &inbound);
	if (got < 0) {
		context_note_dead(ctx, inbound.in.src);
		return 1;
	}
	stashed.in = inbound.in;
	stashed.link = inbound.slot;
	/* one that holds takes in all that others have sent: its own buffers are given back */
	if (ctx->is_held)
		ctx->is_short = context_own(ctx, &stashed) != 0;
	context_stash(ctx, &stashed);
	return 1;
}

// SPDX-License-Identifier: BSD-3-Clause
/*
 * One-sided communication by random plans. All ranks make the same plan from a seed, carry it out,
 * and compare their windows, and what they fetched, with a model of all windows that each rank
 * keeps in its own memory. A plan has no race: each cell of a window has one rule per phase.
 *
 * Arguments: [storm] [known] [SEED [ROUNDS]]. "storm": instead of plans all ranks read, change and
 * write counters under locks. "known": without what osc/rdma of Open MPI is known to do wrong where
 * a rank is alone in its host. That are windows to which memory is attached later (before 4.1.5),
 * and those whose ranks have different displacement units: it takes 0 for its own.
 */
#include "tests/mpi/plan.h"

#include <signal.h>
#include <unistd.h>

enum {
	PATIENCE_S = 60, /* for a round */
	STORM = 24,      /* words of each counter of the storm */
	TAKES = 10,      /* of locks by each rank, per round of the storm */
};

static const char *const kinds[] = {"create", "allocate", "create_dynamic"};
static const char *const syncs[] = {"fence", "post-start-complete-wait", "lock", "exclusive lock",
				    "lock_all"};
static const char *const calls[] = {
	"put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"};

static uint64_t seed = 1;
static int n_rounds = 300;
static bool is_known;
static char here[160];       /* for messages */
static int64_t slots[SLOTS]; /* what chains have found */

/* A buffer with a pattern between the elements, and those of @packed in their places. */
static char *buffer_make(enum base base, const struct layout *l, const char *packed)
{
	size_t length = (size_t)(span_of(l) * bases[base].size);
	char *buf = malloc(length);

	fill(buf, length, 7);
	if (packed)
		unpack(base, l, buf, packed);
	return buf;
}

static void op_call(struct window *w, struct op *o, bool is_request)
{
	enum base base = o->cell->base;
	MPI_Datatype from, into, at, type = bases[base].type;
	MPI_Op op = ops[o->op].op;
	MPI_Win win = w->win;
	MPI_Request *r = &o->request;
	char *packed = op_data(o);
	int to = o->cell->target, n_from = type_open(base, &o->from, &from);
	int n_into = type_open(base, &o->into, &into), n_at = type_open(base, &o->at, &at);
	MPI_Aint place = (w->places[to] + o->cell->place) / w->units[to];

	set_number(base, o->compare, o->expected);
	o->is_under_way = true;
	o->data = buffer_make(base, &o->from, packed);
	o->got = buffer_make(base, &o->into, NULL);
	if (o->call == PUT && is_request)
		MPI_Rput(o->data, n_from, from, to, place, n_at, at, win, r);
	else if (o->call == PUT)
		MPI_Put(o->data, n_from, from, to, place, n_at, at, win);
	else if (o->call == GET && is_request)
		MPI_Rget(o->got, n_into, into, to, place, n_at, at, win, r);
	else if (o->call == GET)
		MPI_Get(o->got, n_into, into, to, place, n_at, at, win);
	else if (o->call == ACCUMULATE && is_request)
		MPI_Raccumulate(o->data, n_from, from, to, place, n_at, at, op, win, r);
	else if (o->call == ACCUMULATE)
		MPI_Accumulate(o->data, n_from, from, to, place, n_at, at, op, win);
	else if (o->call == GET_ACCUMULATE && is_request)
		MPI_Rget_accumulate(o->data, n_from, from, o->got, n_into, into, to, place, n_at,
				    at, op, win, r);
	else if (o->call == GET_ACCUMULATE)
		MPI_Get_accumulate(o->data, n_from, from, o->got, n_into, into, to, place, n_at, at,
				   op, win);
	else if (o->call == FETCH_AND_OP)
		MPI_Fetch_and_op(o->data, o->got, type, to, place, op, win);
	else
		MPI_Compare_and_swap(o->data, o->compare, o->got, type, to, place, win);
	if (o->from.shape != PLAIN)
		MPI_Type_free(&from);
	if (o->into.shape != PLAIN)
		MPI_Type_free(&into);
	if (o->at.shape != PLAIN)
		MPI_Type_free(&at);
	free(packed);
}

static const char *op_text(const struct op *o)
{
	static char text[160];
	const struct cell *c = o->cell;

	snprintf(text, sizeof(text),
		 "rank %d: %s of %d elements %d, op %d, rule %d, at %d of rank %d", o->origin,
		 calls[o->call], o->at.n, c->base, o->op, c->rule, c->place, c->target);
	return text;
}

/* Its buffers are ours again: checks what it fetched, and spoils what it gave. */
static void op_end(struct op *o)
{
	enum base base = o->cell->base;
	int length = span_of(&o->into) * bases[base].size, wrong = 0;
	bool has_result = o->result && !is_chain(o->cell->rule);
	char *want = buffer_make(base, &o->into, has_result ? o->result : NULL);

	if (o->request != MPI_REQUEST_NULL)
		MPI_Wait(&o->request, MPI_STATUS_IGNORE);
	if (is_chain(o->cell->rule)) {
		for (int i = 0; i < o->at.n; i++)
			slots[o->slot + i] =
				number(base, o->got + place_of(&o->into, i) * bases[base].size);
	} else {
		while (wrong < length && want[wrong] == o->got[wrong])
			wrong++;
	}
	CHECK(is_chain(o->cell->rule) || wrong == length, "%s: %s: byte %d of the buffer of %d",
	      here, op_text(o), wrong, length);
	memset(o->data, 0xee, (size_t)(span_of(&o->from) * bases[base].size));
	o->is_under_way = false;
	free(o->data);
	free(o->got);
	free(want);
}

/* For all calls under way to @target, or to all ranks: -1. */
static void settle(struct window *w, int target)
{
	for (int i = 0; i < plan.n_ops; i++)
		if (plan.ops[i].is_under_way && (target < 0 || plan.ops[i].cell->target == target))
			op_end(&plan.ops[i]);
}

static void let_go(struct window *w, int target)
{
	if (!w->is_held[target])
		return;
	MPI_Win_unlock(target, w->win);
	w->is_held[target] = false;
	settle(w, target);
}

/*
 * MPI_MODE_NOCHECK. After it osc/pt2pt waits for ever in a long put, and in an exclusive lock that
 * follows a lock_all; so does osc/sm in MPI_Win_wait.
 */
static bool can_assert(const struct window *w)
{
	return w->is_rdma && !plan.is_checked;
}

static void take(struct window *w, int target)
{
	bool is_free = w->sync == SHARED && can_assert(w);

	/* osc/pt2pt waits in an unlock for calls to other ranks that it has not sent yet */
	for (int i = 0; i < check_size; i++)
		if (i != target && (w->sync == EXCLUSIVE || w->is_pt2pt))
			let_go(w, i);
	if (!w->is_held[target])
		MPI_Win_lock(w->sync == SHARED ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target,
			     is_free ? MPI_MODE_NOCHECK : 0, w->win);
	w->is_held[target] = true;
}

/* In MPI_Win_flush_all osc/rdma forgets the locks of single ranks. */
static bool can_flush_all(const struct window *w)
{
	return w->sync == LOCK_ALL || !w->is_rdma;
}

/* Completes what we have asked of that rank, by one of several ways. */
static void complete(struct window *w, int target, unsigned int way)
{
	if (w->sync != LOCK_ALL && way % 4 == 0) {
		let_go(w, target);
	} else if (way % 4 == 1 && can_flush_all(w)) {
		MPI_Win_flush_all(w->win);
		settle(w, -1);
	} else {
		MPI_Win_flush(target, w->win);
		settle(w, target);
	}
}

static int by_key(const void *a, const void *b)
{
	const struct op *x = *(struct op *const *)a, *y = *(struct op *const *)b;

	return x->key != y->key ? x->key - y->key : (x > y) - (x < y);
}

/* Our part of the plan. */
static void access_all(struct window *w)
{
	static struct op *ours[OPS];
	bool is_lock = w->sync == SHARED || w->sync == EXCLUSIVE, is_passive = w->sync >= SHARED;
	int n = 0;

	for (int i = 0; i < plan.n_ops; i++)
		if (plan.ops[i].origin == w->me)
			ours[n++] = &plan.ops[i];
	qsort(ours, (size_t)n, sizeof(*ours), by_key);
	for (int i = 0; i < n; i++) {
		unsigned int ways = (unsigned int)ours[i]->seed;
		int target = ours[i]->cell->target;

		if (ways % 64 == 0)
			usleep(ways >> 16 & 0x3ff);
		if (ours[i]->is_after && (!is_lock || w->is_held[target]))
			complete(w, target, ways >> 6);
		if (is_lock)
			take(w, target);
		op_call(w, ours[i], is_passive && ways >> 8 & 1);
		if (ours[i]->request != MPI_REQUEST_NULL && ways >> 9 & 1) {
			op_end(ours[i]);
		} else if (is_passive && !w->is_pt2pt && (ways >> 10) % 8 == 0) {
			/* osc/pt2pt waits for calls to others as well, and forgets to send them */
			MPI_Win_flush_local(target, w->win);
			settle(w, target);
		} else if (is_passive && can_flush_all(w) && (ways >> 10) % 16 == 1) {
			MPI_Win_flush_local_all(w->win);
			settle(w, -1);
		} else if (is_lock && (ways >> 10) % 8 == 2) {
			let_go(w, target);
		}
	}
}

static void group_open(struct window *w, bool is_origin, MPI_Group *ret_group)
{
	int ranks[RANKS], n = 0;
	MPI_Group all;

	for (int i = 0; i < check_size; i++)
		if (is_origin ? plan.may[w->me][i] : plan.may[i][w->me])
			ranks[n++] = i;
	MPI_Win_get_group(w->win, &all);
	MPI_Group_incl(all, n, ranks, ret_group);
	MPI_Group_free(&all);
}

static void phase_begin(struct window *w, bool is_first)
{
	int assertion = can_assert(w) ? MPI_MODE_NOCHECK : 0;
	MPI_Group origins, targets;

	if (w->sync == FENCE && is_first)
		MPI_Win_fence(MPI_MODE_NOPRECEDE, w->win);
	if (w->sync == LOCK_ALL && is_first)
		MPI_Win_lock_all(assertion, w->win);
	if (w->sync != POST)
		return;
	group_open(w, false, &origins);
	group_open(w, true, &targets);
	MPI_Win_post(origins, assertion, w->win);
	if (assertion)
		MPI_Barrier(w->comm);
	MPI_Win_start(targets, assertion, w->win);
	MPI_Group_free(&origins);
	MPI_Group_free(&targets);
}

static void phase_end(struct window *w, bool is_last)
{
	int is_done = !plan.is_checked;

	if (w->sync == FENCE)
		MPI_Win_fence(is_last ? MPI_MODE_NOSUCCEED : 0, w->win);
	else if (w->sync == POST)
		MPI_Win_complete(w->win);
	else if (w->sync == LOCK_ALL && is_last)
		MPI_Win_unlock_all(w->win);
	else if (w->sync == LOCK_ALL)
		MPI_Win_flush_all(w->win);
	else
		for (int i = 0; i < check_size; i++)
			let_go(w, i);
	settle(w, -1);
	if (w->sync == POST && is_done)
		MPI_Win_wait(w->win);
	while (w->sync == POST && !is_done)
		MPI_Win_test(w->win, &is_done);
	if (w->sync >= SHARED)
		MPI_Barrier(w->comm);
}

struct link {
	int64_t found, gave;
};

/* Removes the link that found it, and returns what that one gave. */
static int64_t unlink_found(const struct cell *c, struct link *links, int *n, int64_t found)
{
	int i = 0;
	int64_t gave;

	while (i < *n && links[i].found != found)
		i++;
	CHECK(i < *n, "%s: rule %d, base %d at byte %d of rank %d: nobody found %lld", here,
	      c->rule, c->base, c->place, c->target, (long long)found);
	gave = links[i].gave;
	links[i] = links[--*n];
	return gave;
}

/* Each has found what another one has left. Tells the model what the last one has left. */
static void chain_check(struct window *w, const struct cell *c, int element)
{
	int n = 0, n_known, size = bases[c->base].size;
	char *there = w->model[c->target] + c->place + place_of(&c->at, element) * size, *packed;
	int64_t old = number(c->base, there), last = old;
	struct link links[3 * RANKS + 1], known[3 * RANKS];

	for (int i = 0; i < plan.n_ops; i++) {
		const struct op *o = &plan.ops[i];

		if (o->cell != c)
			continue;
		packed = op_data(o);
		links[n].found = slots[o->slot + element];
		links[n++].gave = number(c->base, packed + element * size);
		free(packed);
	}
	memcpy(known, links, sizeof(known));
	n_known = n;
	if (c->rule == RACED && n) {
		last = unlink_found(c, links, &n, old);
		while (n)
			unlink_found(c, links, &n, last);
	}
	while (c->rule == COUNTED && n)
		last += unlink_found(c, links, &n, last);
	if (c->rule == SWAPPED) {
		for (int i = 0; i < n; i++)
			last ^= known[i].found ^ known[i].gave;
		links[n++].found = last;
		unlink_found(c, links, &n, old);
		for (int i = 0; i < n_known; i++)
			unlink_found(c, links, &n, known[i].gave);
	}
	set_number(c->base, there, last);
}

/* Tells all ranks what chains have found, and gives back the memory of the plan. */
static void phase_check(struct window *w)
{
	MPI_Allreduce(MPI_IN_PLACE, slots, plan.n_slots, MPI_INT64_T, MPI_BOR, w->comm);
	for (int i = 0; i < plan.n_cells; i++)
		for (int k = 0; is_chain(plan.cells[i].rule) && k < plan.cells[i].at.n; k++)
			chain_check(w, &plan.cells[i], k);
	memset(slots, 0, sizeof(slots));
	for (int i = 0; i < plan.n_ops; i++)
		free(plan.ops[i].result);
}

static void compare(const struct window *w)
{
	const char *want = w->model[w->me];
	int wrong = 0;

	if (!memcmp(want, w->memory, ROOM))
		return;
	while (want[wrong] == w->memory[wrong])
		wrong++;
	for (int i = 0; i < plan.n_ops; i++) {
		const struct cell *c = plan.ops[i].cell;
		int end = c->place + span_of(&c->at) * bases[c->base].size;

		if (c->target == w->me && c->place <= wrong && wrong < end)
			fprintf(stderr, "last phase: %s\n", op_text(&plan.ops[i]));
	}
	CHECK(false, "%s: byte %d of the window is %#x, not %#x", here, wrong,
	      w->memory[wrong] & 0xff, want[wrong] & 0xff);
}

/* After a fence or a wait our memory can be read at once, else under a lock. */
static void look(struct window *w)
{
	if (w->sync <= POST)
		compare(w);
	MPI_Barrier(w->comm);
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, w->me, 0, w->win);
	compare(w);
	plan_stores(w, w->memory);
	MPI_Win_unlock(w->me, w->win);
	MPI_Barrier(w->comm);
}

static void round_run(struct window *w)
{
	int n_phases = 1 + below(3);

	for (int phase = 0; phase < n_phases; phase++) {
		plan_make(w);
		phase_begin(w, phase == 0);
		access_all(w);
		phase_end(w, phase == n_phases - 1);
		phase_check(w);
	}
	look(w);
}

static void window_open(struct window *w, enum kind kind)
{
	MPI_Aint place = 0;
	char name[MPI_MAX_OBJECT_NAME + 1];
	MPI_Info info;
	int unit, length;

	*w = (struct window){.kind = kind, .is_single = below(3) == 0};
	MPI_Comm_split(MPI_COMM_WORLD, 0, below(2) ? check_rank : -check_rank, &w->comm);
	MPI_Comm_rank(w->comm, &w->me);
	MPI_Info_create(&info);
	if (w->is_single)
		MPI_Info_set(info, "acc_single_intrinsic", "true");
	for (int rank = 0; rank < check_size; rank++) {
		w->units[rank] = kind == DYNAMIC ? 1 : 1 << below(5);
		if (is_known)
			w->units[rank] = w->units[0];
		w->model[rank] = calloc(1, ROOM);
		for (int base = 0; base < BASES; base++)
			for (int i = bases[base].first; i < bases[base].end; i += bases[base].size)
				set_random((enum base)base, w->model[rank] + i,
					   mix(state, (uint64_t)(rank * ROOM + i)));
	}
	unit = w->units[w->me];
	if (kind != ALLOCATE)
		MPI_Alloc_mem(ROOM, MPI_INFO_NULL, &w->memory);
	if (kind == CREATE)
		MPI_Win_create(w->memory, ROOM, unit, info, w->comm, &w->win);
	else if (kind == ALLOCATE)
		MPI_Win_allocate(ROOM, unit, info, w->comm, &w->memory, &w->win);
	else
		MPI_Win_create_dynamic(info, w->comm, &w->win);
	if (kind == DYNAMIC) {
		MPI_Win_attach(w->win, w->memory, ROOM);
		MPI_Get_address(w->memory, &place);
	}
	MPI_Win_get_name(w->win, name, &length);
	w->is_pt2pt = !strncmp(name, "pt2pt", 5);
	w->is_rdma = !strncmp(name, "rdma", 4);
	MPI_Allgather(&place, 1, MPI_AINT, w->places, 1, MPI_AINT, w->comm);
	MPI_Info_free(&info);
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, w->me, 0, w->win);
	memcpy(w->memory, w->model[w->me], ROOM);
	MPI_Win_unlock(w->me, w->win);
	MPI_Barrier(w->comm);
}

static void window_close(struct window *w)
{
	MPI_Barrier(w->comm);
	if (w->kind == DYNAMIC)
		MPI_Win_detach(w->win, w->memory);
	MPI_Win_free(&w->win);
	if (w->kind != ALLOCATE)
		MPI_Free_mem(w->memory);
	for (int rank = 0; rank < check_size; rank++)
		free(w->model[rank]);
	MPI_Comm_free(&w->comm);
}

/* Each counter has many words, all the same but while somebody holds the lock. */
static void storm(struct window *w, int n_takes)
{
	int64_t words[STORM], wanted = 0;

	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, w->me, 0, w->win);
	memset(w->memory, 0, sizeof(words));
	MPI_Win_unlock(w->me, w->win);
	MPI_Barrier(w->comm);
	for (int rank = 0; rank < check_size; rank++)
		for (int i = 0; i < n_takes; i++) {
			uint64_t x = mix(seed + (uint64_t)rank, (uint64_t)i);
			int target = (int)(x % (uint64_t)check_size);
			bool is_reader = x >> 32 & 1 && x >> 33 & 1;
			MPI_Aint place = w->places[target];

			wanted += target == w->me && !is_reader;
			if (rank != w->me)
				continue;
			MPI_Win_lock(is_reader ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0,
				     w->win);
			MPI_Get(words, STORM, MPI_INT64_T, target, place, STORM, MPI_INT64_T,
				w->win);
			MPI_Win_flush(target, w->win);
			for (int k = 0; k < STORM; k++)
				CHECK(words[k] == words[0], "%s: word %d of rank %d: %lld, %lld",
				      here, k, target, (long long)words[k], (long long)words[0]);
			for (int k = 0; k < STORM; k++)
				words[k]++;
			if (!is_reader)
				MPI_Put(words, STORM, MPI_INT64_T, target, place, STORM,
					MPI_INT64_T, w->win);
			MPI_Win_unlock(target, w->win);
		}
	MPI_Barrier(w->comm);
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, w->me, 0, w->win);
	memcpy(words, w->memory, sizeof(words));
	MPI_Win_unlock(w->me, w->win);
	CHECK(words[0] == wanted && words[STORM - 1] == wanted,
	      "%s: counter %lld and %lld, not %lld", here, (long long)words[0],
	      (long long)words[STORM - 1], (long long)wanted);
	MPI_Barrier(w->comm);
}

static void end_of_patience(int signal)
{
	if (write(2, here, strlen(here)) > 0)
		abort();
}

static void pairs_type(void)
{
	int lengths[2] = {1, 1};
	MPI_Aint places[2] = {0, 8};
	MPI_Datatype types[2] = {MPI_INT32_T, MPI_DOUBLE};

	MPI_Type_create_struct(2, lengths, places, types, &bases[PAIRS].type);
	MPI_Type_commit(&bases[PAIRS].type);
}

int main(int argc, char **argv)
{
	bool is_storm = argc > 1 && !strcmp(argv[1], "storm");
	struct window windows[KINDS];
	int n_words, n_windows;

	is_known = argc > 1 + is_storm && !strcmp(argv[1 + is_storm], "known");
	n_words = 1 + is_storm + is_known;
	n_windows = is_known ? DYNAMIC : KINDS;
	check_start(&argc, &argv);
	CHECK(check_size <= RANKS, "start me with at most %d ranks", RANKS);
	if (argc > n_words)
		seed = strtoull(argv[n_words], NULL, 0);
	if (argc > n_words + 1)
		n_rounds = atoi(argv[n_words + 1]);
	signal(SIGALRM, end_of_patience);
	pairs_type();
	for (int round = 0; round < n_rounds; round++) {
		struct window *w;
		bool is_new;

		state = mix(seed + (uint64_t)round, 0);
		w = &windows[below(n_windows)];
		is_new = !round || !below(16);
		alarm(PATIENCE_S);
		for (int i = 0; is_new && i < n_windows; i++) {
			if (round)
				window_close(&windows[i]);
			window_open(&windows[i], (enum kind)i);
		}
		w->sync = (enum sync)below(SYNCS);
		snprintf(here, sizeof(here), "seed %llu, round %d: %s, %s",
			 (unsigned long long)seed, round, kinds[w->kind],
			 is_storm ? "storm" : syncs[w->sync]);
		if (is_storm)
			storm(w, TAKES);
		else
			round_run(w);
	}
	for (int i = 0; i < n_windows; i++)
		window_close(&windows[i]);
	return check_end("model");
}

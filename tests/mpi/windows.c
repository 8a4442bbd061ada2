// SPDX-License-Identifier: BSD-3-Clause
/*
 * One-sided communication: windows of all three kinds, put, get, accumulate, fetch-and-op and
 * compare-and-swap by all ways to synchronise, with the data checked. Argument "component": prints
 * only by which component of Open MPI. "threads": the same for a program whose threads may call MPI
 * at the same time. "tool": for one that begins with the tools' interface of MPI. "known": checks
 * the data, but of no window to which memory is attached later.
 */
#include "tests/mpi/check.h"

#include <stdbool.h>

enum kind { CREATE, ALLOCATE, DYNAMIC, KINDS };
enum sync { FENCE, POST, LOCK, EXCLUSIVE, LOCK_ALL, SYNCS };

static const char *const kinds[] = {"create", "allocate", "create_dynamic"};
static const char *const syncs[] = {"fence", "post-start-complete-wait", "lock", "exclusive lock",
				    "lock_all"};

enum {
	ROOM = 1 << 20,  /* bytes of each rank's window */
	NUMBERS = 20000, /* elements of the long accumulate */
	TIMES = 50,      /* fetch-and-ops of each rank */
	PIECES = 100,    /* of the vector: PIECE of EVERY ints each */
	PIECE = 3,
	EVERY = 7,
};

struct window {
	MPI_Win win;
	MPI_Group everybody; /* for post and start */
	enum kind kind;
	enum sync sync;
	char *memory;     /* ours, ROOM bytes */
	MPI_Aint *places; /* of each rank's memory in the window */
};

static char here[100]; /* for messages: window and synchronisation under test */

static void window_open(struct window *w, enum kind kind)
{
	MPI_Aint place = 0;

	w->kind = kind;
	w->memory = NULL;
	if (kind != ALLOCATE)
		MPI_Alloc_mem(ROOM, MPI_INFO_NULL, &w->memory);
	if (kind == CREATE)
		MPI_Win_create(w->memory, ROOM, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w->win);
	else if (kind == ALLOCATE)
		MPI_Win_allocate(ROOM, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w->memory, &w->win);
	else
		MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &w->win);
	if (kind == DYNAMIC) {
		MPI_Win_attach(w->win, w->memory, ROOM);
		MPI_Get_address(w->memory, &place);
	}
	w->places = malloc((size_t)check_size * sizeof(*w->places));
	MPI_Allgather(&place, 1, MPI_AINT, w->places, 1, MPI_AINT, MPI_COMM_WORLD);
	MPI_Win_get_group(w->win, &w->everybody);
}

static void window_close(struct window *w)
{
	MPI_Barrier(MPI_COMM_WORLD);
	if (w->kind == DYNAMIC)
		MPI_Win_detach(w->win, w->memory);
	MPI_Group_free(&w->everybody);
	MPI_Win_free(&w->win);
	if (w->kind != ALLOCATE)
		MPI_Free_mem(w->memory);
	free(w->places);
}

/* An epoch in which each rank accesses @target alone. */
static void begin(struct window *w, int target)
{
	switch (w->sync) {
	case FENCE:
		MPI_Win_fence(MPI_MODE_NOPRECEDE, w->win);
		break;
	case POST:
		MPI_Win_post(w->everybody, 0, w->win);
		MPI_Win_start(w->everybody, 0, w->win);
		break;
	case LOCK:
		MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w->win);
		break;
	case EXCLUSIVE:
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w->win);
		break;
	default:
		MPI_Win_lock_all(0, w->win);
	}
}

static void end(struct window *w, int target)
{
	switch (w->sync) {
	case FENCE:
		MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win);
		break;
	case POST:
		MPI_Win_complete(w->win);
		MPI_Win_wait(w->win);
		break;
	case LOCK:
	case EXCLUSIVE:
		MPI_Win_unlock(target, w->win);
		break;
	default:
		MPI_Win_flush(target, w->win);
		MPI_Win_unlock_all(w->win);
	}
}

/* Between two epochs each rank may look at its own memory and write to it. */
static void look(struct window *w)
{
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, check_rank, 0, w->win);
}

static void looked(struct window *w)
{
	MPI_Win_unlock(check_rank, w->win);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void clear(struct window *w)
{
	look(w);
	memset(w->memory, 0, ROOM);
	looked(w);
}

/* Each rank puts to the next one, and gets it back from there. */
static void put_and_get(struct window *w, size_t length)
{
	int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
	char *buf = malloc(length);
	size_t wrong;

	clear(w);
	fill(buf, length, (uint64_t)check_rank);
	begin(w, to);
	MPI_Put(buf, (int)length, MPI_BYTE, to, w->places[to] + 5, (int)length, MPI_BYTE, w->win);
	end(w, to);

	look(w);
	wrong = first_wrong(w->memory + 5, length, (uint64_t)from);
	CHECK(wrong == length, "%s: put of %zu bytes: byte %zu", here, length, wrong);
	CHECK(!w->memory[4] && !w->memory[5 + length], "%s: put beside %zu bytes", here, length);
	looked(w);

	memset(buf, 0, length);
	begin(w, to);
	MPI_Get(buf, (int)length, MPI_BYTE, to, w->places[to] + 5, (int)length, MPI_BYTE, w->win);
	end(w, to);
	wrong = first_wrong(buf, length, (uint64_t)check_rank);
	CHECK(wrong == length, "%s: get of %zu bytes: byte %zu", here, length, wrong);
	free(buf);
}

/* Data in one piece go into a vector of the target and come back. */
static void put_vector(struct window *w)
{
	int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
	int buf[PIECES * PIECE], *there = (int *)w->memory;
	MPI_Datatype vector;

	MPI_Type_vector(PIECES, PIECE, EVERY, MPI_INT, &vector);
	MPI_Type_commit(&vector);
	clear(w);
	for (int i = 0; i < PIECES * PIECE; i++)
		buf[i] = (check_rank + 1) * 1000 + i;
	begin(w, to);
	MPI_Put(buf, PIECES * PIECE, MPI_INT, to, w->places[to], 1, vector, w->win);
	end(w, to);

	look(w);
	for (int i = 0; i < PIECES * EVERY; i++) {
		int n = i / EVERY * PIECE + i % EVERY;
		int expected = i % EVERY < PIECE ? (from + 1) * 1000 + n : 0;

		CHECK(there[i] == expected, "%s: vector: int %d is %d, not %d", here, i, there[i],
		      expected);
	}
	looked(w);

	memset(buf, 0, sizeof(buf));
	begin(w, to);
	MPI_Get(buf, PIECES * PIECE, MPI_INT, to, w->places[to], 1, vector, w->win);
	end(w, to);
	for (int i = 0; i < PIECES * PIECE; i++)
		CHECK(buf[i] == (check_rank + 1) * 1000 + i, "%s: vector: got %d at %d", here,
		      buf[i], i);
	MPI_Type_free(&vector);
}

/* All ranks add to the same numbers of all ranks. */
static void accumulate(struct window *w, int n)
{
	int64_t *there = (int64_t *)w->memory, *buf = malloc((size_t)n * sizeof(*buf));
	int64_t all = (int64_t)check_size * (check_size + 1) / 2;

	clear(w);
	for (int i = 0; i < n; i++)
		buf[i] = (check_rank + 1) * (int64_t)(i + 1);
	for (int i = 0; i < check_size; i++) {
		int to = (check_rank + i) % check_size;

		begin(w, to);
		MPI_Accumulate(buf, n, MPI_INT64_T, to, w->places[to], n, MPI_INT64_T, MPI_SUM,
			       w->win);
		end(w, to);
	}
	look(w);
	for (int i = 0; i < n; i++)
		CHECK(there[i] == all * (i + 1), "%s: sum of %d: number %d is %lld, not %lld", here,
		      n, i, (long long)there[i], (long long)(all * (i + 1)));
	looked(w);
	free(buf);
}

/* The same with an operation that does not add and with doubles; what was there comes back. */
static void get_accumulate(struct window *w)
{
	double *there = (double *)w->memory, mine[3], old[3];
	int to = (check_rank + 1) % check_size;

	look(w);
	for (int i = 0; i < 3; i++)
		there[i] = -1.5;
	looked(w);
	for (int i = 0; i < 3; i++) {
		mine[i] = check_rank + 0.25 * i;
		old[i] = 0;
	}
	begin(w, to);
	MPI_Get_accumulate(mine, 3, MPI_DOUBLE, old, 3, MPI_DOUBLE, to, w->places[to], 3,
			   MPI_DOUBLE, MPI_MAX, w->win);
	end(w, to);
	look(w);
	for (int i = 0; i < 3; i++) {
		int from = (check_rank + check_size - 1) % check_size;

		CHECK(old[i] == -1.5, "%s: get_accumulate: old %g", here, old[i]);
		CHECK(there[i] == from + 0.25 * i, "%s: get_accumulate: new %g", here, there[i]);
	}
	looked(w);
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* All ranks count at rank 0, so each number is got once. */
static void fetch_and_op(struct window *w)
{
	int64_t one = 1, got[TIMES], *all = malloc((size_t)check_size * sizeof(got));

	clear(w);
	if (w->sync == FENCE || w->sync == POST)
		begin(w, 0);
	for (int i = 0; i < TIMES; i++) {
		if (w->sync != FENCE && w->sync != POST)
			begin(w, 0);
		MPI_Fetch_and_op(&one, &got[i], MPI_INT64_T, 0, w->places[0] + 8, MPI_SUM, w->win);
		if (w->sync != FENCE && w->sync != POST)
			end(w, 0);
	}
	if (w->sync == FENCE || w->sync == POST)
		end(w, 0);
	MPI_Allgather(got, TIMES, MPI_INT64_T, all, TIMES, MPI_INT64_T, MPI_COMM_WORLD);
	qsort(all, (size_t)check_size * TIMES, sizeof(*all), compare);
	for (int i = 0; i < check_size * TIMES; i++)
		CHECK(all[i] == i, "%s: fetch_and_op: number %d is %lld", here, i,
		      (long long)all[i]);
	free(all);
}

/* All ranks want the same place: one finds it free, and all others find that one. */
static void compare_and_swap(struct window *w)
{
	int64_t mine = check_rank + 1, none = 0, found = -1, winner = 0, n_winners;
	int64_t is_mine;

	clear(w);
	begin(w, 0);
	MPI_Compare_and_swap(&mine, &none, &found, MPI_INT64_T, 0, w->places[0], w->win);
	end(w, 0);
	is_mine = found == 0;
	MPI_Allreduce(&is_mine, &n_winners, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
	CHECK(n_winners == 1, "%s: compare_and_swap: %d ranks found the place free", here,
	      (int)n_winners);
	look(w);
	if (!check_rank)
		winner = *(int64_t *)w->memory;
	looked(w);
	MPI_Bcast(&winner, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
	CHECK(is_mine ? winner == mine : found == winner,
	      "%s: compare_and_swap: found %d, winner %d", here, (int)found, (int)winner);
}

static void by_all_ways(struct window *w)
{
	static const size_t lengths[] = {1, 8, 3000, 100000, 700000};

	for (w->sync = 0; w->sync < SYNCS; w->sync++) {
		snprintf(here, sizeof(here), "%s, %s", kinds[w->kind], syncs[w->sync]);
		for (int i = 0; i < 5; i++)
			put_and_get(w, lengths[i]);
		put_vector(w);
		accumulate(w, 3);
		accumulate(w, NUMBERS);
		get_accumulate(w);
		fetch_and_op(w);
		compare_and_swap(w);
	}
}

/* Open MPI names a window by its component and a number, but for osc/sm, which gives no name. */
static void show_component(const struct window *w)
{
	char name[MPI_MAX_OBJECT_NAME + 1];
	int length;

	MPI_Win_get_name(w->win, name, &length);
	if (check_rank == 0)
		printf("%s by %.*s\n", kinds[w->kind], length ? (int)strcspn(name, " ") : 2,
		       length ? name : "sm");
}

int main(int argc, char **argv)
{
	bool is_chosen = getenv("OMPI_MCA_osc") != NULL;
	bool is_tool = argc > 1 && !strcmp(argv[1], "tool");
	bool is_known = argc > 1 && !strcmp(argv[argc - 1], "known");
	int provided;
	struct window w;

	if (is_tool)
		MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
	if (argc > 1 && !strcmp(argv[1], "threads"))
		check_start_threaded(&argc, &argv);
	else
		check_start(&argc, &argv);
	CHECK((getenv("OMPI_MCA_osc") != NULL) == is_chosen,
	      "MPI_Init has changed the environment");
	for (enum kind kind = 0; kind < KINDS; kind++) {
		if (is_known && kind == DYNAMIC)
			continue;
		window_open(&w, kind);
		if (argc > 1 && !is_known)
			show_component(&w);
		else
			by_all_ways(&w);
		window_close(&w);
	}
	if (is_tool)
		MPI_T_finalize();
	return check_end("windows");
}

// SPDX-License-Identifier: BSD-3-Clause
/*
 * Layouts with holes on either side or both, at every protocol's size: what arrives is what was
 * sent, and the holes stay untouched. Also types with an offset before their first byte.
 */
#include "tests/mpi/check.h"

/* Element i of a message holds i + salt. */
static int salt;

/* Each layout places int number i at index place(i) of an array. */
static int place_plain(int i)
{
	return i;
}

static int place_vector(int i)
{
	return i / 3 * 5 + i % 3;
}

static int place_rows(int i)
{
	return i / 3 * 7 + i % 3 * 2;
}

static int place_planes(int i)
{
	return i / 6 * 15 + i % 6 / 3 * 7 + i % 3 * 2;
}

static int place_shifted(int i)
{
	return 2 * i + 4;
}

static MPI_Datatype make_plain(int n)
{
	MPI_Datatype t;

	MPI_Type_contiguous(n, MPI_INT, &t);
	MPI_Type_commit(&t);
	return t;
}

static MPI_Datatype make_vector(int n)
{
	MPI_Datatype t;

	MPI_Type_vector(n / 3, 3, 5, MPI_INT, &t);
	MPI_Type_commit(&t);
	return t;
}

/* Three ints, of which every second one is there, so often and so many ints apart. */
static MPI_Datatype make_table(int rows, int distance)
{
	MPI_Datatype row, t;

	MPI_Type_vector(3, 1, 2, MPI_INT, &row);
	MPI_Type_create_hvector(rows, 1, distance * (MPI_Aint)sizeof(int), row, &t);
	MPI_Type_free(&row);
	return t;
}

static MPI_Datatype make_rows(int n)
{
	MPI_Datatype t = make_table(n / 3, 7);

	MPI_Type_commit(&t);
	return t;
}

/* Loops in a loop, which mtl/pm leaves to Open MPI's convertor. */
static MPI_Datatype make_planes(int n)
{
	MPI_Datatype plane = make_table(2, 7), t;

	MPI_Type_create_hvector(n / 6, 1, 15 * sizeof(int), plane, &t);
	MPI_Type_commit(&t);
	MPI_Type_free(&plane);
	return t;
}

/* Every second int, the first one 16 bytes behind the buffer's address. */
static MPI_Datatype make_shifted(int n)
{
	MPI_Datatype t;
	int *at = malloc((size_t)n * sizeof(int));

	for (int i = 0; i < n; i++)
		at[i] = place_shifted(i);
	MPI_Type_create_indexed_block(n, 1, at, MPI_INT, &t);
	MPI_Type_commit(&t);
	free(at);
	return t;
}

struct layout {
	int (*place)(int i);
	MPI_Datatype (*make)(int n);
};

enum { LAYOUTS = 5 };

static const struct layout layouts[LAYOUTS] = {{place_plain, make_plain},
					       {place_vector, make_vector},
					       {place_rows, make_rows},
					       {place_planes, make_planes},
					       {place_shifted, make_shifted}};

static void send_as(const struct layout *l, int n, int *buf, int synchronous)
{
	MPI_Datatype t = l->make(n);

	for (int i = 0; i < n; i++)
		buf[l->place(i)] = i + salt;
	if (synchronous)
		MPI_Ssend(buf, 1, t, 1, 0, MPI_COMM_WORLD);
	else
		MPI_Send(buf, 1, t, 1, 0, MPI_COMM_WORLD);
	MPI_Type_free(&t);
}

static void receive_as(const struct layout *l, int n, int *buf, int room)
{
	MPI_Datatype t = l->make(n);
	MPI_Status st;
	int count, holes = 0;

	memset(buf, 0xff, (size_t)room * sizeof(int));
	MPI_Recv(buf, 1, t, 0, 0, MPI_COMM_WORLD, &st);
	MPI_Get_elements(&st, t, &count);
	CHECK(count == n, "%d elements, not %d", count, n);
	for (int i = 0; i < n; i++)
		CHECK(buf[l->place(i)] == i + salt, "element %d of %d is %d", i, n,
		      buf[l->place(i)] - salt);
	for (int i = 0; i < room; i++)
		holes += buf[i] == -1;
	CHECK(holes == room - n, "%d ints in holes were written", room - n - holes);
	MPI_Type_free(&t);
}

/* A struct of char and double with padding, and an array of them cut out of larger records. */
static void records(int n)
{
	struct record {
		char c;   /* payload */
		double d; /* payload */
		int skip; /* not sent */
	} *r = calloc((size_t)n, sizeof(*r));
	int blocks[] = {1, 1};
	MPI_Aint at[] = {offsetof(struct record, c), offsetof(struct record, d)};
	MPI_Datatype parts[] = {MPI_CHAR, MPI_DOUBLE}, bare, t;

	MPI_Type_create_struct(2, blocks, at, parts, &bare);
	MPI_Type_create_resized(bare, 0, sizeof(struct record), &t);
	MPI_Type_commit(&t);
	if (check_rank == 0) {
		for (int i = 0; i < n; i++)
			r[i] = (struct record){(char)i, i * 0.5, i};
		MPI_Send(r, n, t, 1, 1, MPI_COMM_WORLD);
	} else if (check_rank == 1) {
		for (int i = 0; i < n; i++)
			r[i].skip = -7;
		MPI_Recv(r, n, t, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		for (int i = 0; i < n; i++)
			CHECK(r[i].c == (char)i && r[i].d == i * 0.5 && r[i].skip == -7,
			      "record %d of %d", i, n);
	}
	MPI_Type_free(&bare);
	MPI_Type_free(&t);
	free(r);
}

/*
 * Four pairs of int and double, no two of which touch: more runs than mtl/pm looks at itself, so it
 * may cut none of them.
 */
struct quad {
	struct {
		int i;    /* payload */
		double d; /* payload */
		long skip;
	} pair[4];
};

static MPI_Datatype make_quad(void)
{
	MPI_Datatype types[8], bare, t;
	MPI_Aint at[8];
	int blocks[8];

	for (int i = 0; i < 8; i++) {
		blocks[i] = 1;
		types[i] = i % 2 ? MPI_DOUBLE : MPI_INT;
		at[i] = (MPI_Aint)(i % 2 ? offsetof(struct quad, pair[0].d) : 0) +
			i / 2 * (MPI_Aint)sizeof(((struct quad *)0)->pair[0]);
	}
	MPI_Type_create_struct(8, blocks, at, types, &bare);
	MPI_Type_create_resized(bare, 0, sizeof(struct quad), &t);
	MPI_Type_commit(&t);
	MPI_Type_free(&bare);
	return t;
}

static void quads(int n)
{
	struct quad *q = calloc((size_t)n, sizeof(*q));
	MPI_Datatype t = make_quad();

	for (int i = 0; i < 4 * n; i++) {
		q[i / 4].pair[i % 4].skip = -7;
		if (check_rank)
			continue;
		q[i / 4].pair[i % 4].i = i;
		q[i / 4].pair[i % 4].d = i * 0.5;
	}
	if (check_rank == 0)
		MPI_Send(q, n, t, 1, 3, MPI_COMM_WORLD);
	else if (check_rank == 1)
		MPI_Recv(q, n, t, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (int i = 0; i < 4 * n && check_rank < 2; i++)
		CHECK(q[i / 4].pair[i % 4].i == i && q[i / 4].pair[i % 4].d == i * 0.5 &&
			      q[i / 4].pair[i % 4].skip == -7,
		      "pair %d of %d", i, 4 * n);
	MPI_Type_free(&t);
	free(q);
}

/* Contiguous data behind a positive lower bound: no holes, but not at the buffer's address. */
static void lower_bound(int n, int mode)
{
	int at[] = {3}, blocks[] = {n};
	int *buf = calloc((size_t)n + 8, sizeof(int));
	MPI_Request req;
	MPI_Datatype t;

	MPI_Type_indexed(1, blocks, at, MPI_INT, &t);
	MPI_Type_commit(&t);
	for (int i = 0; i < n && check_rank == 0; i++)
		buf[i + 3] = i + 1;
	if (check_rank == 0 && mode == 0) {
		MPI_Send(buf, 1, t, 1, 2, MPI_COMM_WORLD);
	} else if (check_rank == 0) {
		if (mode == 1)
			MPI_Isend(buf, 1, t, 1, 2, MPI_COMM_WORLD, &req);
		else
			MPI_Ssend_init(buf, 1, t, 1, 2, MPI_COMM_WORLD, &req);
		if (mode == 2)
			MPI_Start(&req);
		MPI_Wait(&req, MPI_STATUS_IGNORE);
		if (mode == 2)
			MPI_Request_free(&req);
	} else if (check_rank == 1) {
		MPI_Recv(buf, 1, t, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(buf[2] == 0 && buf[n + 3] == 0, "wrote outside, %d ints", n);
		for (int i = 0; i < n; i++)
			CHECK(buf[i + 3] == i + 1, "int %d of %d is %d, mode %d", i, n, buf[i + 3],
			      mode);
	}
	MPI_Type_free(&t);
	free(buf);
}

/*
 * Several at once, of which only the sender's memory is in one piece: in the order of their sends,
 * and the last one first.
 */
static void many_at_once(int n, int is_backwards)
{
	enum { MESSAGES = 6 };
	const struct layout *layout[MESSAGES];
	MPI_Request req[MESSAGES];
	MPI_Datatype t[MESSAGES];
	int *buf[MESSAGES], i;

	for (int k = 0; k < MESSAGES && check_rank < 2; k++) {
		i = is_backwards && check_rank ? MESSAGES - 1 - k : k;
		layout[i] = &layouts[check_rank ? i % LAYOUTS : 0];
		t[i] = layout[i]->make(n);
		buf[i] = malloc((size_t)(3 * n + 8) * sizeof(int));
		memset(buf[i], 0xff, (size_t)(3 * n + 8) * sizeof(int));
		for (int e = 0; e < n && !check_rank; e++)
			buf[i][e] = e + i;
		if (check_rank)
			MPI_Irecv(buf[i], 1, t[i], 0, 10 + i, MPI_COMM_WORLD, &req[i]);
		else
			MPI_Isend(buf[i], 1, t[i], 1, 10 + i, MPI_COMM_WORLD, &req[i]);
	}
	for (i = 0; i < MESSAGES && check_rank < 2; i++) {
		MPI_Wait(&req[i], MPI_STATUS_IGNORE);
		for (int e = 0; e < n && check_rank; e++)
			CHECK(buf[i][layout[i]->place(e)] == e + i, "element %d of message %d", e,
			      i);
		MPI_Type_free(&t[i]);
		free(buf[i]);
	}
}

int main(int argc, char **argv)
{
	static const int counts[] = {6, 30, 900, 6000, 300000};
	int *buf;
	int room = 3 * 300000 + 8;

	check_start(&argc, &argv);
	buf = malloc((size_t)room * sizeof(int));
	for (int c = 0; c < 5; c++) {
		for (int pair = 0; pair < 2 * LAYOUTS * LAYOUTS; pair++) {
			salt = pair * 1000000;
			if (check_rank == 0)
				send_as(&layouts[pair % LAYOUTS], counts[c], buf,
					pair / (LAYOUTS * LAYOUTS));
			else if (check_rank == 1)
				receive_as(&layouts[pair / LAYOUTS % LAYOUTS], counts[c], buf,
					   3 * counts[c] + 8);
		}
		records(counts[c]);
		quads(counts[c] / 2);
		for (int mode = 0; mode < 3; mode++)
			lower_bound(counts[c], mode);
		many_at_once(counts[c], 0);
		many_at_once(counts[c], 1);
	}
	free(buf);
	return check_end("datatypes");
}

// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_trip [-d LAYOUT] [-w SIDE] [-q POSTED] ... BYTES... - half round-trip time between ranks 0
 * and 1 of any MPI, for many sizes in one run. Prints one JSON line per size, with the median over
 * batches in microseconds.
 *
 * A message lies in memory by LAYOUT at the SIDE that is named, and in one piece at the other side.
 * Before all messages both ranks post POSTED receives for tags that no message has.
 */
#include <math.h>
#include <stddef.h>

#include "tests/bench/src/sweep.h"

#define BLOCK 32                       /* bytes of a block of the layout "blocks" */
#define FRESH_BYTES ((size_t)32 << 20) /* never-used memory for one batch, per direction */
#define ELEMENT_PARTS 4
#define POSTED_MAX 100000
#define POSTED_TAG 100 /* and up */

struct particle {
	int32_t id;
	double place[3];
	float charge;
	char kind[2];
};

/* An element of a message: its parts in memory. Elements follow each other at one distance. */
struct layout {
	const char *name;
	size_t distance;
	int n_parts;
	struct part {
		size_t at, bytes;
	} part[ELEMENT_PARTS];
};

enum { CONTIGUOUS, FRESH, BLOCKS, DOUBLES, STRUCT, FACE, LAYOUTS };

static struct layout layouts[LAYOUTS] = {
	[CONTIGUOUS] = {"contiguous", 1, 1, {{0, 1}}},
	/* The same; each message has memory that was not used before. */
	[FRESH] = {"fresh", 1, 1, {{0, 1}}},
	/* Every other block of BLOCK bytes. */
	[BLOCKS] = {"blocks", 2 * BLOCK, 1, {{0, BLOCK}}},
	/* Every other double. */
	[DOUBLES] = {"doubles", 2 * sizeof(double), 1, {{0, sizeof(double)}}},
	[STRUCT] = {"struct",
		    sizeof(struct particle),
		    4,
		    {{offsetof(struct particle, id), sizeof(int32_t)},
		     {offsetof(struct particle, place), 3 * sizeof(double)},
		     {offsetof(struct particle, charge), sizeof(float)},
		     {offsetof(struct particle, kind), 2}}},
	/* A face of a cube of doubles, across its fastest dimension; the size decides. */
	[FACE] = {"face", 0, 1, {{0, sizeof(double)}}},
};

/* One direction's end of a message. */
struct end {
	const struct layout *layout;
	MPI_Datatype type;
	int count;
	size_t elements;
	char *memory;
	size_t span; /* bytes of memory that a message takes */
	size_t step; /* from one message's memory to the next one's; 0: all use the same */
};

struct trip {
	struct end out, in;
};

/* --- layouts ---------------------------------------------------------------------------------- */

static size_t element_bytes(const struct layout *layout)
{
	size_t bytes = 0;

	for (int i = 0; i < layout->n_parts; i++)
		bytes += layout->part[i].bytes;
	return bytes;
}

/* How many elements make a message of about @bytes. */
static size_t elements_of(int layout, size_t bytes)
{
	size_t edge, n = bytes / element_bytes(&layouts[layout]);

	if (layout != FACE)
		return n;
	edge = (size_t)sqrt((double)n);
	layouts[FACE].distance = edge * sizeof(double);
	return edge * edge;
}

static MPI_Datatype particle_type(bool is_packed)
{
	int lengths[ELEMENT_PARTS] = {1, 3, 1, 2};
	MPI_Datatype types[ELEMENT_PARTS] = {MPI_INT32_T, MPI_DOUBLE, MPI_FLOAT, MPI_CHAR};
	MPI_Datatype parts, resized;
	MPI_Aint at[ELEMENT_PARTS], next = 0;

	for (int i = 0; i < ELEMENT_PARTS; i++) {
		at[i] = is_packed ? next : (MPI_Aint)layouts[STRUCT].part[i].at;
		next += (MPI_Aint)layouts[STRUCT].part[i].bytes;
	}
	MPI_Type_create_struct(ELEMENT_PARTS, lengths, at, types, &parts);
	MPI_Type_create_resized(parts, 0, is_packed ? next : (MPI_Aint)sizeof(struct particle),
				&resized);
	MPI_Type_free(&parts);
	return resized;
}

/* The type of a whole message, or of an element of it, and how many of them. */
static void make_type(int layout, size_t elements, bool is_packed, struct end *end)
{
	int n = (int)elements, edge = (int)sqrt((double)elements);
	int sizes[] = {edge, edge, edge}, part[] = {edge, edge, 1}, from[] = {0, 0, 0};

	end->count = 1;
	if (layout == STRUCT) {
		end->type = particle_type(is_packed);
		end->count = n;
	} else if (layout == BLOCKS && !is_packed) {
		MPI_Type_vector(n, BLOCK, 2 * BLOCK, MPI_BYTE, &end->type);
	} else if (layout == DOUBLES && !is_packed) {
		MPI_Type_vector(n, 1, 2, MPI_DOUBLE, &end->type);
	} else if (layout == FACE && !is_packed) {
		MPI_Type_create_subarray(3, sizes, part, from, MPI_ORDER_C, MPI_DOUBLE, &end->type);
	} else {
		MPI_Type_dup(layout == DOUBLES || layout == FACE ? MPI_DOUBLE : MPI_BYTE,
			     &end->type);
		end->count = n * (layout == BLOCKS ? BLOCK : 1);
	}
	MPI_Type_commit(&end->type);
}

/* Copies between the memory of an element and data in one piece; returns the data behind it. */
static char *copy_element(const struct layout *layout, char *memory, char *data, bool is_out)
{
	for (int i = 0; i < layout->n_parts; i++) {
		char *at = memory + layout->part[i].at;

		memcpy(is_out ? at : data, is_out ? data : at, layout->part[i].bytes);
		data += layout->part[i].bytes;
	}
	return data;
}

/* --- ends ------------------------------------------------------------------------------------- */

static void open_end(int layout, size_t bytes, bool is_packed, struct end *ret_end)
{
	static const struct layout packed = {"packed", 1, 1, {{0, 1}}};
	struct end end = {.layout = is_packed ? &packed : &layouts[layout]};
	size_t elements = elements_of(layout, bytes);

	CHECK(elements > 0, "%zu bytes are less than an element of the layout %s", bytes,
	      layouts[layout].name);
	make_type(layout, elements, is_packed, &end);
	end.elements = is_packed ? elements * element_bytes(&layouts[layout]) : elements;
	end.span = end.elements * end.layout->distance;
	if (layout == FRESH)
		end.step = (end.span + 4095) & ~(size_t)4095;
	end.memory = sweep_memory(end.span);
	*ret_end = end;
}

static void close_end(struct end *end)
{
	MPI_Type_free(&end->type);
	munmap(end->memory, end->span);
}

static size_t data_bytes(const struct end *end)
{
	return end->elements * element_bytes(end->layout);
}

/* Contiguous memory is copied at once: elements of one byte each would take long. */
static void put(struct end *end, int seed)
{
	char *data = (char *)(uintptr_t)sweep_data(seed);

	if (end->layout->distance == 1)
		memcpy(end->memory, data, end->elements);
	else
		for (size_t i = 0; i < end->elements; i++)
			data = copy_element(end->layout, end->memory + i * end->layout->distance,
					    data, true);
}

static void must_hold(struct end *end, int seed)
{
	char *copy = malloc(data_bytes(end)), *next = copy;

	CHECK(copy, "no memory for %zu bytes", data_bytes(end));
	if (end->layout->distance == 1)
		memcpy(copy, end->memory, end->elements);
	else
		for (size_t i = 0; i < end->elements; i++)
			next = copy_element(end->layout, end->memory + i * end->layout->distance,
					    next, false);
	sweep_must_hold(copy, data_bytes(end), seed);
	free(copy);
}

/* --- trips ------------------------------------------------------------------------------------ */

static void run(void *what, int n)
{
	struct trip *trip = what;
	struct end out = trip->out, in = trip->in;
	size_t written = out.elements * out.layout->distance;

	for (int i = 0; i < n && check_rank == 0;
	     i++, out.memory += out.step, in.memory += in.step) {
		sweep_write(out.memory, written, i);
		MPI_Send(out.memory, out.count, out.type, 1, 1, MPI_COMM_WORLD);
		MPI_Recv(in.memory, in.count, in.type, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	for (int i = 0; i < n && check_rank == 1;
	     i++, out.memory += out.step, in.memory += in.step) {
		MPI_Recv(in.memory, in.count, in.type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		sweep_write(out.memory, written, i);
		MPI_Send(out.memory, out.count, out.type, 0, 1, MPI_COMM_WORLD);
	}
}

/* Never-used memory for a batch; what is sent has been written. */
static void renew(void *what, int n)
{
	struct trip *trip = what;
	struct end *ends[] = {&trip->out, &trip->in};

	for (int i = 0; i < 2; i++) {
		munmap(ends[i]->memory, ends[i]->span);
		ends[i]->span = ends[i]->step * (size_t)n;
		ends[i]->memory = sweep_memory(ends[i]->span);
	}
	memset(trip->out.memory, 1, trip->out.span);
}

static void check(void *what, int seed)
{
	struct trip *trip = what;

	put(&trip->out, 2 * seed + check_rank);
	put(&trip->in, 2 * seed + 7);
	run(trip, 1);
	if (check_rank < 2)
		must_hold(&trip->in, 2 * seed + !check_rank);
}

/* --- receives that nothing matches ------------------------------------------------------------ */

static void post(int n, MPI_Request *ret_requests)
{
	for (int k = 0; k < n; k++)
		MPI_Irecv(NULL, 0, MPI_BYTE, !check_rank, POSTED_TAG + k, MPI_COMM_WORLD,
			  &ret_requests[k]);
}

static void cancel(int n, MPI_Request *requests)
{
	for (int k = 0; k < n; k++)
		MPI_Cancel(&requests[k]);
	MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
}

/* --- options ---------------------------------------------------------------------------------- */

static void usage(void)
{
	if (check_rank == 0)
		fprintf(stderr, "usage: mpi_trip [-d LAYOUT] [-w SIDE] [-q POSTED] " SWEEP_USAGE
				" BYTES...\n"
				"  -d  contiguous (default), fresh, blocks, doubles, struct, face\n"
				"  -w  the side with that layout: sender, receiver, both "
				"(default)\n"
				"  -q  receives for other tags, posted before\n" SWEEP_HELP);
	MPI_Finalize();
	exit(2);
}

static int find(const char *name)
{
	for (int i = 0; i < LAYOUTS; i++)
		if (!strcmp(layouts[i].name, name))
			return i;
	usage();
	return 0;
}

static void measure(int layout, const char *side, size_t bytes)
{
	struct trip trip;
	struct sweep_work work = {&trip, 1 << 20, layout == FRESH ? renew : NULL, run, check};
	struct sweep_result result;

	open_end(layout, bytes, !strcmp(side, "receiver"), &trip.out);
	open_end(layout, bytes, !strcmp(side, "sender"), &trip.in);
	if (layout == FRESH)
		work.most = FRESH_BYTES > trip.out.step ? (int)(FRESH_BYTES / trip.out.step) : 1;
	result = sweep_measure(&work);
	sweep_print(bytes, "half_rtt_us", result.us / 2, &result);
	close_end(&trip.out);
	close_end(&trip.in);
}

int main(int argc, char **argv)
{
	const char *side = "both";
	int option, layout = CONTIGUOUS, posted = 0;
	MPI_Request *requests;
	size_t most;

	check_start(&argc, &argv);
	while ((option = getopt(argc, argv, "d:w:q:" SWEEP_OPTIONS)) != -1) {
		if (option == 'd')
			layout = find(optarg);
		else if (option == 'w')
			side = optarg;
		else if (option == 'q')
			posted = atoi(optarg);
		else if (!sweep_option(option, optarg))
			usage();
	}
	if (strcmp(side, "sender") && strcmp(side, "receiver") && strcmp(side, "both"))
		usage();
	if (posted < 0 || posted > POSTED_MAX)
		usage();
	most = sweep_most(argv + optind, usage);
	sweep_start(most);
	posted = check_rank < 2 ? posted : 0;
	requests = calloc((size_t)posted + 1, sizeof(MPI_Request));
	CHECK(requests, "no memory for %d requests", posted);
	post(posted, requests);
	for (int i = optind; i < argc; i++)
		measure(layout, side, sweep_bytes(argv[i]));
	cancel(posted, requests);
	free(requests);
	MPI_Finalize();
	return 0;
}

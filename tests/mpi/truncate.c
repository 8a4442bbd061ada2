// SPDX-License-Identifier: BSD-3-Clause
/*
 * Messages longer than their receive: MPI_ERR_TRUNCATE, nothing written behind the buffer, and the
 * next message is whole. Posted before and after arrival, by all protocols.
 */
#include "tests/mpi/check.h"

static const size_t lengths[] = {4, 1000, 9000, 30000, 200000, 3000000};
enum { LENGTHS = 6, GUARD = 64 };

static void receive_short(char *buf, size_t len, size_t room, int is_posted)
{
	MPI_Request req;
	MPI_Status st;
	int rc, class;

	memset(buf, 0x5a, len + GUARD);
	if (is_posted) {
		MPI_Irecv(buf, (int)room, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &req);
		MPI_Barrier(MPI_COMM_WORLD);
		rc = MPI_Wait(&req, &st);
	} else {
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Probe(1, 1, MPI_COMM_WORLD, &st);
		rc = MPI_Recv(buf, (int)room, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &st);
	}
	MPI_Error_class(rc, &class);
	CHECK(class == MPI_ERR_TRUNCATE, "%zu bytes into %zu: class %d", len, room, class);
	CHECK(first_wrong(buf, room, 3) == room, "%zu bytes into %zu", len, room);
	for (size_t i = room; i < len + GUARD; i++)
		CHECK(buf[i] == 0x5a, "byte %zu behind a receive of %zu was written", i, room);
	MPI_Recv(buf, (int)len, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &st);
	CHECK(first_wrong(buf, len, 4) == len, "the message after a cut one of %zu", len);
}

static void send_long(char *buf, size_t len)
{
	MPI_Request req;

	fill(buf, len, 3);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Isend(buf, (int)len, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &req);
	MPI_Wait(&req, MPI_STATUS_IGNORE);
	fill(buf, len, 4);
	MPI_Send(buf, (int)len, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
}

/*
 * A vector of 32-byte blocks, whose first 128 KiB are sent unasked: the receive may end there, or
 * near there.
 */
static void packed(size_t room)
{
	enum { BLOCK = 32, BLOCKS = 32768 };
	char *memory = malloc(2 * BLOCKS * BLOCK), *buf = malloc(BLOCKS * BLOCK + GUARD);
	MPI_Datatype every_other;
	MPI_Status st;
	int rc, class;

	MPI_Type_vector(BLOCKS, BLOCK, 2 * BLOCK, MPI_BYTE, &every_other);
	MPI_Type_commit(&every_other);
	if (check_rank == 1) {
		fill(buf, BLOCKS * BLOCK, 5);
		for (size_t i = 0; i < BLOCKS; i++)
			memcpy(memory + 2 * i * BLOCK, buf + i * BLOCK, BLOCK);
		rc = MPI_Send(memory, 1, every_other, 0, 3, MPI_COMM_WORLD);
		CHECK(rc == MPI_SUCCESS, "a send that is cut to %zu bytes failed", room);
	} else if (check_rank == 0) {
		memset(buf, 0x5a, BLOCKS * BLOCK + GUARD);
		rc = MPI_Recv(buf, (int)room, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &st);
		MPI_Error_class(rc, &class);
		CHECK(class == MPI_ERR_TRUNCATE, "a vector into %zu: class %d", room, class);
		CHECK(first_wrong(buf, room, 5) == room, "a vector into %zu", room);
		CHECK(buf[room] == 0x5a, "the byte behind a receive of %zu was written", room);
	}
	MPI_Type_free(&every_other);
	free(memory);
	free(buf);
}

/* The same the other way: a message in one piece into fewer blocks than it has. */
static void unpacked(int blocks)
{
	enum { BLOCK = 32, BLOCKS = 32768 };
	char *memory = malloc(2 * BLOCKS * BLOCK), *buf = malloc(BLOCKS * BLOCK);
	MPI_Datatype every_other;
	size_t wrong = 0;
	int rc, class;

	fill(buf, BLOCKS * BLOCK, 6);
	if (check_rank == 1)
		MPI_Send(buf, BLOCKS * BLOCK, MPI_BYTE, 0, 4, MPI_COMM_WORLD);
	if (check_rank)
		goto out;
	MPI_Type_vector(blocks, BLOCK, 2 * BLOCK, MPI_BYTE, &every_other);
	MPI_Type_commit(&every_other);
	memset(memory, 0x5a, 2 * BLOCKS * BLOCK);
	rc = MPI_Recv(memory, 1, every_other, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Error_class(rc, &class);
	CHECK(class == MPI_ERR_TRUNCATE, "a message into %d blocks: class %d", blocks, class);
	for (size_t i = 0; i < BLOCKS * BLOCK; i++) {
		size_t at = i / BLOCK * 2 * BLOCK + i % BLOCK;

		wrong += memory[at] != (i < (size_t)blocks * BLOCK ? buf[i] : 0x5a);
		wrong += memory[at + BLOCK] != 0x5a;
	}
	CHECK(!wrong, "%zu bytes of a message into %d blocks", wrong, blocks);
	MPI_Type_free(&every_other);
out:
	free(memory);
	free(buf);
}

int main(int argc, char **argv)
{
	char *buf = malloc(lengths[LENGTHS - 1] + GUARD);

	check_start(&argc, &argv);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	for (int i = 0; i < LENGTHS; i++) {
		size_t rooms[] = {0, 1, lengths[i] / 2, lengths[i] - 1};

		for (int j = 0; j < 8; j++) {
			if (check_rank == 0)
				receive_short(buf, lengths[i], rooms[j / 2], j % 2);
			else if (check_rank == 1)
				send_long(buf, lengths[i]);
			else
				MPI_Barrier(MPI_COMM_WORLD);
		}
	}
	for (size_t room = 131072 - 514; room <= 131072 + 33; room += room < 131071 ? 257 : 1)
		packed(room);
	packed(500000);
	unpacked(1);
	unpacked(10000);
	unpacked(32767);
	free(buf);
	return check_end("truncate");
}

// SPDX-License-Identifier: BSD-3-Clause
/*
 * Probe, Iprobe, Mprobe, Improbe, Mrecv, Imrecv: sizes known before the receive, a matched message
 * belongs to its handle alone, synchronous senders wait for the Mrecv. No call with one status
 * touches its MPI_ERROR.
 */
#include "tests/mpi/check.h"

static const size_t lengths[] = {0, 8, 2000, 30000, 700000};
enum { LENGTHS = 5, UNTOUCHED = 4711 };

static void send_each(char *buf, int synchronous)
{
	for (int i = 0; i < LENGTHS; i++) {
		fill(buf, lengths[i], (uint64_t)i);
		if (synchronous)
			MPI_Ssend(buf, (int)lengths[i], MPI_BYTE, 0, i, MPI_COMM_WORLD);
		else
			MPI_Send(buf, (int)lengths[i], MPI_BYTE, 0, i, MPI_COMM_WORLD);
	}
}

/* A status as a call must find it: all that it has to fill is wrong. */
static void spoil(MPI_Status *st)
{
	memset(st, 0x5a, sizeof(*st));
	st->MPI_ERROR = UNTOUCHED;
}

static void check_message(const char *buf, MPI_Status *st, int i, const char *how)
{
	int count, is_cancelled;

	MPI_Get_count(st, MPI_BYTE, &count);
	CHECK(count == (int)lengths[i], "%s: %d bytes, not %zu", how, count, lengths[i]);
	CHECK(st->MPI_SOURCE == 1 && st->MPI_TAG == i, "%s: source %d tag %d", how, st->MPI_SOURCE,
	      st->MPI_TAG);
	CHECK(st->MPI_ERROR == UNTOUCHED, "%s: MPI_ERROR is %d", how, st->MPI_ERROR);
	MPI_Test_cancelled(st, &is_cancelled);
	CHECK(!is_cancelled, "%s", how);
	spoil(st);
	if (buf)
		CHECK(first_wrong(buf, lengths[i], (uint64_t)i) == lengths[i], "%s %d", how, i);
}

static void by_probe(char *buf)
{
	MPI_Status st;

	spoil(&st);
	for (int i = 0; i < LENGTHS; i++) {
		MPI_Probe(i % 2 ? 1 : MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &st);
		check_message(NULL, &st, i, "Probe");
		MPI_Recv(buf, (int)lengths[i], MPI_BYTE, 1, i, MPI_COMM_WORLD, &st);
		check_message(buf, &st, i, "Recv");
	}
}

static void by_iprobe(char *buf)
{
	MPI_Status st;

	spoil(&st);
	for (int i = 0; i < LENGTHS; i++) {
		int flag = 0;

		while (!flag)
			MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &st);
		check_message(NULL, &st, i, "Iprobe");
		MPI_Recv(buf, (int)lengths[i], MPI_BYTE, 1, i, MPI_COMM_WORLD, &st);
		check_message(buf, &st, i, "Recv");
	}
}

static void by_mprobe(char *buf)
{
	MPI_Message msg;
	MPI_Status st;

	spoil(&st);
	for (int i = 0; i < LENGTHS; i++) {
		int flag;

		MPI_Mprobe(1, MPI_ANY_TAG, MPI_COMM_WORLD, &msg, &st);
		check_message(NULL, &st, i, "Mprobe");
		MPI_Iprobe(1, i, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
		CHECK(!flag, "a matched message can still be probed");
		MPI_Mrecv(buf, (int)lengths[i], MPI_BYTE, &msg, &st);
		check_message(buf, &st, i, "Mrecv");
		CHECK(msg == MPI_MESSAGE_NULL, "handle not reset");
	}
}

static void by_improbe(char *buf)
{
	MPI_Request req;
	MPI_Message msg;
	MPI_Status st;

	spoil(&st);
	for (int i = 0; i < LENGTHS; i++) {
		int flag = 0;

		while (!flag)
			MPI_Improbe(MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &flag, &msg, &st);
		check_message(NULL, &st, i, "Improbe");
		MPI_Imrecv(buf, (int)lengths[i], MPI_BYTE, &msg, &req);
		MPI_Wait(&req, &st);
		check_message(buf, &st, i, "Imrecv");
	}
}

/* Two handles taken in order, received in reverse. */
static void handles_in_reverse(char *buf)
{
	MPI_Message msg[2];
	MPI_Request req[2];
	MPI_Status st;

	if (check_rank == 1) {
		/*
		 * not MPI_Send: the first may wait for its receive, which comes behind the second
		 */
		for (int i = 0; i < 2; i++) {
			memset(buf + 5000 * i, i + 1, 5000);
			MPI_Isend(buf + 5000 * i, 5000, MPI_BYTE, 0, 50, MPI_COMM_WORLD, &req[i]);
		}
		MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
	} else if (check_rank == 0) {
		for (int i = 0; i < 2; i++)
			MPI_Mprobe(1, 50, MPI_COMM_WORLD, &msg[i], &st);
		for (int i = 1; i >= 0; i--) {
			MPI_Mrecv(buf, 5000, MPI_BYTE, &msg[i], &st);
			CHECK(buf[0] == i + 1 && buf[4999] == i + 1, "handle %d has message %d", i,
			      buf[0]);
		}
	}
}

int main(int argc, char **argv)
{
	void (*const ways[])(char *) = {by_probe, by_iprobe, by_mprobe, by_improbe};
	char *buf = malloc(lengths[LENGTHS - 1]);
	int flag;

	check_start(&argc, &argv);
	MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
	CHECK(!flag, "a message before any was sent");
	MPI_Barrier(MPI_COMM_WORLD);
	for (int way = 0; way < 8; way++) {
		if (check_rank == 1)
			send_each(buf, way / 4);
		else if (check_rank == 0)
			ways[way % 4](buf);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	handles_in_reverse(buf);
	free(buf);
	return check_end("probes");
}

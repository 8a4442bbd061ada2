// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_floor [-i INTERFACE] ... BYTES... - half round-trip time between ranks 0 and 1 of the least that moves a
 * message by UDP: segmented datagrams of a connected socket with room for headers, one copy of the data at
 * each side, no acks, no repetition, no matching. It is what no library on such sockets can go below. MPI only
 * brings the two together. Prints one JSON line per size, with the median over batches in microseconds.
 */
#include "tests/bench/src/sweep.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103 /* older C libraries do not have them */
#define UDP_GRO 104
#endif

/* A datagram at MTU 1500, and what PM and mtl/pm put before the data in each. */
#define DATAGRAM 1472
#define HEAD 72
#define DATA (DATAGRAM - HEAD)
/* Datagrams of one system call, and bytes from which on it is cheaper not to copy them into the kernel. */
#define TRAIN 41
#define SENDFILE_MIN 24576
/* Bytes sent without a copy must rest until the other side has them. */
#define ARENA (4 << 20)
#define SOCKET_BYTES (8 << 20)
#define SILENCE_S 5

struct floor {
	int fd, file;
	unsigned char *arena;
	size_t at;    /* where the next train begins in it */
	size_t bytes; /* of a message */
	unsigned char *out, *in;
};

static void die(const char *what)
{
	fprintf(stderr, "mpi_floor: %s: %s\n", what, strerror(errno));
	MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}

/* --- the pair of sockets ---------------------------------------------------------------------- */

static struct in_addr address_of(const char *interface)
{
	struct ifaddrs *all, *i;
	struct in_addr found = {0};

	if (getifaddrs(&all))
		die("getifaddrs");
	for (i = all; i; i = i->ifa_next)
		if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET &&
		    !strcmp(i->ifa_name, interface))
			found = ((struct sockaddr_in *)i->ifa_addr)->sin_addr;
	freeifaddrs(all);
	errno = ENODEV;
	if (!found.s_addr)
		die(interface);
	return found;
}

static void set(int fd, int level, int name, int value)
{
	if (setsockopt(fd, level, name, &value, sizeof(value)))
		die("socket option");
}

static void open_socket(struct floor *f, const char *interface)
{
	struct sockaddr_in ours = {.sin_family = AF_INET, .sin_addr = address_of(interface)};
	socklen_t len = sizeof(ours);
	struct sockaddr_in theirs;

	f->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (f->fd < 0 || bind(f->fd, (struct sockaddr *)&ours, sizeof(ours)) ||
	    getsockname(f->fd, (struct sockaddr *)&ours, &len))
		die(interface);
	MPI_Sendrecv(&ours, sizeof(ours), MPI_BYTE, !check_rank, 1, &theirs, sizeof(theirs),
		     MPI_BYTE, !check_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (connect(f->fd, (struct sockaddr *)&theirs, sizeof(theirs)))
		die("connect");
	set(f->fd, SOL_SOCKET, SO_RCVBUFFORCE, SOCKET_BYTES);
	set(f->fd, SOL_SOCKET, SO_SNDBUFFORCE, SOCKET_BYTES);
	set(f->fd, IPPROTO_UDP, UDP_SEGMENT, DATAGRAM);
	set(f->fd, IPPROTO_UDP, UDP_GRO, 1);
}

static void open_arena(struct floor *f)
{
	f->file = memfd_create("mpi_floor", MFD_CLOEXEC);
	if (f->file < 0 || ftruncate(f->file, ARENA))
		die("memfd");
	f->arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, f->file, 0);
	if (f->arena == MAP_FAILED)
		die("mmap");
}

/* --- messages --------------------------------------------------------------------------------- */

/* The next datagrams of a message, from @done on, in one piece; their bytes, *ret_data of which are data. */
static size_t fill_train(struct floor *f, size_t done, size_t *ret_data)
{
	unsigned char *begin, *to;
	size_t data = 0;

	if (f->at + TRAIN * DATAGRAM > ARENA)
		f->at = 0;
	begin = to = f->arena + f->at;
	for (int i = 0; i < TRAIN && done + data < f->bytes; i++) {
		size_t left = f->bytes - done - data, n = left < DATA ? left : DATA;

		memcpy(to + HEAD, f->out + done + data, n);
		to += HEAD + n;
		data += n;
	}
	*ret_data = data;
	return (size_t)(to - begin);
}

static void push(struct floor *f)
{
	for (size_t done = 0, data; done < f->bytes; done += data) {
		size_t n = fill_train(f, done, &data);
		off_t at = (off_t)f->at;
		ssize_t sent = n < SENDFILE_MIN ? send(f->fd, f->arena + at, n, 0)
						: sendfile(f->fd, f->file, &at, n);

		if (sent != (ssize_t)n)
			die("send");
		f->at = (f->at + n + 4095) & ~(size_t)4095;
	}
}

/* Copies the data of a train into place; how much it was. */
static size_t unpack(struct floor *f, const unsigned char *train, size_t bytes, size_t done)
{
	size_t data = 0;

	for (size_t at = 0; at + HEAD < bytes; at += DATAGRAM) {
		size_t left = bytes - at - HEAD, n = left < DATA ? left : DATA;

		if (done + data + n > f->bytes)
			break;
		memcpy(f->in + done + data, train + at + HEAD, n);
		data += n;
	}
	return data;
}

/* Nothing of a veth gets lost, as long as the socket has room. */
static void pull(struct floor *f)
{
	static unsigned char train[65536];
	time_t end = time(NULL) + SILENCE_S;
	size_t done = 0;

	for (unsigned int idle = 0; done < f->bytes;) {
		ssize_t n = recv(f->fd, train, sizeof(train), 0);

		if (n > 0) {
			done += unpack(f, train, (size_t)n, done);
		} else if (n < 0 && errno != EAGAIN && errno != ECONNREFUSED) {
			die("recv");
		} else if (++idle % 65536 == 0 && time(NULL) > end) {
			errno = ETIMEDOUT;
			die("a datagram was lost");
		}
	}
}

static void run(void *what, int n)
{
	struct floor *f = what;

	for (int i = 0; i < n && check_rank < 2; i++) {
		if (check_rank)
			pull(f);
		push(f);
		if (!check_rank)
			pull(f);
	}
}

static void check(void *what, int seed)
{
	struct floor *f = what;

	memcpy(f->out, sweep_data(2 * seed + check_rank), f->bytes);
	memcpy(f->in, sweep_data(2 * seed + 7), f->bytes);
	run(f, 1);
	if (check_rank < 2)
		sweep_must_hold(f->in, f->bytes, 2 * seed + !check_rank);
}

/* --- options ---------------------------------------------------------------------------------- */

static void usage(void)
{
	if (check_rank == 0)
		fprintf(stderr,
			"usage: mpi_floor [-i INTERFACE] " SWEEP_USAGE " BYTES...\n"
			"  -i  whose address the sockets have (default: eth1)\n" SWEEP_HELP);
	MPI_Finalize();
	exit(2);
}

int main(int argc, char **argv)
{
	static struct floor f;
	struct sweep_work work = {.what = &f, .most = 1 << 20, .run = run, .check = check};
	const char *interface = "eth1";
	size_t most;
	int option;

	check_start(&argc, &argv);
	while ((option = getopt(argc, argv, "i:" SWEEP_OPTIONS)) != -1) {
		if (option == 'i')
			interface = optarg;
		else if (!sweep_option(option, optarg))
			usage();
	}
	if (check_size != 2)
		usage();
	most = sweep_most(argv + optind, usage);
	sweep_start(most);
	f.out = sweep_memory(most);
	f.in = sweep_memory(most);
	open_socket(&f, interface);
	open_arena(&f);
	for (int i = optind; i < argc; i++) {
		struct sweep_result result;

		f.bytes = sweep_bytes(argv[i]);
		result = sweep_measure(&work);
		sweep_print(f.bytes, "half_rtt_us", result.us / 2, &result);
	}
	MPI_Finalize();
	return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_floor [-s] [-i INTERFACE] [-m MTU] [-w WINDOW [-b]] ... BYTES... - half round-trip time
 * between ranks 0 and 1 of the least that moves a message by UDP. That is segmented datagrams of a
 * connected socket with room for headers, and one copy of the data at each side. There are no acks,
 * no repetition, no matching. It is what no library on such sockets can go below. With -w the
 * bandwidth of WINDOW messages in a row, one way or with -b both ways at once. With -s the messages
 * go by a TCP connection, each by a call of its own at both sides, into and out of the program's
 * memory. MPI only brings the two together. Prints one JSON line per size, with the median over
 * batches in microseconds or MB/s (10^6).
 */
#include "tests/bench/src/sweep.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103 /* older C libraries do not have them */
#define UDP_GRO 104
#endif

/* Bytes of the headers of IP and UDP; of those of PM and mtl/pm. */
#define IP_UDP 28
#define HEAD 72
/*
 * Bytes of one system call, and from which on it is cheaper not to copy them into the kernel; if it
 * is the only one.
 */
#define TRAIN_BYTES 65507
#define SENDFILE_MIN 24576
#define SENDFILE_MIN_ALONE 53248
/*
 * Bytes sent without a copy must rest until the other side has them: it says so after each CREDIT
 * of them.
 */
#define ARENA (4 << 20)
#define CREDIT (1 << 20)
#define AHEAD (2 << 20) /* sent before that */
#define SOCKET_BYTES (8 << 20)
#define SILENCE_S 5
#define WINDOW_MAX 1024
/*
 * So far behind a page the data lie. At its beginning copies of the kernel may be slow:
 * pmcore/util/copy.h.
 */
#define BEHIND_PAGE 2048

struct floor {
	int fd, file;
	unsigned char *arena;
	size_t at;             /* where the next train begins in it */
	size_t datagram, data; /* bytes of each, and of the data in it */
	size_t train;          /* datagrams of one system call */
	size_t bytes;  /* of a message, or of all of a window: they follow one another in memory */
	size_t window; /* messages; 1 in a ping-pong */
	void (*run)(void *what, int n);
	bool is_window, is_both, is_stream;
	size_t sent,
		heard; /* of a window: bytes sent, and those that the other side has spoken for */
	size_t had, told; /* ... received, and spoken for */
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
	set(f->fd, IPPROTO_UDP, UDP_SEGMENT, (int)f->datagram);
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

/*
 * The next datagrams of a message, from @done on, in one piece; their bytes, *ret_data of which are
 * data.
 */
static size_t fill_train(struct floor *f, size_t done, size_t *ret_data)
{
	unsigned char *begin, *to;
	size_t data = 0;

	if (f->at + f->train * f->datagram > ARENA)
		f->at = 0;
	begin = to = f->arena + f->at;
	for (size_t i = 0; i < f->train && done + data < f->bytes; i++) {
		size_t left = f->bytes - done - data, n = left < f->data ? left : f->data;

		memcpy(to + HEAD, f->out + done + data, n);
		to += HEAD + n;
		data += n;
	}
	*ret_data = data;
	return (size_t)(to - begin);
}

static size_t sendfile_min(const struct floor *f)
{
	bool is_alone = !f->is_window && f->bytes <= f->train * f->data;

	return is_alone ? SENDFILE_MIN_ALONE : SENDFILE_MIN;
}

/* Sends the next train of a message, of which @done bytes are sent; the data in it. */
static size_t push_train(struct floor *f, size_t done)
{
	size_t data, n = fill_train(f, done, &data);
	off_t at = (off_t)f->at;
	ssize_t sent = n < sendfile_min(f) ? send(f->fd, f->arena + at, n, 0)
					   : sendfile(f->fd, f->file, &at, n);

	if (sent != (ssize_t)n)
		die("send");
	f->at = (f->at + n + 4095) & ~(size_t)4095;
	return data;
}

static void push(struct floor *f)
{
	for (size_t done = 0; done < f->bytes;)
		done += push_train(f, done);
}

/* Copies the data of a train into place; how much it was. */
static size_t unpack(struct floor *f, const unsigned char *train, size_t bytes, size_t done)
{
	size_t data = 0;

	for (size_t at = 0; at + HEAD < bytes; at += f->datagram) {
		size_t left = bytes - at - HEAD, n = left < f->data ? left : f->data;

		if (done + data + n > f->bytes)
			break;
		memcpy(f->in + done + data, train + at + HEAD, n);
		data += n;
	}
	return data;
}

/*
 * The next train, of @n bytes; NULL: there is none yet. Nothing of a veth gets lost, as long as the
 * socket has room.
 */
static unsigned char *receive(struct floor *f, size_t *ret_n)
{
	static unsigned char train[65536];
	static unsigned int idle;
	static time_t end;
	ssize_t n = recv(f->fd, train, sizeof(train), 0);

	if (n > 0) {
		idle = 0;
		*ret_n = (size_t)n;
		return train;
	}
	if (n < 0 && errno != EAGAIN && errno != ECONNREFUSED)
		die("recv");
	if (!idle++)
		end = time(NULL) + SILENCE_S;
	if (idle % 65536 == 0 && time(NULL) > end) {
		errno = ETIMEDOUT;
		die("a datagram was lost");
	}
	return NULL;
}

static void pull(struct floor *f)
{
	size_t done = 0, n;

	while (done < f->bytes) {
		const unsigned char *train = receive(f, &n);

		if (train)
			done += unpack(f, train, n, done);
	}
}

static void run(void *what, int n)
{
	struct floor *f = what;

	for (int i = 0; i < n && check_rank < 2; i++) {
		if (check_rank)
			pull(f);
		sweep_write(f->out, f->bytes, i);
		push(f);
		if (!check_rank)
			pull(f);
	}
}

/* --- windows ---------------------------------------------------------------------------------- */

/* Speaks for what has come, CREDIT bytes at a time, and for the last ones. */
static void tell(struct floor *f)
{
	while (f->told < f->had && (f->had - f->told >= CREDIT || f->had == f->bytes)) {
		if (send(f->fd, "", 1, 0) != 1)
			die("send");
		f->told += f->had - f->told < CREDIT ? f->had - f->told : CREDIT;
	}
}

static void take(struct floor *f)
{
	size_t n;
	const unsigned char *train = receive(f, &n);

	if (train && n == 1) {
		f->heard += f->bytes - f->heard < CREDIT ? f->bytes - f->heard : CREDIT;
	} else if (train) {
		f->had += unpack(f, train, n, f->had);
		tell(f);
	}
}

/* Trains of the other side's next window come behind its last word about this one. */
static void run_window(void *what, int n)
{
	struct floor *f = what;
	bool sends = !check_rank || f->is_both, receives = check_rank || f->is_both;

	for (int i = 0; i < n && check_rank < 2; i++) {
		f->sent = f->heard = sends ? 0 : f->bytes;
		f->had = f->told = receives ? 0 : f->bytes;
		if (sends)
			sweep_write(f->out, f->bytes, i);
		while (f->heard < f->bytes || f->told < f->bytes) {
			if (f->sent < f->bytes && f->sent - f->heard < AHEAD)
				f->sent += push_train(f, f->sent);
			take(f);
		}
	}
}

/*
 * --- the same by a connection ------------------------------------------------------------------
 */

static void open_connection(struct floor *f, const char *interface)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = address_of(interface)};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 ||
	    (!check_rank && (bind(fd, (struct sockaddr *)&at, sizeof(at)) ||
			     getsockname(fd, (struct sockaddr *)&at, &len) || listen(fd, 1))))
		die(interface);
	MPI_Bcast(&at, sizeof(at), MPI_BYTE, 0, MPI_COMM_WORLD);
	if (check_rank && connect(fd, (struct sockaddr *)&at, sizeof(at)))
		die("connect");
	f->fd = check_rank ? fd : accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	if (f->fd < 0)
		die("accept");
	set(f->fd, IPPROTO_TCP, TCP_NODELAY, 1);
	if (fcntl(f->fd, F_SETFL, O_NONBLOCK))
		die("fcntl");
}

/*
 * Moves what the kernel takes, or has, of the @message bytes of which @done are over; the bytes
 * over then.
 */
static size_t go_on(struct floor *f, bool sends, size_t done, size_t message)
{
	size_t left = message - done % message;
	ssize_t n = sends ? send(f->fd, f->out + done, left, MSG_NOSIGNAL)
			  : recv(f->fd, f->in + done, left, 0);

	if (n > 0)
		return done + (size_t)n;
	if (!n || errno != EAGAIN)
		die(sends ? "send" : "recv");
	return done;
}

static void move_all(struct floor *f, bool sends)
{
	for (size_t done = 0; done < f->bytes;)
		done = go_on(f, sends, done, f->bytes);
}

static void run_stream(void *what, int n)
{
	struct floor *f = what;

	for (int i = 0; i < n && check_rank < 2; i++) {
		if (check_rank)
			move_all(f, false);
		sweep_write(f->out, f->bytes, i);
		move_all(f, true);
		if (!check_rank)
			move_all(f, false);
	}
}

/* MPI's own message ends a window: the next one's bytes come behind it. */
static void run_stream_window(void *what, int n)
{
	struct floor *f = what;
	size_t message = f->bytes / f->window;
	bool sends = !check_rank || f->is_both, receives = check_rank || f->is_both;
	char answer = 0;

	for (int i = 0; i < n && check_rank < 2; i++) {
		size_t sent = sends ? 0 : f->bytes, had = receives ? 0 : f->bytes;

		if (sends)
			sweep_write(f->out, f->bytes, i);
		while (sent < f->bytes || had < f->bytes) {
			if (sent < f->bytes)
				sent = go_on(f, true, sent, message);
			if (had < f->bytes)
				had = go_on(f, false, had, message);
		}
		if (check_rank)
			MPI_Send(&answer, 1, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
		else
			MPI_Recv(&answer, 1, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
}

/* --- measurements ----------------------------------------------------------------------------- */

static int seed_of(int seed, int rank, size_t k)
{
	return (int)((2 * (size_t)seed + (size_t)rank) * WINDOW_MAX + k);
}

static void check(void *what, int seed)
{
	struct floor *f = what;
	size_t message = f->bytes / f->window;

	for (size_t k = 0; k < f->window; k++) {
		memcpy(f->out + k * message, sweep_data(seed_of(seed, check_rank, k)), message);
		memcpy(f->in + k * message, sweep_data(seed_of(seed, 7, k)), message);
	}
	f->run(f, 1);
	if (check_rank >= 2 || (f->is_window && !f->is_both && !check_rank))
		return;
	for (size_t k = 0; k < f->window; k++)
		sweep_must_hold(f->in + k * message, message, seed_of(seed, !check_rank, k));
}

static void measure(struct floor *f, size_t message)
{
	struct sweep_work work = {.what = f, .most = 1 << 20, .run = f->run, .check = check};
	struct sweep_result result;

	f->bytes = message * f->window;
	result = sweep_measure(&work);
	if (f->is_window)
		sweep_print(message, "mb_per_s",
			    (double)f->bytes * (f->is_both ? 2 : 1) / result.us, &result);
	else
		sweep_print(message, "half_rtt_us", result.us / 2, &result);
}

/* --- options ---------------------------------------------------------------------------------- */

static void usage(void)
{
	if (check_rank == 0)
		fprintf(stderr,
			"usage: mpi_floor [-s] [-i INTERFACE] [-m MTU] [-w WINDOW "
			"[-b]] " SWEEP_USAGE " BYTES...\n"
			"  -s  by a TCP connection, in place of datagrams\n"
			"  -i  whose address the sockets have (default: eth1)\n"
			"  -m  of that interface: datagrams are as long as it allows (default: "
			"1500)\n"
			"  -w  messages in a row (at most 1024)\n"
			"  -b  both ways at once\n" SWEEP_HELP);
	MPI_Finalize();
	exit(2);
}

static unsigned char *memory_of(size_t bytes)
{
	return (unsigned char *)sweep_memory(bytes + BEHIND_PAGE) + BEHIND_PAGE;
}

static void make_window(struct floor *f, size_t window)
{
	f->window = window;
	f->is_window = true;
}

/* Cuts messages as PM does at that MTU: into multiples of 8 bytes. */
static void cut_for(struct floor *f, size_t mtu)
{
	f->datagram = (mtu - IP_UDP) & ~(size_t)7;
	f->data = f->datagram - HEAD;
	f->train = TRAIN_BYTES / f->datagram;
}

int main(int argc, char **argv)
{
	static struct floor f = {.window = 1};
	const char *interface = "eth1";
	size_t most, mtu = 1500;
	int option;

	check_start(&argc, &argv);
	while ((option = getopt(argc, argv, "i:m:w:bs" SWEEP_OPTIONS)) != -1) {
		if (option == 'i')
			interface = optarg;
		else if (option == 'm')
			mtu = strtoul(optarg, NULL, 0);
		else if (option == 'w')
			make_window(&f, strtoul(optarg, NULL, 0));
		else if (option == 'b')
			f.is_both = true;
		else if (option == 's')
			f.is_stream = true;
		else if (!sweep_option(option, optarg))
			usage();
	}
	if (check_size != 2 || !f.window || f.window > WINDOW_MAX || (f.is_both && !f.is_window) ||
	    mtu < 1500 || mtu > TRAIN_BYTES)
		usage();
	cut_for(&f, mtu);
	most = sweep_most(argv + optind, usage);
	sweep_start(most);
	f.out = memory_of(most * f.window);
	f.in = memory_of(most * f.window);
	if (f.is_stream) {
		f.run = f.is_window ? run_stream_window : run_stream;
		open_connection(&f, interface);
	} else {
		f.run = f.is_window ? run_window : run;
		open_socket(&f, interface);
		open_arena(&f);
	}
	for (int i = optind; i < argc; i++)
		measure(&f, sweep_bytes(argv[i]));
	MPI_Finalize();
	return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
/* restorable: every kind of holding, made up, and the sentence that it gets or does not get. */
#include "scheduler/scnoded/holdings/restorable.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tests/harness/tap.h"

#define ROOT 100
#define RANK 4711

static struct {
	struct holdings h;
	struct restorable_terms terms;
	struct refusals refusals;
} t;

/* A root that leads its session, and rank 3 below it. */
static void begin(void)
{
	struct held_process *p;

	holdings_free(&t.h);
	refusals_free(&t.refusals);
	t.terms = (struct restorable_terms){
		.job = 7, .host = "n02", .ghost_bytes = RESTORABLE_GHOST_BYTES};
	p = holdings_add_process(&t.h, ROOT);
	p->session = ROOT;
	p->state = 'S';
	strcpy(p->name, "scstepd");
	p = holdings_add_process(&t.h, RANK);
	p->parent = p->session = ROOT;
	p->state = 'R';
	p->rank = 3;
}

static struct held_file *file(uint32_t mode, const char *name)
{
	struct held_file *f = holdings_add_file(&t.h);

	*f = (struct held_file){.process = 1,
				.fd = 5,
				.mode = mode,
				.links = 1,
				.is_mounted = true,
				.inode = 1000 + t.h.n_files,
				.name = holdings_text(&t.h, name)};
	return f;
}

static struct held_file *device(uint32_t mode, unsigned major, unsigned minor, const char *name)
{
	struct held_file *f = file(mode, name);

	f->special = makedev(major, minor);
	return f;
}

static struct sockaddr_in6 address(const char *text, unsigned port)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};

	inet_pton(AF_INET6, text, &a.sin6_addr);
	return a;
}

/* A socket that process @process has, of a protocol that is in the kernel's lists. */
static struct held_socket *socket_of(size_t process, const char *protocol, enum held_kind kind,
				     uint8_t state)
{
	struct held_file *f = file(S_IFSOCK, protocol);
	struct held_socket *s = holdings_add_socket(&t.h);

	f->process = process;
	s->inode = f->inode;
	s->kind = kind;
	s->state = state;
	s->type = SOCK_STREAM;
	return s;
}

static struct held_socket *connection(size_t process, const char *here, unsigned here_port,
				      const char *there, unsigned there_port)
{
	struct held_socket *s = socket_of(process, "TCP", HELD_TCP, TCP_ESTABLISHED);

	s->here = address(here, here_port);
	s->there = address(there, there_port);
	return s;
}

static struct held_mapping *mapping(const char *name)
{
	struct held_mapping *m = holdings_add_mapping(&t.h);

	*m = (struct held_mapping){.process = 1,
				   .start = 0x7000,
				   .mode = S_IFREG,
				   .links = 1,
				   .name = holdings_text(&t.h, name)};
	return m;
}

static void judge(void)
{
	refusals_free(&t.refusals);
	holdings_sort(&t.h);
	restorable_judge(&t.h, &t.terms, &t.refusals);
}

/* The only refusal is that @of the rank; NULL: there is none. Begins anew. */
static void expect_whole(const char *file_name, int line, const char *sentence)
{
	judge();
	tap_is_int(file_name, line, "refusals", (long long)(t.refusals.n + t.refusals.n_more),
		   sentence ? 1 : 0);
	if (t.refusals.n)
		tap_is_str(file_name, line, "sentence", t.refusals.lines[0], sentence);
	begin();
}

static void expect_of_rank(const char *file_name, int line, const char *clause)
{
	char text[1024];

	snprintf(text, sizeof(text), "job 7: rank 3 on n02 (process 4711) %s", clause);
	expect_whole(file_name, line, text);
}

#define refused(clause) expect_of_rank(__FILE__, __LINE__, clause)
#define refused_whole(sentence) expect_whole(__FILE__, __LINE__, sentence)
#define fine() expect_whole(__FILE__, __LINE__, NULL)

#define CANNOT ", which cannot be restored; close it before a checkpoint"

TAP_TEST(restorable_judge__nothing_held)
{
	begin();
	fine();
	holdings_free(&t.h);
	judge();
	is_int(t.refusals.n, 0);
}

TAP_TEST(restorable_judge__trouble)
{
	begin();
	holdings_trouble(&t.h, "there are more than 5 threads");
	file(S_IFSOCK, "XDP");
	refused_whole(
		"job 7 on n02 can't be looked at before a checkpoint, as there are more than 5 "
		"threads; make it smaller, or try again");
}

TAP_TEST(restorable_judge__tcp_to_others)
{
	begin();
	connection(1, "::ffff:10.0.0.2", 40000, "::ffff:10.0.0.9", 7999);
	refused("holds a TCP connection to 10.0.0.9:7999 (descriptor 5)" CANNOT);
	connection(1, "::ffff:127.0.0.1", 40000, "::ffff:127.0.0.1", 7999);
	refused("holds a TCP connection to 127.0.0.1:7999 (descriptor 5)" CANNOT);
	connection(1, "2001:db8::1", 40000, "2001:db8::2", 7999)->state = TCP_SYN_SENT;
	refused("holds a TCP connection to [2001:db8::2]:7999 (descriptor 5)" CANNOT);
	connection(1, "::1", 40000, "::1", 7999)->state = TCP_CLOSE_WAIT;
	refused("holds a TCP connection to [::1]:7999 (descriptor 5)" CANNOT);
}

TAP_TEST(restorable_judge__tcp_within_the_job)
{
	begin();
	connection(0, "::ffff:127.0.0.1", 7999, "::ffff:127.0.0.1", 40000);
	connection(1, "::ffff:127.0.0.1", 40000, "::ffff:127.0.0.1", 7999);
	connection(1, "::1", 1, "::1", 2);
	connection(1, "::1", 2, "::1", 1);
	connection(1, "::ffff:127.8.0.1", 3, "::ffff:127.8.0.1", 3); /* with itself */
	fine();
	connection(0, "::ffff:10.0.0.2", 7999, "::ffff:10.0.0.2", 40000);
	connection(1, "::ffff:10.0.0.2", 40000, "::ffff:10.0.0.2", 7999);
	judge();
	is_int(t.refusals.n, 2);
	is_str(t.refusals.lines[1],
	       "job 7: rank 3 on n02 (process 4711) holds a TCP connection within the job to "
	       "10.0.0.2:7999 (descriptor 5), an address that other hosts do not have; connect by "
	       "127.0.0.1");
	is_str(t.refusals.lines[0],
	       "job 7: process 100 (scstepd) on n02 holds a TCP connection within the job to "
	       "10.0.0.2:40000 (descriptor 5), an address that other hosts do not have; connect by "
	       "127.0.0.1");
}

TAP_TEST(restorable_judge__tcp_other_end_is_closed_before)
{
	uint64_t closing;

	begin();
	closing = connection(0, "::1", 7999, "::1", 40000)->inode;
	connection(1, "::1", 40000, "::1", 7999);
	t.terms.closing = &closing;
	t.terms.n_closing = 1;
	refused("holds a TCP connection to [::1]:7999 (descriptor 5)" CANNOT);
}

TAP_TEST(restorable_judge__tcp_without_peer)
{
	struct held_socket *s;

	begin();
	file(S_IFSOCK, "TCP");
	file(S_IFSOCK, "TCPv6");
	socket_of(1, "TCP", HELD_TCP, TCP_LISTEN)->here = address("::", 1024);
	socket_of(1, "TCPv6", HELD_TCP, TCP_CLOSE)->here = address("::", 1025);
	fine();
	s = socket_of(1, "TCP", HELD_TCP, TCP_LISTEN);
	s->here = address("::ffff:0.0.0.0", 1024);
	s->waiting = 1;
	refused("listens on 0.0.0.0:1024 (descriptor 5) and has not accepted all connections, "
		"which "
		"cannot be restored; try again when it has");
}

TAP_TEST(restorable_judge__udp)
{
	begin();
	file(S_IFSOCK, "UDP");
	file(S_IFSOCK, "UDPv6");
	fine();
	socket_of(1, "UDP", HELD_UDP, TCP_CLOSE)->here = address("::ffff:10.0.0.2", 5353);
	refused("holds a UDP socket at 10.0.0.2:5353 (descriptor 5), which would lose packets and "
		"its "
		"address; close it before a checkpoint");
	socket_of(1, "UDPv6", HELD_UDP, TCP_ESTABLISHED)->here = address("::1", 5353);
	refused("holds a UDP socket at [::1]:5353 (descriptor 5), which would lose packets and its "
		"address; close it before a checkpoint");
}

TAP_TEST(restorable_judge__unix_pairs)
{
	struct held_socket *a, *b;
	uint64_t inode;

	begin();
	a = socket_of(0, "UNIX-STREAM", HELD_UNIX, TCP_ESTABLISHED);
	inode = a->inode;
	b = socket_of(1, "UNIX-STREAM", HELD_UNIX, TCP_ESTABLISHED);
	b->peer = inode;
	holdings_sort(&t.h);
	t.h.sockets[0].peer = t.h.sockets[1].inode;
	socket_of(1, "UNIX", HELD_UNIX, TCP_CLOSE)->type = SOCK_DGRAM;
	socket_of(1, "UNIX", HELD_UNIX, TCP_ESTABLISHED)->type = SOCK_DGRAM;
	socket_of(1, "UNIX-STREAM", HELD_UNIX, TCP_ESTABLISHED)->is_shut = true;
	socket_of(1, "UNIX-STREAM", HELD_UNIX, TCP_LISTEN);
	file(S_IFSOCK, "UNIX-STREAM");
	fine();
}

TAP_TEST(restorable_judge__unix_to_others)
{
	struct held_outsider *outsider;
	uint64_t closing;

	begin();
	socket_of(1, "UNIX-STREAM", HELD_UNIX, TCP_ESTABLISHED)->peer = 5;
	refused("holds a unix socket (descriptor 5) that is connected to a socket outside the "
		"job" CANNOT);
	socket_of(1, "UNIX", HELD_UNIX, TCP_ESTABLISHED)->peer = 5;
	outsider = holdings_add_outsider(&t.h);
	*outsider = (struct held_outsider){.inode = 5, .pid = 812, .name = "dbus\ndaemon"};
	refused("holds a unix socket (descriptor 5) that is connected to process 812 (dbus?daemon) "
		"outside the job" CANNOT);
	closing = socket_of(0, "UNIX-STREAM", HELD_UNIX, TCP_ESTABLISHED)->inode;
	t.terms.closing = &closing;
	t.terms.n_closing = 1;
	fine();
	closing = socket_of(0, "UNIX-STREAM", HELD_UNIX, TCP_ESTABLISHED)->inode;
	t.terms.closing = &closing;
	t.terms.n_closing = 1;
	socket_of(1, "UNIX-STREAM", HELD_UNIX, TCP_ESTABLISHED)->peer = closing;
	refused("holds a unix socket (descriptor 5) that is connected to a socket outside the "
		"job" CANNOT);
}

TAP_TEST(restorable_judge__unix_not_accepted)
{
	begin();
	socket_of(1, "UNIX-STREAM", HELD_UNIX, TCP_LISTEN)->waiting = 2;
	refused("listens on a unix socket (descriptor 5) and has not accepted all connections, "
		"which "
		"cannot be restored; try again when it has");
	socket_of(1, "UNIX-STREAM", HELD_UNIX, TCP_ESTABLISHED);
	refused("holds a unix socket (descriptor 5) whose connection was not accepted yet, which "
		"cannot be restored; try again when it is");
}

TAP_TEST(restorable_judge__netlink)
{
	struct held_socket *s;

	begin();
	file(S_IFSOCK, "NETLINK");
	socket_of(1, "NETLINK", HELD_NETLINK, 0)->protocol = NETLINK_ROUTE;
	socket_of(1, "NETLINK", HELD_NETLINK, 0)->protocol = NETLINK_SOCK_DIAG;
	fine();
	s = socket_of(1, "NETLINK", HELD_NETLINK, 0);
	s->protocol = NETLINK_SOCK_DIAG;
	s->waiting = 768;
	refused("has not read all that came by a netlink socket (descriptor 5), which cannot be "
		"restored; try again when it has");
	for (uint8_t protocol = 1; protocol < 64; protocol++) {
		char clause[128];

		if (protocol == NETLINK_SOCK_DIAG)
			continue;
		socket_of(1, "NETLINK", HELD_NETLINK, 0)->protocol = protocol;
		snprintf(clause, sizeof(clause),
			 "holds a netlink socket of protocol %u (descriptor 5)" CANNOT, protocol);
		refused(clause);
	}
}

TAP_TEST(restorable_judge__other_sockets)
{
	static const char *const all[][2] = {
		{"XDP", "an AF_XDP socket"},
		{"PACKET", "a packet socket"},
		{"RAW", "a raw socket"},
		{"RAWv6", "a raw socket"},
		{"PING", "a socket for ICMP"},
		{"PINGv6", "a socket for ICMP"},
		{"MPTCP", "an MPTCP socket"},
		{"MPTCPv6", "an MPTCP socket"},
		{"AF_VSOCK", "a socket to another virtual machine (AF_VSOCK)"},
		{"ALG", "a socket for ciphers (AF_ALG)"},
		{"UDP-Lite", "a socket of protocol UDP-Lite"},
		{"SCTP", "a socket of protocol SCTP"},
		{"", "a socket of protocol unknown"},
		{"tcp", "a socket of protocol tcp"},
		{"01234567890123456789012345678901234567",
		 "a socket of protocol 01234567890123456789012345678901"},
	};

	begin();
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char clause[256];

		file(S_IFSOCK, all[i][0]);
		snprintf(clause, sizeof(clause), "holds %s (descriptor 5)" CANNOT, all[i][1]);
		refused(clause);
	}
}

TAP_TEST(restorable_judge__closing_is_for_sockets_and_pipes_only)
{
	uint64_t closing[] = {3, 1001, 2};

	begin();
	t.terms.closing = closing;
	t.terms.n_closing = 3;
	is_int(file(S_IFSOCK, "XDP")->inode, 1001);
	fine();
	t.terms.closing = closing;
	t.terms.n_closing = 3;
	is_int(device(S_IFCHR, 10, 229, "/dev/fuse")->inode, 1001);
	refused("holds the device /dev/fuse (descriptor 5)" CANNOT);
}

TAP_TEST(restorable_judge__anonymous_inodes)
{
	static const char *const refused_kinds[][2] = {
		{"anon_inode:[io_uring]", "an io_uring"},
		{"anon_inode:[perf_event]", "a performance counter (perf_event)"},
		{"anon_inode:[userfaultfd]", "a userfaultfd"},
		{"anon_inode:[fanotify]", "a fanotify group"},
		{"anon_inode:bpf-map", "a BPF map"},
		{"anon_inode:bpf-prog", "a BPF program"},
		{"anon_inode:bpf_link", "a BPF link"},
		{"anon_inode:btf", "BPF type data"},
		{"anon_inode:[infinibandevent]", "a queue of RDMA events"},
		{"anon_inode:kvm-vcpu:0", "an object of the kernel named kvm-vcpu:0"},
		{"anon_inode:[landlock-ruleset]", "an object of the kernel named landlock-ruleset"},
		{"anon_inode:[io_uring2]", "an object of the kernel named io_uring2"},
		{"anon_inode:", "an object of the kernel named "},
		{"net:[4026531840]", "the object of the kernel net:[4026531840]"},
		{"mnt:[1]", "the object of the kernel mnt:[1]"},
	};
	/* Their type is none before Linux 6.17, and that of a file since. */
	static const uint32_t modes[] = {0600, S_IFREG | 0600};

	begin();
	for (size_t k = 0; k < 2; k++) {
		file(modes[k], "anon_inode:[eventfd]");
		file(modes[k], "anon_inode:[eventpoll]");
		file(modes[k], "anon_inode:[signalfd]");
		file(modes[k], "anon_inode:[timerfd]");
		file(modes[k], "anon_inode:inotify");
		fine();
		for (size_t i = 0; i < sizeof(refused_kinds) / sizeof(refused_kinds[0]); i++) {
			char clause[256];

			file(modes[k], refused_kinds[i][0]);
			snprintf(clause, sizeof(clause), "holds %s (descriptor 5)" CANNOT,
				 refused_kinds[i][1]);
			refused(clause);
		}
	}
}

TAP_TEST(restorable_judge__inotify)
{
	begin();
	file(0, "anon_inode:inotify")->watches = 1;
	refused("holds an inotify with watches, which are for the files of this host (descriptor "
		"5), "
		"which cannot be restored; remove the watches before a checkpoint");
}

TAP_TEST(restorable_judge__pidfd)
{
	struct held_file *f;

	begin();
	file(0, "anon_inode:[pidfd]")->target = ROOT;
	file(0, "anon_inode:[pidfd]")->target = -1;
	fine();
	file(0, "anon_inode:[pidfd]")->target = 812;
	refused("holds a pidfd of a process outside the job (descriptor 5)" CANNOT);
	file(0, "anon_inode:[pidfd]")->target = INT32_MAX;
	refused("holds a pidfd of a process outside the job (descriptor 5)" CANNOT);
	f = file(0, "anon_inode:[pidfd]");
	f->target = ROOT;
	f->flags = O_EXCL;
	refused("holds a pidfd of a single thread (descriptor 5)" CANNOT);
}

TAP_TEST(restorable_judge__devices)
{
	begin();
	device(S_IFCHR, 1, 3, "/dev/null");
	device(S_IFCHR, 1, 5, "/dev/zero");
	device(S_IFCHR, 1, 7, "/dev/full");
	device(S_IFCHR, 1, 8, "/dev/random");
	device(S_IFCHR, 1, 9, "/dev/urandom");
	fine();
	device(S_IFCHR, 1, 1, "/dev/mem");
	refused("holds the device /dev/mem (descriptor 5)" CANNOT);
	device(S_IFCHR, 1, 11, "/dev/kmsg");
	refused("holds the device /dev/kmsg (descriptor 5)" CANNOT);
	device(S_IFBLK, 1, 3, "/dev/ram3");
	refused("holds the device /dev/ram3 (descriptor 5)" CANNOT);
	device(S_IFCHR, 231, 192, "/dev/infiniband/uverbs0");
	refused("holds the RDMA device /dev/infiniband/uverbs0 (descriptor 5)" CANNOT);
}

TAP_TEST(restorable_judge__terminals)
{
	static const struct {
		unsigned major, minor;
		const char *name;
	} all[] = {{4, 1, "/dev/tty1"},    {4, 64, "/dev/ttyS0"}, {5, 0, "/dev/tty"},
		   {5, 1, "/dev/console"}, {5, 2, "/dev/ptmx"},   {128, 0, "/dev/ptmx"},
		   {136, 0, "/dev/pts/0"}, {143, 9, "/dev/pts/9"}};

	begin();
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char clause[256];

		device(S_IFCHR, all[i].major, all[i].minor, all[i].name);
		snprintf(
			clause, sizeof(clause),
			"holds the terminal %s (descriptor 5), which cannot be restored; start the "
			"job without a terminal, and close others",
			all[i].name);
		refused(clause);
	}
}

TAP_TEST(restorable_judge__pipes)
{
	begin();
	file(S_IFIFO, "pipe:[4711]");
	file(S_IFIFO, "/tmp/fifo");
	fine();
	*holdings_add_outsider(&t.h) = (struct held_outsider){
		.inode = file(S_IFIFO, "pipe:[4711]")->inode, .pid = 812, .name = "tee"};
	refused("holds a pipe (descriptor 5) whose other end process 812 (tee) outside the job "
		"has, so "
		"it cannot be restored; close it before a checkpoint");
}

TAP_TEST(restorable_judge__files)
{
	struct held_file *f;

	begin();
	file(S_IFREG, "/home/user/data");
	file(S_IFDIR, "/home/user");
	file(S_IFREG, "/memfd:pool (deleted)")->is_mounted = false;
	f = file(S_IFREG, "/dev/shm/open_mpi.0000 (deleted)");
	f->links = 0;
	f->allocated = RESTORABLE_GHOST_BYTES;
	fine();
	f = file(S_IFREG, "/tmp/big (deleted)");
	f->links = 0;
	f->allocated = RESTORABLE_GHOST_BYTES + 512;
	refused("holds /tmp/big (deleted) (descriptor 5): 1049088 bytes, more than the 1048576 "
		"that a "
		"file without a name may have; don't delete it while it is open");
	file(S_IFREG, "/tmp/other (deleted)");
	refused("holds /tmp/other (deleted) (descriptor 5), which has other names but not this one "
		"any "
		"more, so it cannot be restored; close it before a checkpoint");
	file(S_IFREG, "/tmp/log")->is_mounted = false;
	refused("holds /tmp/log (descriptor 5) on a file system that is not mounted for the job, "
		"so it "
		"cannot be restored; open it by a path that the job has");
	file(S_IFREG, "/secretmem (deleted)");
	refused("holds secret memory (memfd_secret) (descriptor 5)" CANNOT);
	file(S_IFREG, "/queue")->is_queue = true;
	refused("holds a queue of POSIX messages (descriptor 5)" CANNOT);
	file(S_IFREG, "");
	refused("holds a file whose path is longer than the kernel tells (descriptor 5)" CANNOT);
}

TAP_TEST(restorable_judge__locks)
{
	begin();
	file(S_IFREG, "/home/user/data")->is_locked = true;
	t.terms.keeps_locks = true;
	fine();
	file(S_IFREG, "/home/user/data")->is_locked = true;
	refused("holds a lock of /home/user/data (descriptor 5), which would be lost; unlock the "
		"file "
		"before a checkpoint");
}

TAP_TEST(restorable_judge__long_paths)
{
	char path[4000];

	memset(path, 'x', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = 0;
	begin();
	file(S_IFREG, path)->is_mounted = false;
	device(S_IFCHR, 9, 9, path);
	mapping(path)->mode = S_IFBLK;
	*path = 'x';
	file(S_IFREG, path);
	mapping(path);
	judge();
	is_int(t.refusals.n, 5);
	for (size_t i = 0; i < t.refusals.n; i++) {
		ok(strlen(t.refusals.lines[i]) < 500);
		ok(strstr(t.refusals.lines[i], "before a checkpoint") ||
		   strstr(t.refusals.lines[i], "that the job has"));
	}
}

TAP_TEST(restorable_judge__mappings)
{
	struct held_mapping *m;

	begin();
	mapping("/usr/lib/libc.so.6");
	mapping("/memfd:pool (deleted)")->links = 0;
	mapping("/dev/zero (deleted)")->allocated = 1 << 30;
	mapping("/anon_hugepage (deleted)")->allocated = 1 << 30;
	mapping("/[aio] (deleted)")->mode = 0;
	m = mapping("/dev/zero");
	m->mode = S_IFCHR;
	m->special = makedev(1, 5);
	m = mapping("/tmp/a (deleted)");
	m->links = 0;
	m->allocated = RESTORABLE_GHOST_BYTES;
	fine();
	m = mapping("/tmp/a (deleted)");
	m->links = 0;
	m->allocated = 1 << 21;
	refused("maps /tmp/a (deleted): 2097152 bytes, more than the 1048576 that a file without a "
		"name may have; don't delete it while it is mapped");
	mapping("/tmp/a (deleted)");
	refused("maps /tmp/a (deleted), which has other names but not this one any more, so it "
		"cannot "
		"be restored; unmap it before a checkpoint");
}

#define UNMAP " at 0x7000, which cannot be restored; unmap it before a checkpoint"

TAP_TEST(restorable_judge__mappings_of_other_things)
{
	static const char *const all[][2] = {
		{"[uprobes]", "maps a probe of perf or of a BPF program" UNMAP},
		{"socket:[4711]", "maps the rings of a socket" UNMAP},
		{"anon_inode:[io_uring]", "maps an io_uring" UNMAP},
		{"anon_inode:bpf-map", "maps a BPF map" UNMAP},
		{"/secretmem (deleted)", "maps secret memory (memfd_secret)" UNMAP},
		{"/sys/devices/pci0/resource0",
		 "maps memory of a device by /sys/devices/pci0/resource0" UNMAP},
		{"/proc/bus/pci/00/1f.0", "maps memory of a device by /proc/bus/pci/00/1f.0" UNMAP},
		{"/SYSV00000000 (deleted)",
		 "maps shared memory of System V, which belongs to the host," UNMAP},
		{"i915", "maps the object of the kernel i915" UNMAP},
	};
	struct held_mapping *m;

	begin();
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		mapping(all[i][0]);
		refused(all[i][1]);
	}
	m = mapping("/dev/infiniband/uverbs0");
	m->mode = S_IFCHR;
	m->special = makedev(231, 192);
	refused("maps the device /dev/infiniband/uverbs0" UNMAP);
	mapping("/SYSV00000000 (deleted)");
	t.h.has_own_ipc = true;
	fine();
}

TAP_TEST(restorable_judge__processes)
{
	begin();
	t.h.processes[1].state = 'Z';
	fine();
	t.h.processes[1].state = 'T';
	fine();
	t.h.processes[1].err = EPERM;
	t.h.processes[1].tracer = 812;
	refused("can't be looked at by scnoded: Operation not permitted; scnoded needs the rights "
		"of "
		"root, CAP_SYS_PTRACE too");
	t.h.processes[1].tracer = 812;
	refused("is traced by process 812, such as a debugger or strace; end that before a "
		"checkpoint");
	t.h.processes[1].terminal = 34816;
	refused("has a controlling terminal, which cannot be restored; start the job without a "
		"terminal");
	t.h.processes[1].has_dead_thread = true;
	refused("has a thread that has ended and is still there, its first one as a rule, which "
		"cannot "
		"be restored; let main() wait for the other threads");
	t.h.processes[1].is_partly_stopped = true;
	refused("has some threads that are stopped and some that are not, which cannot be "
		"restored; "
		"let it go on, for instance by kill -CONT 4711");
	t.h.processes[1].shares_memory = true;
	refused("shares its memory with process 100, as between vfork and exec; try again when it "
		"has "
		"called exec");
}

TAP_TEST(restorable_judge__namespaces)
{
	static const char *const names[HELD_NAMESPACES] = {"PID", "mount", "network",       "IPC",
							   "UTS", "user",  "control group", "time"};

	begin();
	for (int i = 0; i < HELD_NAMESPACES; i++) {
		char clause[256];

		/* Only the first is told. */
		t.h.processes[1].apart = ~0u << i;
		snprintf(clause, sizeof(clause),
			 "is in a %s namespace of its own, which cannot be restored; start it "
			 "without a "
			 "container or unshare",
			 names[i]);
		refused(clause);
	}
	t.h.has_other_net = true;
	refused_whole(
		"job 7 on n02 is in another network namespace than scnoded, which can't look at "
		"its connections; start it in the host's own");
}

TAP_TEST(restorable_judge__root)
{
	begin();
	t.h.processes[0].session = 1;
	refused_whole(
		"job 7: process 100 (scstepd) on n02 is in a session that began outside the job, "
		"in process 1; it must call setsid() before a checkpoint");
	t.h.processes[0].state = 'Z';
	refused_whole("job 7: process 100 (scstepd) on n02 has ended, so there is nothing to write "
		      "down; look at the job's state by scqueue");
}

TAP_TEST(restorable_judge__strangers)
{
	begin();
	*holdings_add_stranger(&t.h) = (struct held_stranger){.pid = 812, .name = "nsenter"};
	refused_whole("job 7 on n02 has a process that is not below its scstepd: process 812 "
		      "(nsenter), which would be lost; end it before a checkpoint");
}

TAP_TEST(restorable_judge__many_refusals)
{
	begin();
	for (int i = 0; i < 1000; i++)
		file(S_IFSOCK, "XDP");
	judge();
	is_int(t.refusals.n, REFUSALS_MAX);
	is_int(t.refusals.n_more, 1000 - REFUSALS_MAX);
}

TAP_TEST(restorable_ports__each_once)
{
	struct restorable_port *ports = NULL;
	struct held_socket *s;
	uint64_t closing;

	begin();
	s = socket_of(1, "TCP", HELD_TCP, TCP_LISTEN);
	s->here = address("::ffff:0.0.0.0", 1024);
	file(S_IFSOCK, "TCP")->inode = s->inode;
	closing = connection(1, "::1", 3, "::1", 4)->inode;
	connection(1, "::ffff:127.0.0.1", 40000, "::ffff:127.0.0.1", 7999);
	socket_of(1, "UDP", HELD_UDP, TCP_CLOSE)->here = address("::1", 5353);
	file(S_IFREG, "/a");
	holdings_sort(&t.h);
	t.terms.closing = &closing;
	t.terms.n_closing = 1;
	is_int(restorable_ports(&t.h, &t.terms, &ports), 2);
	is_int(ntohs(ports[0].address.sin6_port), 1024);
	ok(ports[0].is_listening);
	is_int(ports[0].pid, RANK);
	is_int(ports[0].rank, 3);
	is_int(ntohs(ports[1].address.sin6_port), 40000);
	ok(!ports[1].is_listening);
	free(ports);
	begin();
	is_int(restorable_ports(&t.h, &t.terms, &ports), 0);
	free(ports);
}

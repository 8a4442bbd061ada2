/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * holdings - what the processes of a job's part on this host hold: descriptors, mappings, sockets,
 * namespaces. Only facts, as the kernel told them; restorable.h says what they mean. survey.h fills
 * them. The numbers and the bytes of all lists have a limit: a job with a million descriptors
 * leaves a sentence in "trouble".
 */
#ifndef SCHEDULER_SCNODED_HOLDINGS_HOLDINGS_H
#define SCHEDULER_SCNODED_HOLDINGS_HOLDINGS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define HOLDINGS_PROCESSES_MAX 16384
#define HOLDINGS_THREADS_MAX 131072   /* of all processes */
#define HOLDINGS_FILES_MAX 131072     /* descriptors of all processes */
#define HOLDINGS_MAPPINGS_MAX 262144  /* of files, of all processes */
#define HOLDINGS_WATCHES_MAX 131072   /* of all epolls */
#define HOLDINGS_TEXT_MAX (32u << 20) /* bytes of all paths */
#define HOLDINGS_PID_MAX 4194304      /* the kernel's own limit */
#define HOLDINGS_NAME_MAX 64          /* of a process: a thread of the kernel may have 63 */
#define HOLDINGS_NO_RANK UINT32_MAX
#define HOLDINGS_FREE "free some there, then try again" /* the remedy for want of memory */

/* Namespaces in which a process is not with the root of its tree: bits of held_process.apart. */
enum held_namespace {
	HELD_PID,
	HELD_MNT,
	HELD_NET,
	HELD_IPC,
	HELD_UTS,
	HELD_USER,
	HELD_CGROUP,
	HELD_TIME,
	HELD_NAMESPACES
};

struct held_process {
	pid_t pid;      /* as scnoded sees it, and all others here */
	uint32_t rank;  /* its own, or of the rank that started it; HOLDINGS_NO_RANK: neither */
	size_t above;   /* index of its parent in holdings.processes; of the root 0 */
	pid_t parent;   /* 0: that is outside the pid namespace of scnoded */
	pid_t session;  /* the process whose session it is in; 0 as above */
	pid_t tracer;   /* of one of its threads; 0: it is not traced */
	int terminal;   /* its controlling terminal as a device number; 0: none */
	int err;        /* why it can't be looked at, errno; 0: it can */
	uint32_t apart; /* bits 1 << enum held_namespace */
	char state;     /* proc(5): R, S, D, T, t, Z, X */
	bool is_partly_stopped; /* some of its threads have stopped, others have not */
	bool has_dead_thread;   /* a zombie among its threads, while others live */
	bool shares_memory;     /* with its parent, as after vfork() */
	char name[HOLDINGS_NAME_MAX];
};

struct held_file {
	size_t process; /* index in holdings.processes */
	int fd;
	int err;          /* why it can't be looked at, errno; 0: it can */
	uint32_t flags;   /* of open(2) */
	uint32_t mode;    /* stx_mode; no type for anonymous inodes */
	uint64_t device;  /* makedev() of the file system */
	uint64_t special; /* makedev() of a device file */
	uint64_t inode;
	uint64_t size, offset; /* bytes */
	uint64_t allocated;    /* bytes of the file on disk */
	uint32_t links;        /* names that the file has */
	uint32_t watches;      /* of inotify */
	pid_t target;          /* of a pidfd; -1: it has ended; 0: this is no pidfd */
	bool is_mounted;       /* on a mount that the root of the tree sees */
	bool is_queue;         /* of POSIX messages */
	bool is_locked;        /* by flock(), fcntl() or a lease */
	char *name; /* what /proc/PID/fd/FD leads to; of a socket the protocol, "" if not known */
};

/* A descriptor that an epoll watches. It stays there when it is closed, if another has the file. */
struct held_watch {
	size_t process;         /* index in holdings.processes */
	int fd;                 /* of the epoll */
	int target;             /* the number under which the file was added */
	uint32_t nth;           /* of those with this number, from 0 */
	uint64_t device, inode; /* of the file */
	bool is_held;           /* by a descriptor of the process or of an ancestor in the tree */
};

struct held_mapping {
	size_t process; /* index in holdings.processes */
	uint64_t start;
	int err;       /* why its file can't be looked at, errno; 0: it can */
	uint32_t mode; /* st_mode of the file; 0: not known */
	uint64_t device, special, inode, size, allocated;
	uint32_t links;
	bool is_shared_writable;
	char *name; /* as in /proc/PID/maps, without the escapes */
};

enum held_kind { HELD_TCP, HELD_UDP, HELD_UNIX, HELD_NETLINK };

/* A socket of the kernel's lists. Sockets without address or peer may be missing there. */
struct held_socket {
	enum held_kind kind;
	uint64_t inode;
	uint8_t type;     /* SOCK_STREAM...; of unix sockets only */
	uint8_t state;    /* TCP_ESTABLISHED..., of unix sockets too */
	uint8_t protocol; /* of netlink: NETLINK_ROUTE... */
	bool is_shut;     /* unix: the other end has closed */
	uint32_t waiting; /* bytes to read; of a listener: connections that it has not accepted */
	uint64_t peer;    /* inode of a unix socket's other end; 0: none, or not accepted yet */
	/* Both ends of an internet socket. IPv4 addresses are mapped into IPv6, so they compare. */
	struct sockaddr_in6 here, there;
};

/* A process outside the tree which holds a pipe or a socket that the tree holds as well. */
struct held_outsider {
	uint64_t inode;
	pid_t pid;
	char name[HOLDINGS_NAME_MAX];
};

struct held_stranger {
	pid_t pid;
	char name[HOLDINGS_NAME_MAX];
};

struct holdings {
	struct held_process *processes; /* [0] is the root; a parent comes before its children */
	size_t n_processes, room_processes;
	struct held_file *files;
	size_t n_files, room_files;
	struct held_watch *watches;
	size_t n_watches, room_watches;
	struct held_mapping *mappings;
	size_t n_mappings, room_mappings;
	struct held_socket *sockets; /* those that the tree holds, by inode in ascending order */
	size_t n_sockets, room_sockets;
	struct held_outsider *outsiders; /* by inode in ascending order */
	size_t n_outsiders, room_outsiders;
	struct held_stranger *strangers; /* processes of the job that are not in the tree */
	size_t n_strangers, room_strangers;
	uint8_t *pids; /* a bit for each process of the tree; NULL: there is none */
	size_t n_threads, text_bytes;
	bool has_own_ipc;   /* the tree's IPC namespace is not that of scnoded */
	bool has_other_net; /* its network namespace is not that of scnoded */
	char trouble[256];  /* why the look was not finished, and the remedy; "": it was */
};

/*
 * Each returns a zeroed element at the end of a list, or NULL: out of memory, or over the limit,
 * which "trouble" tells then.
 */
struct held_process *holdings_add_process(struct holdings *h, pid_t pid);
struct held_file *holdings_add_file(struct holdings *h);
struct held_watch *holdings_add_watch(struct holdings *h);
struct held_mapping *holdings_add_mapping(struct holdings *h);
struct held_socket *holdings_add_socket(struct holdings *h);
struct held_outsider *holdings_add_outsider(struct holdings *h);
struct held_stranger *holdings_add_stranger(struct holdings *h);
/* A copy for the name of a file or mapping, or NULL as above. */
char *holdings_text(struct holdings *h, const char *text);
/* Two clauses: "there are more than 5 threads; make it smaller". The first trouble stays. */
void holdings_trouble(struct holdings *h, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
bool holdings_has(const struct holdings *h, pid_t pid); /* whether it is in the tree */
/*
 * NULL: the tree does not hold it, or it is in none of the kernel's lists. Only after
 * holdings_sort(), as the next one.
 */
const struct held_socket *holdings_socket(const struct holdings *h, uint64_t inode);
/* One that holds it; NULL: nobody. */
const struct held_outsider *holdings_outsider(const struct holdings *h, uint64_t inode);
void holdings_sort(struct holdings *h);
/* Frees the lists, not the struct. */
void holdings_free(struct holdings *h);

#endif

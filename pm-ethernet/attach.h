/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * attach - what a process and pm-ethernetd say to each other over a unix socket (SOCK_SEQPACKET,
 * one struct per message, same host: native byte order). The open connection is the lease: when it
 * ends the context is taken back; when the daemon dies the process goes on and notices nothing.
 *
 * ATTACH and RESUME are answered with sockets that are not bound yet, as the kernel may refuse to
 * map the rings of one that is (Linux before 6.4). The process maps them, fills the packet memory,
 * so that its pages count in its own group, and says MAPPED. The daemon gives the memory to the
 * kernel, binds, tells the kernel programs, and answers once more. Of a socket before that nobody
 * but its interface can be reached. Each side checks every field of what it got in one decode
 * function (attach.c).
 */
#ifndef PM_ETHERNET_ATTACH_H
#define PM_ETHERNET_ATTACH_H

#include "pm-ethernet/bpf/maps.h"

#define ETH_SOCKET_PATH "/run/pm-ethernet/socket"
#define ETH_ATTACH_MAGIC 0x48544550u /* "PETH" */
#define ETH_ATTACH_VERSION 3
#define ETH_NAME 16 /* bytes of an interface name, NUL included */
#define ETH_WHY 256 /* bytes of a sentence, NUL included */
#define ETH_FDS_MAX (4 + 2 * ETH_RAILS)
#define ETH_INBOX_MAX (1u << 26) /* bytes */

enum eth_op {
	ETH_OP_ATTACH = 1, /* a context; the answer is struct eth_granted with descriptors */
	ETH_OP_SUSPEND,    /* sockets are closed, keep number and key; answer without descriptors */
	ETH_OP_RESUME,     /* new sockets for the same context; answered as ATTACH */
	ETH_OP_REPORT,     /* answer: JSON text about the daemon, in struct eth_report pieces */
	/*
	 * The process has mapped the memory and sockets of ATTACH or RESUME; answer without
	 * descriptors, is_bound set. After a refusal the grant is void: a resumed context is
	 * suspended again. ENOMEM: not every page of the packet memory is there. ESTALE: the same
	 * request may bring a better grant.
	 */
	ETH_OP_MAPPED,
};

enum eth_attach { ETH_ATTACH_AUTO = 0, ETH_ATTACH_DIRECT = 1, ETH_ATTACH_PORT = 2 };

struct eth_request {
	uint32_t magic, version;
	uint32_t op;     /* enum eth_op */
	uint32_t attach; /* enum eth_attach */
	uint64_t key;    /* job key, not 0 */
	uint32_t local;  /* contexts of the job expected on this host, 0 = unknown (taken as 1) */
	uint32_t tx_packets;   /* packets of the transmit pool, 64..65536 */
	uint32_t rx_packets;   /* packets the process may hold unreturned, 64..65536 */
	uint16_t want_context; /* this number if it is free, 0 = any */
	uint16_t n_rails;      /* names that follow; 0 = all rails of the host */
	union {
		char rails[ETH_RAILS][ETH_NAME];
		char about[ETH_RAILS * ETH_NAME]; /* REPORT: what of the topic; "" = nothing more */
	};
	uint32_t topic; /* REPORT: enum eth_topic of report.h */
	uint32_t pad;
};

/* One rail as granted. */
struct eth_granted_rail {
	char name[ETH_NAME];
	uint8_t mac[ETH_MAC];
	/* number of the rail on this host: index of the board and of the frame */
	uint8_t host_rail;
	uint8_t is_zero_copy;
	uint32_t mtu; /* of the interface, bytes behind the Ethernet header */
};

/*
 * The answer. Descriptors, in this order:
 *   - the packet memory (memfd)
 *   - the share (memfd; direct only)
 *   - the board (memfd, read-only)
 *   - the inbox (a BPF ring buffer; only if it has bytes)
 *   - the sockets: one per rail (direct) or one (port)
 *   - direct only: as many that own the fill and completion rings of the rails, to be closed when
 *     these are mapped.
 *
 * Packet memory: n_slots transmit areas of tx_packets * chunks_per_packet chunks each, then for
 * each socket rx_chunks receive chunks. The receive chunks are in the fill ring of their socket
 * when it is handed over; whoever takes one out of a receive ring gives it back to the fill ring of
 * the same socket. With an inbox no frame comes by the sockets: all are in its ring, of whatever
 * rail (inbox.h). A packet larger than a chunk lies in adjacent chunks and is sent as several
 * descriptors. Fill and completion ring of a rail are shared by all slots (direct): see share.h.
 */
struct eth_granted {
	uint32_t magic, version;
	int32_t error; /* 0 or an errno value; then only why is meaningful */
	char why[ETH_WHY];
	uint32_t host;
	uint16_t context;
	uint16_t type;      /* EtherType, network byte order */
	uint8_t attachment; /* enum eth_attachment */
	uint8_t is_native;  /* the NIC's driver runs the program; 0: the kernel's generic hook */
	uint8_t is_frags;   /* frames may span several descriptors */
	uint8_t n_rails;
	uint32_t slot, n_slots; /* our transmit area, of all */
	uint64_t memory_bytes;  /* of the packet memory */
	uint32_t chunk_bytes;   /* 2048 or 4096 */
	uint32_t chunks_per_packet;
	uint32_t tx_packets; /* per slot */
	uint32_t rx_chunks;  /* per socket */
	uint32_t fill_entries, completion_entries, rx_entries,
		tx_entries; /* ring sizes, powers of two */
	/* of the inbox's ring, a power of two; 0 = frames come by the sockets */
	uint32_t inbox_bytes;
	uint32_t n_fds;
	uint32_t is_bound; /* frames come and go from now on; is_zero_copy of the rails is known */
	struct eth_granted_rail rails[ETH_RAILS];
};

/* Limits of the packets that a request may ask for. */
#define ETH_PACKETS_MIN 64
#define ETH_PACKETS_MAX 65536

/*
 * Is it a request we can obey? 0; -EPROTO: no request at all, -EPROTONOSUPPORT: of another version,
 * -EINVAL: a field is out of its range. Looks at what its op uses.
 */
int eth_request_check(const struct eth_request *r, size_t len);
/*
 * Is it an answer that makes sense, having come with @n_fds descriptors? 0, also of a refusal
 * (error is set then, why is terminated, no descriptors) and of the answer to SUSPEND (attachment
 * ETH_DETACHED, no descriptors); -EPROTO, -EPROTONOSUPPORT, -EINVAL as above.
 */
int eth_granted_check(const struct eth_granted *g, size_t len, unsigned n_fds);

/* A piece of a report; the last one has more == 0. */
struct eth_report {
	uint32_t magic, version;
	int32_t error;
	uint32_t more;
	uint32_t length; /* bytes of text that follow in this piece */
	char text[4096];
};

#endif

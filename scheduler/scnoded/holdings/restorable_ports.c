// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "scheduler/scnoded/holdings/inodes.h"
#include "scheduler/scnoded/holdings/restorable.h"

/* Files of a TCP socket with a port, each socket once: the first process that has it is told. */
struct entry {
	const struct held_socket *socket;
	size_t process;
};

static int compare(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;

	if (left->socket != right->socket)
		return left->socket < right->socket ? -1 : 1;
	return (left->process > right->process) - (left->process < right->process);
}

static size_t list_entries(const struct holdings *h, const struct inodes *closing,
			   struct entry *list)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n_files; i++) {
		const struct held_file *file = &h->files[i];
		const struct held_socket *socket = holdings_socket(h, file->inode);

		if (socket && socket->kind == HELD_TCP && socket->here.sin6_port &&
		    S_ISSOCK(file->mode) && !inodes_has(closing, file->inode))
			list[n++] = (struct entry){.socket = socket, .process = file->process};
	}
	if (n)
		qsort(list, n, sizeof(*list), compare);
	return n;
}

static size_t take_ports(const struct holdings *h, const struct entry *list, size_t n,
			 struct restorable_port *ports)
{
	size_t n_ports = 0;

	for (size_t i = 0; i < n; i++) {
		const struct held_process *process = &h->processes[list[i].process];

		if (i && list[i].socket == list[i - 1].socket)
			continue;
		ports[n_ports++] = (struct restorable_port){.address = list[i].socket->here,
							    .pid = process->pid,
							    .rank = process->rank,
							    .is_listening = list[i].socket->state ==
									    TCP_LISTEN};
	}
	return n_ports;
}

static bool sort_closing(const struct restorable_terms *terms, struct inodes *ret)
{
	for (size_t i = 0; i < terms->n_closing; i++)
		if (!inodes_add(ret, terms->closing[i]))
			return false;
	inodes_sort(ret);
	return true;
}

ssize_t restorable_ports(const struct holdings *h, const struct restorable_terms *terms,
			 struct restorable_port **ret)
{
	struct entry *list = calloc(h->n_files + 1, sizeof(*list));
	struct restorable_port *ports = calloc(h->n_sockets + 1, sizeof(*ports));
	struct inodes closing = {0};
	ssize_t n = -ENOMEM;

	if (list && ports && sort_closing(terms, &closing)) {
		n = (ssize_t)take_ports(h, list, list_entries(h, &closing, list), ports);
		*ret = ports;
		ports = NULL;
	}
	inodes_free(&closing);
	free(list);
	free(ports);
	return n;
}

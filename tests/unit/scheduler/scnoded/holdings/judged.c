// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/scheduler/scnoded/holdings/judged.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tests/harness/tap.h"

struct judged judged;

/* A root that leads its session, and rank 3 below it. */
void judged_begin(void)
{
	struct held_process *p;

	holdings_free(&judged.h);
	refusals_free(&judged.refusals);
	judged.terms = (struct restorable_terms){
		.job = 7, .host = "n02", .ghost_bytes = RESTORABLE_GHOST_BYTES};
	p = holdings_add_process(&judged.h, ROOT);
	p->session = ROOT;
	p->state = 'S';
	strcpy(p->name, "scstepd");
	p = holdings_add_process(&judged.h, RANK);
	p->parent = p->session = ROOT;
	p->state = 'R';
	p->rank = 3;
}

struct held_file *judged_file(uint32_t mode, const char *name)
{
	struct held_file *f = holdings_add_file(&judged.h);

	*f = (struct held_file){.process = 1,
				.fd = 5,
				.mode = mode,
				.links = 1,
				.is_mounted = true,
				.inode = 1000 + judged.h.n_files,
				.name = holdings_text(&judged.h, name)};
	return f;
}

struct held_file *judged_device(uint32_t mode, unsigned major, unsigned minor, const char *name)
{
	struct held_file *f = judged_file(mode, name);

	f->special = makedev(major, minor);
	return f;
}

struct sockaddr_in6 judged_address(const char *text, unsigned port)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};

	inet_pton(AF_INET6, text, &a.sin6_addr);
	return a;
}

/* A socket that process @process has, of a protocol that is in the kernel's lists. */
struct held_socket *judged_socket(size_t process, const char *protocol, enum held_kind kind,
				  uint8_t state)
{
	struct held_file *f = judged_file(S_IFSOCK, protocol);
	struct held_socket *s = holdings_add_socket(&judged.h);

	f->process = process;
	s->inode = f->inode;
	s->kind = kind;
	s->state = state;
	s->type = SOCK_STREAM;
	return s;
}

struct held_socket *judged_connection(size_t process, const char *here, unsigned here_port,
				      const char *there, unsigned there_port)
{
	struct held_socket *s = judged_socket(process, "TCP", HELD_TCP, TCP_ESTABLISHED);

	s->here = judged_address(here, here_port);
	s->there = judged_address(there, there_port);
	return s;
}

struct held_mapping *judged_mapping(const char *name)
{
	struct held_mapping *m = holdings_add_mapping(&judged.h);

	*m = (struct held_mapping){.process = 1,
				   .start = 0x7000,
				   .mode = S_IFREG,
				   .links = 1,
				   .name = holdings_text(&judged.h, name)};
	return m;
}

void judged_judge(void)
{
	refusals_free(&judged.refusals);
	holdings_sort(&judged.h);
	restorable_judge(&judged.h, &judged.terms, &judged.refusals);
}

/* The only refusal is that @of the rank; NULL: there is none. Begins anew. */
void judged_whole(const char *file_name, int line, const char *sentence)
{
	judged_judge();
	tap_is_int(file_name, line, "refusals",
		   (long long)(judged.refusals.n + judged.refusals.n_more), sentence ? 1 : 0);
	if (judged.refusals.n)
		tap_is_str(file_name, line, "sentence", judged.refusals.lines[0], sentence);
	judged_begin();
}

void judged_of_rank(const char *file_name, int line, const char *clause)
{
	char text[1024];

	snprintf(text, sizeof(text), "job 7: rank 3 on n02 (process 4711) %s", clause);
	judged_whole(file_name, line, text);
}

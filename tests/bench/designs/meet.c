// SPDX-License-Identifier: BSD-3-Clause
#include "tests/bench/designs/meet.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/bench/src/line.h"

#define PROBE_NS 5e5
#define LINE_BYTES 256 /* far enough from each other for every processor */

struct page {
	alignas(LINE_BYTES) line_t line;
	alignas(LINE_BYTES) _Atomic uint64_t met[2][LINE_BYTES / sizeof(uint64_t)]; /* [rank][0] */
	alignas(LINE_BYTES) _Atomic bool is_over; /* a rank has failed */
	uint64_t told, key;
	size_t blob_bytes[2];
	unsigned char blob[2][MEET_BLOB_MAX];
};

int meet_rank;
static struct page *page;

void die_of(const char *what, const char *why)
{
	fprintf(stderr, "send_designs: rank %d: %s: %s\n", meet_rank, what, why);
	if (page)
		atomic_store(&page->is_over, true);
	_exit(1);
}

void die(const char *what)
{
	die_of(what, strerror(errno));
}

static void on_alarm(int signal)
{
	static const char text[] = "send_designs: no end within 60 s: a frame was lost, or the "
				   "other rank did not come\n";

	(void)signal;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(2);
	atomic_store(&page->is_over, true);
	_exit(1);
}

void meet_open(const char *path, int rank)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	meet_rank = rank;
	if (fd < 0 || ftruncate(fd, sizeof(*page)))
		die(path);
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		page = NULL;
		die(path);
	}
	close(fd);
	signal(SIGALRM, on_alarm);
	alarm(MEET_LIMIT_S);
	if (rank == 0)
		page->key = (uint64_t)line_now_ns() ^ (uint64_t)getpid() << 40;
	meet();
}

void meet(void)
{
	uint64_t turn = atomic_fetch_add(&page->met[meet_rank][0], 1) + 1;

	while (atomic_load(&page->met[!meet_rank][0]) < turn)
		if (atomic_load(&page->is_over))
			_exit(1); /* the other rank has said why */
}

uint64_t meet_pause(uint64_t most_ns)
{
	static uint32_t seed = 1;
	double start = line_now_ns(), now;

	seed = seed * 1664525u + 1013904223u;
	do
		now = line_now_ns();
	while (now - start < (double)most_ns * (seed >> 8) / (1 << 24));
	return (uint64_t)(now - start);
}

uint64_t meet_tell(uint64_t what)
{
	if (meet_rank == 0)
		page->told = what;
	meet();
	what = page->told;
	meet();
	return what;
}

size_t meet_exchange(const void *ours, size_t len, void *theirs)
{
	if (len > MEET_BLOB_MAX)
		die_of("address", "longer than the page has room for");
	memcpy(page->blob[meet_rank], ours, len);
	page->blob_bytes[meet_rank] = len;
	meet();
	len = page->blob_bytes[!meet_rank];
	memcpy(theirs, page->blob[!meet_rank], len);
	meet();
	return len;
}

double meet_probe(void)
{
	double ns = 0;

	meet();
	if (meet_rank == 0)
		ns = line_ask(&page->line, PROBE_NS);
	else
		line_answer(&page->line);
	meet();
	return ns;
}

uint64_t meet_key(void)
{
	return page->key;
}

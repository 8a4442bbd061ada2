// SPDX-License-Identifier: BSD-3-Clause
#include <dirent.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/unit/pm-shmem/links.h"

static int count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

TAP_TEST(open__and_close_leave_nothing)
{
	int before = count_descriptors();
	struct pm_link_peer *peer;
	struct pm_inbound in;
	struct node a, b;

	links_begin();
	for (int i = 0; i < 50; i++) {
		must(is_int(node_open(&a, 1, NULL), 0));
		must(is_int(node_open(&b, 2, NULL), 0));
		must(is_int(node_add(&a, 2, &b, &peer), 0));
		is_int(node_send(&a, peer, 100, i), 0);
		/* closed with the message received, lent, or unread */
		if (i % 3)
			is_int(node_receive(&b, &in), 1);
		if (i % 3 == 1)
			OPS->release(b.link, in.cookie);
		node_close(i & 1 ? &a : &b);
		node_close(i & 1 ? &b : &a);
	}
	is_int(count_descriptors(), before);
	links_end();
}

TAP_TEST(open__without_the_directory)
{
	struct node n;

	snprintf(links_dir, sizeof(links_dir), "/nowhere/at/all");
	is_int(node_open(&n, 1, NULL), -ENOENT);
	ok(strstr(n.why, "/nowhere/at/all"));
}

TAP_TEST(address__too_little_room)
{
	uint8_t buf[256];
	struct node n;

	links_begin();
	must(is_int(node_open(&n, 1, NULL), 0));
	is_int(OPS->address(n.link, buf, n.address_len - 1), -ENOSPC);
	is_int(OPS->address(n.link, buf, n.address_len), n.address_len);
	is_mem(buf, n.address, n.address_len);
	node_close(&n);
	links_end();
}

/*
 * Other links lose their way to nodes, and take them over; of a death in this host the link learns
 * by itself. Rows are posted and received one by one: there is no packet that could be prepared for
 * many.
 */
static bool is_for_networks(size_t offset)
{
	return offset == offsetof(struct pm_link_ops, ask) ||
	       offset == offsetof(struct pm_link_ops, await) ||
	       offset == offsetof(struct pm_link_ops, forget) ||
	       offset == offsetof(struct pm_link_ops, is_read_by) ||
	       offset == offsetof(struct pm_link_ops, post_row) ||
	       offset == offsetof(struct pm_link_ops, receive_more) ||
	       offset == offsetof(struct pm_link_ops, leaving);
}

TAP_TEST(ops__table_is_complete)
{
	is_int(OPS->abi, PM_DEVICE_ABI);
	is_int(OPS->size, sizeof(*OPS));
	is_str(OPS->name, "shmem");
	for (size_t i = offsetof(struct pm_link_ops, open); i < sizeof(*OPS);
	     i += sizeof(void (*)(void)))
		okf(is_for_networks(i) || *(void *const *)((const uint8_t *)OPS + i) != NULL,
		    "operation at offset %zu", i);
}

/* ---- no memory ---- */

/* Pages of address space in use. */
static uint64_t address_space(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file || fscanf(file, "%lu", &pages) != 1)
		abort();
	fclose(file);
	return pages;
}

/*
 * Opens, talks and reads with @pages to spare: 0 all went well, 1 something was refused in good
 * order, 2 it went wrong.
 */
static int live_on(uint64_t pages)
{
	static uint8_t memory[100000], local[100000];
	struct rlimit limit = {.rlim_cur = (address_space() + pages) * 4096,
			       .rlim_max = RLIM_INFINITY};
	struct pm_link_peer *peer;
	struct pm_inbound in;
	struct node a, b;
	uint64_t rkey;
	uint32_t op;
	int err;

	if (setrlimit(RLIMIT_AS, &limit))
		return 2;
	if (node_open(&a, 1, NULL))
		return 1;
	if (node_open(&b, 2, NULL)) {
		node_close(&a);
		return 1;
	}
	err = region_add(b.regions, memory, sizeof(memory), &rkey);
	err = err ? err : node_add(&a, 2, &b, &peer);
	err = err ? err : node_send(&a, peer, 1000, 1);
	err = err ? err : OPS->read(a.link, peer, rkey, 0, local, sizeof(local), &op);
	for (int i = 0; !err && i < 1000; i++) {
		int got = OPS->receive(b.link, &in);

		if (got == 1 && (in.len != 1000 || !is_filled(in.buf, 1000, 1)))
			return 2;
		/* b may give a up, who then is not answered */
		err = got < 0 ? got : 0;
		OPS->receive(a.link, &in);
	}
	err = err ? err : OPS->rma_done(a.link, op);
	node_close(&a);
	node_close(&b);
	return err != 0;
}

TAP_TEST(open__short_of_address_space)
{
	int status, lived = 0;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	tap_skip("the sanitizer needs the address space itself");
	return;
#endif
	links_begin();
	for (uint64_t pages = 1; pages < 4000 && !lived; pages += 1 + pages / 40) {
		pid_t pid = fork();

		if (!pid)
			_exit(live_on(pages));
		must(pid > 0);
		waitpid(pid, &status, 0);
		okf(WIFEXITED(status) && WEXITSTATUS(status) < 2, "%llu pages: status %#x",
		    (unsigned long long)pages, status);
		lived = status == 0;
	}
	ok(lived);
	links_end();
}

// SPDX-License-Identifier: BSD-3-Clause
/*
 * The cost of the notice of unmapped memory: a thread and a userfaultfd. They exist only while they
 * are needed.
 */
#include <dirent.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pm-verbs/hw/unmap.h"
#include "tests/unit/pm-verbs/links.h"

#define OPS (&pm_verbs_ops)
#define LEN 65536
#define GONE_MS 10000

#ifdef __SANITIZE_THREAD__
#include <pthread.h>
/* ThreadSanitizer starts one for itself beside the first of the program. */
#define SANITIZER_THREADS 1

static void *nothing(void *arg)
{
	return arg;
}

__attribute__((constructor)) static void start_sanitizer(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, nothing, NULL) == 0)
		pthread_join(thread, NULL);
}
#else
#define SANITIZER_THREADS 0
#endif

static int count_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	int n = 0;

	while (dir && readdir(dir))
		n++;
	closedir(dir);
	return n - 2 - SANITIZER_THREADS; /* 2: "." and ".." */
}

/* The kernel wakes pthread_join() before it takes the thread out of /proc. */
static int n_threads(int wanted)
{
	int n;

	for (int i = 0; (n = count_threads()) > wanted && i < GONE_MS; i++)
		usleep(1000);
	return n;
}

static bool has_userfaultfd(void)
{
	bool is = false;

	for (int fd = 0; fd < 256 && !is; fd++) {
		char path[64], to[64] = "";

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		is = readlink(path, to, sizeof(to) - 1) > 0 && strstr(to, "userfaultfd");
	}
	return is;
}

static void *map(void)
{
	void *at = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(at, 1, LEN);
	return at;
}

static struct unmap_watch *open_watch(void)
{
	struct unmap_watch *watch = NULL;
	char why[256];

	if (unmap_open(why, sizeof(why), &watch))
		tap_skip("%s", why);
	return watch;
}

static void forget(void *arg, uintptr_t addr, size_t len)
{
	++*(int *)arg;
}

TAP_TEST(unmap_add__the_first_starts_the_thread)
{
	struct unmap_watch *a = open_watch(), *b;
	void *memory;
	int told = 0;

	if (!a)
		return;
	memory = map();
	b = open_watch();
	is_int(n_threads(1), 1);
	ok(unmap_poll(a, forget, &told));
	is_int(unmap_add(a, memory, LEN), 0);
	is_int(n_threads(2), 2);
	is_int(unmap_add(b, memory, LEN), 0);
	is_int(n_threads(2), 2);
	munmap(memory, LEN);
	ok(unmap_poll(a, forget, &told) && unmap_poll(b, forget, &told));
	is_int(told, 2);
	unmap_close(a);
	is_int(n_threads(2), 2);
	unmap_close(b);
	is_int(n_threads(1), 1);
	/* and again, also without any use */
	unmap_close(open_watch());
	is_int(n_threads(1), 1);
	ok(!has_userfaultfd());
}

/* Messages need none; one-sided operations start it, and quiescing ends it until the next. */
TAP_TEST(link__thread_comes_with_operations)
{
	static uint8_t region[LEN];
	uint8_t *memory = map();
	uint64_t rkey;

	fake_begin(2);
	must(links_open(2, NULL));
	must(!region_add(nodes[1].regions, region, sizeof(region), &rkey));
	must(links_send(0, 1, 8) == 0);
	links_drain();
	is_int(n_threads(1), 1);
	if (pmv_of(nodes[0].link)->local_why[0]) {
		tap_skip("%s", pmv_of(nodes[0].link)->local_why);
		links_close();
		return;
	}
	for (int i = 0; i < 3; i++) {
		is_int(links_rma(0, 1, false, rkey, 0, memory, LEN), 0);
		is_int(n_threads(2), 2);
		is_int(nodes[0].stats.pinned_hits, i);
		is_int(links_rma(0, 1, true, rkey, 0, memory, LEN), 0);
		is_int(nodes[0].stats.pinned_hits, i + 1);
		links_turn(5);
		is_int(OPS->quiesce(nodes[0].link), 0);
		/* the other link of this process watches nothing, and has its own say */
		is_int(OPS->quiesce(nodes[1].link), 0);
		is_int(n_threads(1), 1);
		ok(!has_userfaultfd());
		munmap(memory, LEN);
		memory = map();
		OPS->resume(nodes[0].link);
		OPS->resume(nodes[1].link);
	}
	munmap(memory, LEN);
	links_close();
	is_int(n_threads(1), 1);
}

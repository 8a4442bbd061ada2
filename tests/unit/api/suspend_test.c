// SPDX-License-Identifier: BSD-3-Clause
/* suspend: nothing of the devices is left in the process or below /dev/shm. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/api/self.h"

/* All descriptors with their targets, in one text. */
static char *descriptors(void)
{
	char *text = NULL, path[300], target[256];
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;

	while ((entry = readdir(dir))) {
		ssize_t len;

		if (atoi(entry->d_name) == dirfd(dir))
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		len = readlink(path, target, sizeof(target) - 1);
		if (len < 0)
			continue;
		target[len] = '\0';
		fprintf(out, "%s %s\n", entry->d_name, target);
	}
	closedir(dir);
	fclose(out);
	return text;
}

/* Mappings of files and of memory with a name, other than programs and libraries. */
static unsigned int mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned int n = 0;
	char line[512];

	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "/dev/shm/") || strstr(line, "/memfd:") ||
		    strstr(line, "socket:") || strstr(line, "io_uring"))
			n++;
	fclose(maps);
	return n;
}

static bool has_page(void)
{
	char name[64];

	snprintf(name, sizeof(name), "/dev/shm/openscore-stat.%u.%u.0", (unsigned int)geteuid(),
		 (unsigned int)getpid());
	return !access(name, F_OK);
}

static pmContext open_by(const char *config, uint64_t key)
{
	struct pmOptions options = {
		.size = sizeof(options), .self = SELF_NODE, .job_key = key, .config = config};
	pmContext ctx = PM_CONTEXT_NONE;

	okf(!pmOpenContext(&options, &ctx), "%s", pmLastError());
	return ctx;
}

TAP_TEST(pmSuspend__leaves_nothing_open)
{
	static const char *const configs[] = {
		"devices=self",
		"devices=self+shmem",
		"devices=self+udp,udp.rails=lo",
		"devices=self+shmem+udp,udp.rails=lo",
	};
	uint64_t key = (uint64_t)getpid() << 20;
	char *before, *after;
	bool has_any = false;

	/* libraries that a device loads stay loaded, and keep what they have opened */
	is_int(pmCloseContext(open_by(configs[3], key)), 0);
	for (size_t i = 0; i < sizeof(configs) / sizeof(*configs); i++) {
		unsigned int n_mapped = mappings();
		pmContext ctx;

		before = descriptors();
		ctx = open_by(configs[i], ++key);
		has_any |= mappings() > n_mapped;
		is_int(pmPost(ctx, SELF_NODE, "left", 4), 0);
		is_int(pmWait(ctx, 0), 0);
		(void)pmWait(ctx, 1);
		is_int(pmHold(ctx), 0);
		is_int(pmQuiesce(ctx, 1000), 0);
		if (!okf(!pmSuspend(ctx), "%s", pmLastError()))
			return;
		after = descriptors();
		is_str(after, before);
		is_int(mappings(), n_mapped);
		ok(!has_page());
		self_expect(ctx, "left");
		is_int(pmWait(ctx, 1), ETIMEDOUT);
		is_int(pmRevive(ctx, configs[3 - i], ++key), 0);
		ok(has_page());
		is_int(pmResume(ctx), 0);
		is_int(pmPost(ctx, SELF_NODE, "again", 5), 0);
		self_expect(ctx, "again");
		is_int(pmCloseContext(ctx), 0);
		free(before);
		free(after);
	}
	ok(has_any);
}

TAP_TEST(pmSuspend__closed_meanwhile)
{
	pmContext ctx = open_by("devices=self+shmem", (uint64_t)getpid() << 20 | 99);
	char text[64];
	pmHandle h;

	is_int(pmMLock(ctx, text, sizeof(text), &h), 0);
	is_int(pmHold(ctx), 0);
	is_int(pmQuiesce(ctx, 1000), 0);
	is_int(pmSuspend(ctx), 0);
	is_int(pmCloseContext(ctx), 0);
	is_int(pmRevive(ctx, NULL, 1), EBADF);
	is_int(pmSuspend(ctx), EBADF);
	is_int(pmHold(ctx), EBADF);
	(void)h;
}

// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/scheduler/scnoded/store/stored.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness/tap.h"

const char *stored_in = "/tmp";
char stored_base[64], stored[80];

void stored_begin(void)
{
	snprintf(stored_base, sizeof(stored_base), "%s/store-XXXXXX", stored_in);
	if (!mkdtemp(stored_base))
		abort();
	snprintf(stored, sizeof(stored), "%s/images", stored_base);
}

void stored_end(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf --one-file-system %s", stored_base);
	ok(!system(command));
}

struct store_place stored_place(uint64_t round, uint32_t index)
{
	return (struct store_place){
		.directory = stored, .job = JOB, .round = round, .index = index};
}

struct hostfile stored_about(const char *host)
{
	struct hostfile about = {.n_hosts = 2,
				 .taken = 1700000000,
				 .kernel = "6.1",
				 .criu = "4.1",
				 .cpu_flags = (char *)"fpu",
				 .order = json_object()};

	snprintf(about.host, sizeof(about.host), "%s", host);
	return about;
}

const char *stored_path(const char *path)
{
	static char paths[4][256];
	static unsigned int next;
	char *to = paths[next++ % 4];

	snprintf(to, sizeof(paths[0]), "%s/%s", stored, path);
	return to;
}

bool stored_has(const char *path)
{
	return !faccessat(AT_FDCWD, stored_path(path), F_OK, AT_SYMLINK_NOFOLLOW);
}

static bool write_at(int fd, const char *name, const char *text)
{
	int file = openat(fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	bool is = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);

	if (file >= 0)
		close(file);
	return is;
}

void stored_write(const char *path, const char *text)
{
	okf(write_at(AT_FDCWD, stored_path(path), text), "%s", path);
}

bool stored_dump(const struct store_place *place)
{
	int fd = store_open(place, false);
	bool is = fd >= 0 && write_at(fd, "pages-1.img", "123456789") &&
		  write_at(fd, "core-1.img", "") && write_at(fd, "dump.log", "done\n");

	if (fd >= 0)
		close(fd);
	return is;
}

char *stored_seal(const struct store_place *place, const char *host)
{
	struct hostfile about = stored_about(host);
	char *text = store_begin(place, host, 1);
	uint64_t bytes;

	if (!text && !stored_dump(place))
		text = strdup("no dump");
	if (!text)
		text = store_seal(place, &about, &bytes);
	json_decref(about.order);
	return text;
}

void stored_commit(const struct store_place *place, const char *host, uint64_t keep)
{
	FINE(stored_seal(place, host));
	FINE(store_commit(place, keep));
}

void stored_fine(int line, const char *call, char *text)
{
	okf(!text, "line %d: %s: %s", line, call, text);
	free(text);
}

void stored_wrong(int line, const char *call, char *text, const char *const *words)
{
	if (!okf(text != NULL, "line %d: %s says nothing", line, call))
		return;
	for (; *words; words++)
		okf(strstr(text, *words) != NULL, "line %d: %s: no \"%s\" in: %s", line, call,
		    *words, text);
	free(text);
}

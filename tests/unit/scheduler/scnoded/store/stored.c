// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/scheduler/scnoded/store/stored.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness/tap.h"

struct stored stored;

void stored_open(void)
{
	char made[] = "/tmp/store_test.XXXXXX";

	ok(mkdtemp(made) != NULL);
	snprintf(stored.directory, sizeof(stored.directory), "%s/all", made);
}

void stored_close(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %.*s",
		 (int)(strlen(stored.directory) - strlen("/all")), stored.directory);
	ok(!system(command));
}

struct store_place stored_place(uint64_t round, uint32_t index)
{
	return (struct store_place){
		.directory = stored.directory, .job = STORED_JOB, .round = round, .index = index};
}

const char *stored_text(char *text)
{
	static char kept[1000];

	snprintf(kept, sizeof(kept), "%s", text ? text : "");
	free(text);
	return kept;
}

void stored_write(const struct store_place *place, const char *name, const char *text)
{
	int directory = store_open(place, false), fd;

	ok(directory >= 0);
	fd = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ok(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	close(directory);
}

struct hostfile stored_about(const struct store_place *place, const char *host)
{
	return (struct hostfile){.job = place->job,
				 .round = place->round,
				 .index = place->index,
				 .n_hosts = 2,
				 .taken = 1,
				 .host = strdup(host),
				 .kernel = strdup("6.1"),
				 .criu = strdup("4.2"),
				 .cpu_flags = strdup(""),
				 .order = json_object()};
}

bool stored_seal(const struct store_place *place, const char *host)
{
	struct hostfile about = stored_about(place, host);
	char word[64];
	uint64_t bytes = 0;
	bool is_sealed;

	if (*stored_text(store_begin(place, host, 1000)))
		return false;
	snprintf(word, sizeof(word), "round %d", (int)place->round);
	stored_write(place, "pages-1.img", word);
	stored_write(place, "dump.log", "all is well");
	is_sealed = !*stored_text(store_seal(place, &about, &bytes)) && bytes == strlen(word);
	hostfile_fini(&about);
	return is_sealed;
}

bool stored_commit(const struct store_place *place, const char *host, uint64_t keep)
{
	return stored_seal(place, host) && !*stored_text(store_commit(place, keep));
}

bool stored_is_whole(const struct store_place *place)
{
	struct hostfile h;
	bool is_whole = !*stored_text(store_verify(place, &h));

	hostfile_fini(&h);
	return is_whole;
}

bool stored_has(const char *below)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", stored.directory, below);
	return !access(path, F_OK);
}

// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of cluster/file.c: the same tree as jansson's but for other hosts' rails, and no other
 * files.
 */
#include "cluster/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/tap.h"

static char why[512];

static json_t *load(const char *text, size_t len, const char *host)
{
	char path[] = "/tmp/file_test.XXXXXX";
	int fd = mkstemp(path);
	json_t *tree;

	okf(fd >= 0 && write(fd, text, len) == (ssize_t)len, "%s", path);
	/* of one that was written just now more is waited for */
	okf(!futimens(fd, (struct timespec[2]){{1, 0}, {1, 0}}), "time of %s", path);
	close(fd);
	why[0] = 0;
	tree = cluster_file_load(path, host, true, why, sizeof(why));
	unlink(path);
	return tree;
}

static bool is_same(const char *text, const char *host, const char *expected)
{
	json_t *tree = load(text, strlen(text), host), *other = json_loads(expected, 0, NULL);
	bool is_equal = tree && other && json_equal(tree, other);

	json_decref(tree);
	json_decref(other);
	return is_equal;
}

static const char whole[] =
	" {\"version\": 1,\n\"name\": \"a}\\\"]\", \"pm\": {}, \"x\": [1, -2.5e3, true, null, "
	"[]],\n"
	"\"hosts\": [\n{\"id\": 0, \"name\": \"n0\", \"rails\": [{\"rail\": 0}], \"pm\": {\"a\": "
	"\"b\"}},\n"
	"{\"id\": 1, \"name\": \"n1\", \"address\": \"10.0.0.1\", \"rails\": []}\n], \"last\":7}\n";

TAP_TEST(cluster_file_load__other_hosts_become_small)
{
	ok(is_same(whole, "n1",
		   "{\"version\": 1, \"name\": \"a}\\\"]\", \"pm\": {}, \"x\": [1, -2500.0, true, "
		   "null, []], "
		   "\"hosts\": [{\"id\": 0, \"name\": \"n0\"}, {\"id\": 1, \"name\": \"n1\", "
		   "\"address\": \"10.0.0.1\", \"rails\": []}], \"last\": 7}"));
	ok(is_same("{\"hosts\": [{\"name\": \"n1\", \"rails\": [1]}]}", "n1.example.org",
		   "{\"hosts\": [{\"name\": \"n1\", \"rails\": [1]}]}"));
	ok(is_same("{\"hosts\": [{\"name\": \"n1\", \"rails\": [1]}]}", NULL,
		   "{\"hosts\": [{\"name\": \"n1\"}]}"));
	ok(is_same("{}", "n1", "{}"));
	ok(is_same("{\"hosts\":[]}", "n1", "{\"hosts\": []}"));
	ok(is_same("{\"hosts\": {\"rails\": 5}}", "n1", "{\"hosts\": {\"rails\": 5}}"));
}

TAP_TEST(cluster_file_load__no_part_of_a_file_is_a_file)
{
	size_t len = strlen(whole) - 1; /* but for the last line's end */
	uint32_t taken = 0, silent = 0;

	for (size_t n = 0; n < len; n++) {
		json_t *tree = load(whole, n, "n1");

		taken += tree != NULL;
		silent += !strstr(why, "line");
		json_decref(tree);
	}
	is_int(taken, 0);
	is_int(silent, 0);
}

TAP_TEST(cluster_file_load__names_the_line)
{
	static const struct {
		const char *text, *words;
	} bad[] = {
		{"{\n\"a\": 1,\n\"b\" 2}", "line 3: ':' expected"},
		{"{\n\"a\": 1\n\"b\": 2}", "line 3: '}' expected"},
		{"{\"a\": 1}\n\n]", "line 3: end of file expected"},
		{"{\"hosts\": [{}\n{}]}", "line 2: ']' expected"},
		{"{\"hosts\": [{},\n\n{\"a\" 1}]}", "line 3: "},
		{"{5: 1}", "line 1: string expected"},
		{"[]", "line 1: '{' expected"},
		{"{\"a\": 1,\n\"a\": 2}", "line 2: duplicate object key"},
		{"{\"a\": {\"b\": 1,\n\"b\": 2}}", "line 2: duplicate object key"},
		{"{\"a\": 1,}", "line 1: "},
		{"{\"hosts\": [{},]}", "line 1: "},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ok(!load(bad[i].text, strlen(bad[i].text), "n1"));
		okf(strstr(why, bad[i].words) != NULL, "%s: %s", bad[i].text, why);
	}
	ok(!load("{\"a\": 1}\0", 9, "n1"));
}

/* A writer who goes on each time after somebody has read what is there. */
static void write_by_parts(int fd, int watch, int parts)
{
	size_t len = strlen(whole), at = len / (size_t)parts;
	char events[4096];

	alarm(20); /* for a reader who does not come again */
	for (int i = 2; i <= parts; i++) {
		size_t end = i == parts ? len : at + len / (size_t)parts;

		if (read(watch, events, sizeof(events)) <= 0 ||
		    write(fd, whole + at, end - at) != (ssize_t)(end - at))
			_exit(1);
		at = end;
	}
	_exit(0);
}

TAP_TEST(cluster_file_load__a_file_that_is_being_written)
{
	char path[] = "/tmp/file_test.XXXXXX";
	int fd = mkstemp(path), watch = inotify_init1(IN_CLOEXEC), status = -1;
	size_t first = strlen(whole) / 5;
	json_t *tree;
	pid_t writer;

	must(fd >= 0 && write(fd, whole, first) == (ssize_t)first);
	must(inotify_add_watch(watch, path, IN_CLOSE_NOWRITE) >= 0);
	writer = fork();
	must(writer >= 0);
	if (!writer)
		write_by_parts(fd, watch, 5);
	tree = cluster_file_load(path, "n0", true, why, sizeof(why));
	okf(tree, "%s", why);
	is_int(waitpid(writer, &status, 0), writer);
	is_int(status, 0);
	json_decref(tree);
	close(watch);
	close(fd);
	unlink(path);
}

TAP_TEST(cluster_file_load__a_writer_who_never_goes_on)
{
	char path[] = "/tmp/file_test.XXXXXX";
	int fd = mkstemp(path);

	must(fd >= 0 && write(fd, whole, 40) == 40);
	ok(!cluster_file_load(path, "n0", true, why, sizeof(why)));
	ok(strstr(why, path) && strstr(why, "write it with 'scconf compile'"));
	close(fd);
	unlink(path);
}

TAP_TEST(cluster_file_load__one_that_may_not_wait)
{
	char path[] = "/tmp/file_test.XXXXXX";
	int fd = mkstemp(path);

	must(fd >= 0 && write(fd, whole, 40) == 40);
	alarm(1); /* a wait would take longer */
	ok(!cluster_file_load(path, "n0", false, why, sizeof(why)));
	alarm(0);
	close(fd);
	unlink(path);
}

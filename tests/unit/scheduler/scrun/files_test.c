// SPDX-License-Identifier: BSD-3-Clause
/* files: names of patterns, and one file for all who have the same name. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/scrun/files.h"
#include "tests/harness/tap.h"

static void check_name(const char *pattern, const char *want, char wrong_wanted)
{
	const struct files_words words = {
		.job = 12, .world = 2, .rank = 3, .host = "h1", .stream = 2};
	char wrong, *name = files_name(pattern, &words, &wrong);

	is_str(name, want);
	is_int(wrong, wrong_wanted);
	free(name);
}

TAP_TEST(files_name__all_words)
{
	check_name("plain", "plain", 0);
	check_name("%j/%w.%r.%h.%s%%", "12/2.3.h1.err%", 0);
	check_name("%q", NULL, 'q');
	check_name("at the end %", NULL, '%');
}

static void drained(void *owner)
{
}

static void failed(const struct sink *sink, int error, void *owner)
{
	okf(false, "%s: %s", sink_name(sink), strerror(error));
}

static const struct sink_events events = {.drained = drained, .failed = failed};

TAP_TEST(files_get__same_name_is_one_file)
{
	char path[] = "/tmp/scrun-files-XXXXXX", text[64] = "";
	struct files *files = files_open(ev_default_loop(0), &events, NULL);
	struct sink *a, *b;
	int fd = mkstemp(path);

	must(fd >= 0 && files);
	must(write(fd, "old", 3) == 3);
	a = files_get(files, path);
	b = files_get(files, path);
	must(a && a == b);
	sink_write(a, "one ", 4);
	files_put(files, a);
	sink_write(b, "two ", 4);
	files_put(files, b);
	/* Everybody has left it, and somebody comes late: it goes on. */
	a = files_get(files, path);
	must(a);
	sink_write(a, "three", 5);
	files_put(files, a);
	files_close(files);
	ok(pread(fd, text, sizeof(text) - 1, 0) == 13);
	is_str(text, "one two three");
	unlink(path);
	close(fd);
}

TAP_TEST(files_continue__what_is_there_stays)
{
	char path[] = "/tmp/scrun-files-XXXXXX", text[64] = "";
	struct files *files = files_open(ev_default_loop(0), &events, NULL);
	struct sink *a;
	int fd = mkstemp(path);

	must(fd >= 0 && files);
	must(write(fd, "old ", 4) == 4);
	files_continue(files);
	a = files_get(files, path);
	must(a);
	sink_write(a, "one", 3);
	files_put(files, a);
	files_close(files);
	ok(pread(fd, text, sizeof(text) - 1, 0) == 7);
	is_str(text, "old one");
	unlink(path);
	close(fd);
}

TAP_TEST(files_get__no_directory)
{
	struct files *files = files_open(ev_default_loop(0), &events, NULL);

	ok(!files_get(files, "/nonexistent/file"));
	files_close(files);
}

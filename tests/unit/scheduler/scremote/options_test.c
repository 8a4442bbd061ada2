// SPDX-License-Identifier: BSD-3-Clause
/*
 * scremote_options_read(): each option, each malformed form of it, and which two exclude each
 * other.
 */
#include "scheduler/scremote/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness/tap.h"

#define WORDS_MAX 8

struct reading {
	struct scremote_options options;
	char why[256];
	int rc;
};

/* Words, NULL-terminated, behind the program's name. */
static struct reading read_words(const char *const *words)
{
	struct reading r = {.options = {.fd = 77}};
	char *argv[WORDS_MAX + 2] = {(char *)(uintptr_t) "scremote"};
	int argc = 1;

	while (*words && argc < WORDS_MAX)
		argv[argc++] = (char *)(uintptr_t)*words++;
	r.rc = scremote_options_read(&r.options, argc, argv, r.why, sizeof(r.why));
	return r;
}

#define READ(...) read_words((const char *const[]){__VA_ARGS__, NULL})

static void is_wrong(struct reading r, const char *part)
{
	is_int(r.rc, -EINVAL);
	okf(strstr(r.why, part) != NULL, "\"%s\" is not in: %s", part, r.why);
	okf(strstr(r.why, "--help") != NULL, "no remedy in: %s", r.why);
	/* Outputs stay untouched on failure. */
	is_int(r.options.fd, 77);
}

TAP_TEST(options__a_descriptor)
{
	struct reading r = READ("--fd", "3", "--host", "h0");

	is_int(r.rc, 0);
	is_int(r.options.fd, 3);
	is_str(r.options.host, "h0");
	ok(!r.options.connect && !r.options.key);
	is_int(READ("--fd=0").options.fd, 0);
	is_int(READ("--fd", "2147483647").options.fd, 2147483647);
}

TAP_TEST(options__an_address)
{
	struct reading r = READ("--connect", "h:7", "--key", "k", "--munge-socket", "/m");

	is_int(r.rc, 0);
	is_int(r.options.fd, -1);
	is_str(r.options.connect, "h:7");
	is_str(r.options.key, "k");
	is_str(r.options.munge_socket, "/m");
	ok(!r.options.host);
}

TAP_TEST(options__the_socket_of_munge_from_the_environment)
{
	setenv("SCORE_MUNGE_SOCKET", "/from/there", 1);
	is_str(READ("--fd", "3").options.munge_socket, "/from/there");
	is_str(READ("--fd", "3", "--munge-socket", "/here").options.munge_socket, "/here");
	unsetenv("SCORE_MUNGE_SOCKET");
	ok(!READ("--fd", "3").options.munge_socket);
}

TAP_TEST(options__a_descriptor_that_is_no_number)
{
	static const char *const wrong[] = {"",           "x",           "3x", "-1",
					    "2147483648", "99999999999", "3 ", "1e1"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		is_wrong(READ("--fd", wrong[i]), "--fd wants the number");
}

TAP_TEST(options__neither_or_both)
{
	is_wrong(READ("--host", "h"), "either --connect or --fd");
	is_wrong(READ("--connect", "h:7", "--fd", "3"), "either --connect or --fd");
}

TAP_TEST(options__words_that_are_none)
{
	is_wrong(READ("--fd", "3", "more"), "more is no option");
	is_wrong(READ("--nonsense"), "--nonsense is no option");
	is_wrong(READ("-tr"), "-tr is no option");
	is_wrong(READ("--fd"), "--fd wants a value");
	is_wrong(READ("--key", "k", "--connect"), "--connect wants a value");
}

TAP_TEST(options__questions_are_answered_on_standard_output)
{
	char text[1024] = "";
	int out = dup(1), both[2];
	struct reading help, version;

	must(!pipe(both) && out >= 0);
	fflush(stdout);
	dup2(both[1], 1);
	help = READ("--help");
	version = READ("--version", "--nonsense");
	fflush(stdout);
	dup2(out, 1);
	close(out);
	close(both[1]);
	ok(read(both[0], text, sizeof(text) - 1) > 0);
	close(both[0]);
	is_int(help.rc, 1);
	is_int(version.rc, 1);
	is_int(help.options.fd, 77);
	ok(strstr(text, "usage: scremote --connect") != NULL);
	ok(strstr(text, "scremote (OpenSCore) " PM_VERSION) != NULL);
}

// SPDX-License-Identifier: BSD-3-Clause
/*
 * scnoded_options_read(): each option and each malformed value, and which of command line,
 * environment, cluster.json and default counts.
 */
#include "scheduler/scnoded/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness/tap.h"

#define WORDS_MAX 8

static char file[] = "/tmp/options_test.XXXXXX"; /* cluster.json */

struct reading {
	struct scnoded_options options;
	char why[512];
	int rc;
};

/* Words, NULL-terminated, behind the program's name. */
static struct reading read_words(const char *const *words)
{
	struct reading r = {.options = {.cores = "as before"}};
	char *argv[WORDS_MAX + 2] = {(char *)(uintptr_t) "scnoded"};
	int argc = 1;

	while (*words && argc < WORDS_MAX)
		argv[argc++] = (char *)(uintptr_t)*words++;
	r.rc = scnoded_options_read(&r.options, argc, argv, r.why, sizeof(r.why));
	return r;
}

#define READ(...) read_words((const char *const[]){__VA_ARGS__, NULL})

static void is_wrong(struct reading r, const char *why)
{
	is_int(r.rc, -EINVAL);
	is_str(r.why, why);
	/* Outputs stay untouched on failure. */
	is_str(r.options.cores, "as before");
	ok(!r.options.cgroup);
}

static void begin(void)
{
	unsetenv("SCORE_SERVER");
	unsetenv("SCORE_MUNGE_SOCKET");
}

/* The path of a cluster.json with this text. */
static const char *write_config(const char *text)
{
	int fd;

	strcpy(strrchr(file, '.'), ".XXXXXX");
	fd = mkstemp(file);
	ok(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	return file;
}

TAP_TEST(options__each_text)
{
	static const struct {
		const char *name;
		size_t at;
	} texts[] = {
		{"--server", offsetof(struct scnoded_options, server)},
		{"--name", offsetof(struct scnoded_options, name)},
		{"--listen", offsetof(struct scnoded_options, listen)},
		{"--address", offsetof(struct scnoded_options, address)},
		{"--run", offsetof(struct scnoded_options, run)},
		{"--cgroup", offsetof(struct scnoded_options, cgroup)},
		{"--cores", offsetof(struct scnoded_options, cores)},
		{"--munge-socket", offsetof(struct scnoded_options, munge_socket)},
		{"--scstepd", offsetof(struct scnoded_options, scstepd)},
		{"--scremote", offsetof(struct scnoded_options, scremote)},
	};

	begin();
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct reading r = READ("--server", "front", texts[i].name, "a=b");

		is_int(r.rc, 0);
		tap_is_str(__FILE__, __LINE__, texts[i].name,
			   *(const char *const *)((const char *)&r.options + texts[i].at), "a=b");
		if (i)
			is_str(r.options.server, "front");
		ok(!r.options.is_transient && !r.options.has_no_remote);
	}
}

TAP_TEST(options__defaults)
{
	struct reading r;

	begin();
	r = READ("--server=front");
	is_int(r.rc, 0);
	is_str(r.options.server, "front");
	is_str(r.options.listen, "7711");
	is_str(r.options.cgroup, "openscore");
	is_int(r.options.memory_share, 90);
	is_int(r.options.n_processes, 0);
	ok(!r.options.name && !r.options.address && !r.options.run && !r.options.cores);
	ok(!r.options.munge_socket && !r.options.scstepd && !r.options.scremote);
	ok(!r.options.config && !r.options.is_transient && !r.options.has_no_remote);
}

TAP_TEST(options__switches)
{
	struct reading r;

	begin();
	r = READ("--transient", "--server", "front");
	ok(!r.rc && r.options.is_transient && !r.options.has_no_remote);
	r = READ("--no-remote", "--server", "front");
	ok(!r.rc && r.options.has_no_remote && !r.options.is_transient);
}

TAP_TEST(options__numbers_and_their_bounds)
{
	static const char *const processes[] = {"15",
						"4194305",
						"",
						"x",
						"-20",
						"1e3",
						"64k",
						"20 ",
						"0x40",
						"99999999999999999999",
						"-18446744073709551596"};
	static const char *const memory[] = {"0",
					     "101",
					     "",
					     "x",
					     "-50",
					     "50%",
					     "5e1",
					     "0x20",
					     "50 ",
					     "99999999999999999999",
					     "-18446744073709551566"};
	char why[200];

	begin();
	is_int(READ("--server", "f", "--processes", "16").options.n_processes, 16);
	is_int(READ("--server", "f", "--processes", "4194304").options.n_processes, 4194304);
	is_int(READ("--server", "f", "--memory", "1").options.memory_share, 1);
	is_int(READ("--server", "f", "--memory", "100").options.memory_share, 100);
	for (size_t i = 0; i < sizeof(processes) / sizeof(*processes); i++) {
		snprintf(why, sizeof(why), "--processes %s: wanted is a number from 16 to 4194304",
			 processes[i]);
		is_wrong(READ("--server", "f", "--processes", processes[i]), why);
	}
	for (size_t i = 0; i < sizeof(memory) / sizeof(*memory); i++) {
		snprintf(why, sizeof(why),
			 "--memory %s: wanted are percent of the host's memory, 1 to 100",
			 memory[i]);
		is_wrong(READ("--server", "f", "--memory", memory[i]), why);
	}
}

TAP_TEST(options__environment)
{
	begin();
	setenv("SCORE_SERVER", "there", 1);
	setenv("SCORE_MUNGE_SOCKET", "/from/there", 1);
	is_str(READ("--transient").options.server, "there");
	is_str(READ("--server", "front").options.server, "front");
	is_str(READ("--transient").options.munge_socket, "/from/there");
	is_str(READ("--munge-socket", "/here").options.munge_socket, "/here");
}

TAP_TEST(options__section_of_the_configuration)
{
	const char *path = write_config("{\"scheduler\": {\"server\": \"head\", \"port\": 8710, "
					"\"node_port\": 8711, \"memory\": 50}}");
	struct reading r;

	begin();
	r = READ("--config", path);
	is_int(r.rc, 0);
	is_str(r.options.config, path);
	is_str(r.options.server, "head:8710");
	is_str(r.options.listen, "8711");
	is_int(r.options.memory_share, 50);
	section_fini(&r.options.section);
	r = READ("--config", path, "--server=front", "--listen=9", "--memory=70");
	is_int(r.rc, 0);
	is_str(r.options.server, "front");
	is_str(r.options.listen, "9");
	is_int(r.options.memory_share, 70);
	section_fini(&r.options.section);
	/* A user's environment is nearer than the file of the cluster. */
	setenv("SCORE_SERVER", "there", 1);
	r = READ("--config", path);
	is_str(r.options.server, "there");
	section_fini(&r.options.section);
	is_wrong(READ("--config", path, "--memory", "0"),
		 "--memory 0: wanted are percent of the host's memory, 1 to 100");
	unlink(path);
}

TAP_TEST(options__section_without_ports)
{
	const char *path = write_config("{\"scheduler\": {\"server\": \"head\"}}");
	struct reading r;

	begin();
	r = READ("--config", path);
	is_int(r.rc, 0);
	is_str(r.options.server, "head:7710");
	is_str(r.options.listen, "7711");
	is_int(r.options.memory_share, 90);
	section_fini(&r.options.section);
	unlink(path);
}

TAP_TEST(options__configuration_that_is_no_use)
{
	const char *path = write_config("{}");
	char why[300];
	struct reading r;

	begin();
	snprintf(why, sizeof(why),
		 "%s has no [scheduler]: write one into cluster.toml, or give --server; "
		 "see scnoded --help",
		 path);
	is_wrong(READ("--config", path), why);
	r = READ("--config", path, "--server", "front");
	is_int(r.rc, 0);
	is_str(r.options.server, "front");
	unlink(path);
	/* Even with a server: somebody meant that file. */
	r = READ("--config", path, "--server", "front");
	is_int(r.rc, -EINVAL);
	okf(strstr(r.why, path) != NULL, "%s", r.why);
	path = write_config("{\"scheduler\": {\"server\": \"head\", \"memory\": 101}}");
	r = READ("--config", path, "--memory", "50");
	is_int(r.rc, -EINVAL);
	okf(strstr(r.why, path) && strstr(r.why, "memory"), "%s", r.why);
	unlink(path);
}

TAP_TEST(options__no_server)
{
	begin();
	is_wrong(READ("--transient"),
		 "--server is missing: the host of scored; see scnoded --help");
}

TAP_TEST(options__words_that_are_none)
{
	static const char *const valued[] = {"--config",      "--server", "--name",    "--listen",
					     "--address",     "--run",    "--cgroup",  "--cores",
					     "--processes",   "--memory", "--scstepd", "--scremote",
					     "--munge-socket"};
	char why[100];

	begin();
	is_wrong(READ("--server", "f", "more"), "more is no option; see scnoded --help");
	is_wrong(READ("--server", "f", "--", "-t"), "-t is no option; see scnoded --help");
	is_wrong(READ("--server", "f", "--nonsense"),
		 "--nonsense is no option; see scnoded --help");
	is_wrong(READ("--server", "f", "--transient=1"),
		 "--transient=1 has a value, and takes none; see scnoded --help");
	is_wrong(READ("--server", "f", "-t"), "-t is no option; see scnoded --help");
	is_wrong(READ("-tr", "--server", "f"), "-tr is no option; see scnoded --help");
	is_wrong(READ("--server", "f", "more", "--transient", "-tr"),
		 "more is no option; see scnoded --help");
	for (size_t i = 0; i < sizeof(valued) / sizeof(*valued); i++) {
		snprintf(why, sizeof(why), "%s wants a value; see scnoded --help", valued[i]);
		is_wrong(READ("--server", "f", valued[i]), why);
	}
}

/* Standard output of --help or --version. */
static void ask(const char *question, char *text, size_t size)
{
	int out = dup(1), both[2];
	struct reading r;
	ssize_t n;

	must(!pipe(both) && out >= 0);
	fflush(stdout);
	dup2(both[1], 1);
	r = READ(question, "--nonsense");
	fflush(stdout);
	dup2(out, 1);
	close(out);
	close(both[1]);
	n = read(both[0], text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	close(both[0]);
	is_int(r.rc, 1);
	is_str(r.options.cores, "as before");
}

TAP_TEST(options__questions_are_answered_on_standard_output)
{
	static const char *const all[] = {"--server",       "--config",    "--name",
					  "--listen",       "--address",   "--run",
					  "--cgroup",       "--cores",     "--memory",
					  "--munge-socket", "--scstepd",   "--scremote",
					  "--no-remote",    "--transient", "--processes"};
	char text[2048] = "";

	begin();
	ask("--help", text, sizeof(text));
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		okf(strstr(text, all[i]) != NULL, "--help does not tell %s", all[i]);
	ask("--version", text, sizeof(text));
	is_str(text, "scnoded (OpenSCore) " PM_VERSION "\n");
}

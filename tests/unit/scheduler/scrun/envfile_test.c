// SPDX-License-Identifier: BSD-3-Clause
/* envfile: variables from files, and sentences about what is none. */
#include "scheduler/scrun/envfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/proto/fields.h"
#include "tests/harness/tap.h"

static char why[512];

/*
 * Puts a file with @content in front of the list "LAST=1"; the texts of the list, one per line.
 * free() it.
 */
static char *try(const void *content, size_t size, int want)
{
	char path[] = "/tmp/envfile-XXXXXX", *text = NULL;
	int fd = mkstemp(path);
	const char *name = path;
	struct words files = {&name, 1};
	char **env = calloc(2, sizeof(*env));
	size_t n;
	FILE *out = open_memstream(&text, &n);

	ok(fd >= 0 && env && out && write(fd, content, size) == (ssize_t)size);
	close(fd);
	if (env)
		env[0] = strdup("LAST=1");
	*why = '\0';
	is_int(envfile_put_before(&env, &files, why, sizeof(why)), want);
	for (size_t i = 0; env[i]; i++)
		fprintf(out, "%s\n", env[i]);
	fclose(out);
	fields_texts_free(env);
	unlink(path);
	return text;
}

static void gives(const char *content, const char *want)
{
	char *got = try(content, strlen(content), 0);

	is_str(got, want);
	free(got);
}

static void refuses(const void *content, size_t size, const char *line, const char *part)
{
	char *got = try(content, size, -EINVAL);

	is_str(got, "LAST=1\n");
	okf(strstr(why, line) && strstr(why, part) && strstr(why, "--env-file /tmp/envfile-"), "%s",
	    why);
	free(got);
}

TAP_TEST(envfile_put_before__variables)
{
	gives("A=1\nB=two words \nC=\nD=a=b", "A=1\nB=two words \nC=\nD=a=b\nLAST=1\n");
	gives("", "LAST=1\n");
	gives("# A=1\n\n  \t\n  # B=2\n  C=3\n", "C=3\nLAST=1\n");
	gives("A=\"#no comment\"\n", "A=\"#no comment\"\nLAST=1\n");
}

TAP_TEST(envfile_put_before__wrong_lines)
{
	refuses("A=1\nB\n", 6, ", line 2: ", "NAME=VALUE");
	refuses("=1", 2, ", line 1: ", "NAME=VALUE");
	refuses("#\n\nexport A=1\n", 14, ", line 3: ", "NAME=VALUE");
	refuses("A=1\0B=2\n", 8, ", line 1: ", "zero byte");
}

TAP_TEST(envfile_put_before__a_line_too_long)
{
	size_t size = FIELDS_TEXT_MAX + 2;
	char *line = malloc(size);

	must(line);
	memset(line, 'A', size);
	line[1] = '=';
	refuses(line, size, ", line 1: ", "128 KiB");
	free(line);
}

TAP_TEST(envfile_put_before__no_file)
{
	const char *names[] = {"/tmp", "/no/such/file"};
	struct words files = {names, 1};
	char **env = calloc(1, sizeof(*env));

	must(env);
	ok(envfile_put_before(&env, &files, why, sizeof(why)) < 0);
	okf(strstr(why, "--env-file /tmp: ") && strstr(why, "; "), "%s", why);
	files.v = names + 1;
	is_int(envfile_put_before(&env, &files, why, sizeof(why)), -EINVAL);
	okf(strstr(why, "--env-file /no/such/file: No such file"), "%s", why);
	files.n = 0;
	is_int(envfile_put_before(&env, &files, why, sizeof(why)), 0);
	fields_texts_free(env);
}

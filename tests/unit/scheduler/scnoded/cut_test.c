// SPDX-License-Identifier: BSD-3-Clause
/*
 * cut: files of a user, one of which is other than its image says. Run by root it becomes the user.
 */
#include "scheduler/scnoded/cut.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/harness/tap.h"

#define OWNER 65534
#define WRITTEN "0123456789" /* at the time of the image */

static struct {
	char directory[64], tmp[80], path[2][80];
	struct hostfile_writable writables[2];
	struct hostfile about;
} t;

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	must(file);
	fputs(text, file);
	fclose(file);
	if (!geteuid())
		is_int(chown(path, OWNER, OWNER), 0);
}

/* As the image has it. */
static void note(size_t i, const char *path)
{
	struct stat st;

	must(is_int(stat(path, &st), 0));
	snprintf(t.path[i], sizeof(t.path[i]), "%s", path);
	t.writables[i] = (struct hostfile_writable){.path = t.path[i],
						    .device = st.st_dev,
						    .inode = st.st_ino,
						    .size = (uint64_t)st.st_size};
	if (t.about.n_writables <= i)
		t.about.n_writables = i + 1;
}

static const char *below(const char *name)
{
	static char path[80];

	snprintf(path, sizeof(path), "%s/%s", t.directory, name);
	return path;
}

static void begin(void)
{
	memset(&t, 0, sizeof(t));
	strcpy(t.directory, "/tmp/cut-XXXXXX");
	must(mkdtemp(t.directory));
	if (!geteuid())
		is_int(chown(t.directory, OWNER, OWNER), 0);
	snprintf(t.tmp, sizeof(t.tmp), "%s/tmp", t.directory);
	is_int(mkdir(t.tmp, 0700), 0);
	t.about = (struct hostfile){.job = 7, .round = 3, .writables = t.writables};
	strcpy(t.about.host, "n1");
	write_file(below("a"), WRITTEN);
	write_file(below("b"), WRITTEN);
	note(0, below("a"));
	note(1, below("b"));
}

static void finish(void)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf %s", t.directory);
	is_int(system(command), 0);
}

/* Free the text. */
static char *cut_as(const char *host, uid_t uid)
{
	char *text = cut_files(&t.about, host, t.tmp, uid, uid);

	setfsuid(geteuid());
	setfsgid(getegid());
	return text;
}

static void cuts(const char *host)
{
	char *text = cut_as(host, OWNER);

	is_str(text, NULL);
	free(text);
}

static void refuses(const char *name, const char *what)
{
	char *text = cut_as("n1", OWNER), want[300];

	snprintf(want, sizeof(want),
		 "host n1: job 7 can't be restored from checkpoint 3, as its file %s is %s",
		 below(name), what);
	is_str(text, want);
	free(text);
}

static void has(const char *name, const char *want)
{
	char got[64] = "";
	FILE *file = fopen(*name == '/' ? name : below(name), "r");

	must(file);
	got[fread(got, 1, sizeof(got) - 1, file)] = 0;
	fclose(file);
	is_str(got, want);
}

#define SMALLER "smaller than it was then; take an older checkpoint"
#define ANOTHER "another one than it was then; put the old one there, or take another checkpoint"

TAP_TEST(cut_files__those_that_have_grown)
{
	begin();
	write_file(below("a"), WRITTEN "and more");
	cuts("n1");
	has("a", WRITTEN);
	has("b", WRITTEN);
	/* Once more, as when the restart is tried again. */
	cuts("n1");
	has("a", WRITTEN);
	t.writables[1].size = 0;
	cuts("n1");
	has("b", "");
	finish();
}

TAP_TEST(cut_files__none)
{
	begin();
	t.about = (struct hostfile){.job = 7};
	cuts("n1");
	finish();
}

TAP_TEST(cut_files__smaller)
{
	begin();
	write_file(below("b"), "01234");
	refuses("b", SMALLER);
	has("b", "01234");
	finish();
}

/* Nothing is lost of other files when the restart is refused. */
TAP_TEST(cut_files__another_one_is_refused)
{
	begin();
	write_file(below("a"), WRITTEN "and more");
	write_file(below("b"), "01234");
	refuses("b", SMALLER);
	has("a", WRITTEN "and more");
	finish();
}

TAP_TEST(cut_files__replaced)
{
	begin();
	write_file(below("new"), WRITTEN "and more");
	is_int(rename(below("new"), t.path[1]), 0);
	refuses("b", ANOTHER);
	has("b", WRITTEN "and more");
	finish();
}

/* CRIU tells whether it needs it. */
TAP_TEST(cut_files__gone)
{
	begin();
	write_file(below("b"), WRITTEN "and more");
	is_int(unlink(t.path[0]), 0);
	cuts("n1");
	has("b", WRITTEN);
	finish();
}

TAP_TEST(cut_files__a_link_in_its_place)
{
	begin();
	write_file(below("b"), WRITTEN "and more");
	t.about.n_writables = 1;
	is_int(unlink(t.path[0]), 0);
	is_int(symlink(t.path[1], t.path[0]), 0);
	cuts("n1");
	has("b", WRITTEN "and more");
	finish();
}

/* Neither waits for a reader. */
TAP_TEST(cut_files__a_pipe_or_directory_in_its_place)
{
	begin();
	write_file(below("b"), WRITTEN "and more");
	is_int(unlink(t.path[0]), 0);
	is_int(mkfifo(t.path[0], 0666), 0);
	cuts("n1");
	has("b", WRITTEN);
	is_int(unlink(t.path[0]), 0);
	is_int(mkdir(t.path[0], 0777), 0);
	cuts("n1");
	finish();
}

TAP_TEST(cut_files__of_the_job_itself)
{
	char shm[] = "/dev/shm/cut-XXXXXX", path[100];
	int fd = mkstemp(shm);

	begin();
	must(fd >= 0);
	close(fd);
	snprintf(path, sizeof(path), "%s/x", t.tmp);
	write_file(path, WRITTEN);
	write_file(shm, WRITTEN);
	note(0, path);
	note(1, shm);
	write_file(path, WRITTEN "and more");
	write_file(shm, "0");
	cuts("n1");
	has(path, WRITTEN "and more");
	has(shm, "0");
	unlink(shm);
	/* Another name that begins the same. */
	snprintf(path, sizeof(path), "%s2", t.tmp);
	write_file(path, WRITTEN);
	note(0, path);
	t.about.n_writables = 1;
	write_file(path, WRITTEN "and more");
	cuts("n1");
	has(path, WRITTEN);
	finish();
}

/* Of a file system that hosts share, each has its own number. */
TAP_TEST(cut_files__another_device)
{
	begin();
	t.writables[1].device++;
	write_file(below("b"), WRITTEN "and more");
	refuses("b", ANOTHER);
	has("b", WRITTEN "and more");
	cuts("n2");
	has("b", WRITTEN);
	finish();
}

TAP_TEST(cut_files__of_another_user)
{
	begin();
	if (geteuid()) {
		tap_skip("only root can become another user");
		finish();
		return;
	}
	write_file(below("a"), WRITTEN "and more");
	write_file(below("b"), WRITTEN "and more");
	is_int(chown(t.path[0], 0, 0), 0);
	/* It may be read, and is no file of the user's to write to. */
	is_int(chmod(t.path[0], 0644), 0);
	cuts("n1");
	has("a", WRITTEN "and more");
	has("b", WRITTEN);
	/* A group that only root is in counts as little. */
	is_int(chmod(t.path[0], 0664), 0);
	cuts("n1");
	has("a", WRITTEN "and more");
	finish();
}

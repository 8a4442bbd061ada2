// SPDX-License-Identifier: BSD-3-Clause
/* Tests of directories that others have made, or may write to. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pmcore/util/owndir.h"
#include "tests/harness/tap.h"

static char why[512];
static char root[64]; /* of one test */
static char path[96]; /* below it */

static void begin(void)
{
	strcpy(root, "/tmp/owndir-XXXXXX");
	ok(mkdtemp(root) != NULL);
	snprintf(path, sizeof(path), "%s/state", root);
	why[0] = 0;
}

static void end(void)
{
	unlink(path);
	rmdir(path);
	is_int(rmdir(root), 0);
}

static int open_it(const char *at)
{
	return owndir_open(at, 0700, "state directory", "--state", why, sizeof(why));
}

static bool names(const char *what)
{
	return strstr(why, path) && strstr(why, what) && strstr(why, "--state");
}

TAP_TEST(owndir_open__missing)
{
	struct stat st;
	mode_t mask = umask(0);

	begin();
	is_int(open_it(path), 0);
	is_int(stat(path, &st), 0);
	is_int(st.st_mode & 07777, 0700);
	is_int(open_it(path), 0); /* it is there now */
	umask(mask);
	end();
	begin();
	strcat(path, "/below");
	is_int(open_it(path), -ENOENT);
	ok(names("No such file"));
	rmdir(root);
}

TAP_TEST(owndir_open__group_or_others_may_write)
{
	begin();
	is_int(mkdir(path, 0700), 0);
	is_int(chmod(path, 0755), 0);
	is_int(open_it(path), 0); /* those who may read it see names only */
	is_int(chmod(path, 0770), 0);
	is_int(open_it(path), -EPERM);
	ok(names("0770"));
	is_int(chmod(path, 01777), 0);
	is_int(open_it(path), -EPERM);
	ok(names("1777"));
	end();
}

TAP_TEST(owndir_open__links_and_files)
{
	char target[96], slash[100];

	begin();
	snprintf(target, sizeof(target), "%s/target", root);
	snprintf(slash, sizeof(slash), "%s//", path);
	is_int(mkdir(target, 0700), 0);
	is_int(symlink(target, path), 0);
	is_int(open_it(path), -EPERM);
	ok(names("symbolic link"));
	is_int(open_it(slash), -EPERM);
	ok(names("symbolic link"));
	is_int(unlink(path), 0);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	is_int(open_it(path), -EPERM);
	ok(names("no directory"));
	rmdir(target);
	end();
}

TAP_TEST(owndir_open__of_another_user)
{
	if (geteuid() != 0) {
		tap_skip("needs root to give a directory away");
		return;
	}
	begin();
	is_int(mkdir(path, 0700), 0);
	is_int(chown(path, 65534, 65534), 0);
	is_int(open_it(path), -EPERM);
	ok(names("65534"));
	end();
}

TAP_TEST(owndir_file__only_a_regular_one_of_ours)
{
	char file[128], other[128];
	struct stat st;

	begin();
	is_int(mkdir(path, 0700), 0);
	snprintf(file, sizeof(file), "%s/journal", path);
	snprintf(other, sizeof(other), "%s/other", path);
	is_int(owndir_file(path, "journal", why, sizeof(why)), 0); /* not there */
	close(open(file, O_CREAT | O_WRONLY, 0600));
	is_int(chmod(file, 0644), 0);
	is_int(owndir_file(path, "journal", why, sizeof(why)), 0);
	is_int(stat(file, &st), 0);
	is_int(st.st_mode & 07777, 0600);
	is_int(link(file, other), 0);
	is_int(owndir_file(path, "journal", why, sizeof(why)), -EPERM);
	ok(strstr(why, file) && strstr(why, "remove"));
	unlink(other);
	if (!geteuid()) {
		is_int(chown(file, 65534, 65534), 0);
		is_int(owndir_file(path, "journal", why, sizeof(why)), -EPERM);
	}
	unlink(file);
	is_int(symlink("/etc/passwd", file), 0);
	is_int(owndir_file(path, "journal", why, sizeof(why)), -EPERM);
	unlink(file);
	is_int(mkfifo(file, 0600), 0);
	is_int(owndir_file(path, "journal", why, sizeof(why)), -EPERM);
	unlink(file);
	end();
}

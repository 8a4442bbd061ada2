// SPDX-License-Identifier: BSD-3-Clause
/*
 * program: every way in which a program may be missing or unfit has its own sentence and its exit
 * code.
 */
#include "scheduler/proto/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/harness/tap.h"

static char dir[64], why[1024];

static void put(const char *name, const void *bytes, size_t size, mode_t mode)
{
	char path[200];
	int fd;

	if (!*dir) {
		snprintf(dir, sizeof(dir), "/tmp/program_test.XXXXXX");
		must(mkdtemp(dir));
	}
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
	must(fd >= 0);
	is_int(write(fd, bytes, size), (long long)size);
	close(fd);
	is_int(chmod(path, mode), 0);
}

static void put_text(const char *name, const char *text, mode_t mode)
{
	put(name, text, strlen(text), mode);
}

/* Exit code; the sentence is in why. */
static int find(const char *name, const char *path)
{
	char *at = NULL;
	int code;

	strcpy(why, "");
	code = program_find(name, path, *dir ? dir : "/", "h1", &at, why, sizeof(why));
	ok((code == 0) == (at != NULL));
	free(at);
	return code;
}

__attribute__((destructor)) static void remove_all(void)
{
	char command[200];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (*dir && system(command))
		fprintf(stderr, "%s is left\n", dir);
}

TAP_TEST(program_find__in_path)
{
	char *at = NULL;

	is_int(program_find("sh", "/nonexistent:/bin", "/", "h1", &at, why, sizeof(why)), 0);
	is_str(at, "/bin/sh");
	free(at);
	is_int(find("sh", NULL), 0);
	is_int(find("no-such-program", "/bin"), PROGRAM_NOT_FOUND);
	ok(strstr(why, "no-such-program, host h1"));
	ok(strstr(why, "PATH"));
	is_int(find("", "/bin"), PROGRAM_NOT_FOUND);
}

TAP_TEST(program_find__relative_to_the_job)
{
	char *at = NULL, want[200];

	put_text("run", "#!/bin/sh\n", 0755);
	snprintf(want, sizeof(want), "%s/./run", dir);
	is_int(program_find("./run", NULL, dir, "h1", &at, why, sizeof(why)), 0);
	is_str(at, want);
	free(at);
	/* An empty word of PATH is the directory of the job. */
	is_int(find("run", ":/bin"), 0);
	is_int(find("./not-there", NULL), PROGRAM_NOT_FOUND);
	ok(strstr(why, "copy it there"));
}

TAP_TEST(program_find__not_executable)
{
	put_text("plain", "#!/bin/sh\n", 0644);
	is_int(find("./plain", NULL), PROGRAM_NOT_EXECUTABLE);
	ok(strstr(why, "chmod +x"));
	is_int(find("plain", dir), PROGRAM_NOT_EXECUTABLE);
	is_int(find("/tmp", NULL), PROGRAM_NOT_EXECUTABLE);
	ok(strstr(why, "directory"));
	put_text("junk", "what is this\n", 0755);
	is_int(find("./junk", NULL), PROGRAM_NOT_EXECUTABLE);
	ok(strstr(why, "#!"));
	put_text("empty", "", 0755);
	is_int(find("./empty", NULL), PROGRAM_NOT_EXECUTABLE);
	ok(strstr(why, "empty"));
}

TAP_TEST(program_find__script_without_interpreter)
{
	put_text("lost", "#! /usr/bin/no-such-shell -x\n", 0755);
	is_int(find("./lost", NULL), PROGRAM_NOT_FOUND);
	ok(strstr(why, "/usr/bin/no-such-shell"));
	put_text("dos", "#!/bin/sh\r\n", 0755);
	is_int(find("./dos", NULL), PROGRAM_NOT_EXECUTABLE);
	ok(strstr(why, "Unix line ends"));
	put_text("nobody", "#!\n", 0755);
	is_int(find("./nobody", NULL), PROGRAM_NOT_EXECUTABLE);
}

TAP_TEST(program_find__elf_of_another_machine)
{
	Elf64_Ehdr elf = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			  .e_type = ET_EXEC,
			  .e_machine = EM_S390};

	put("foreign", &elf, sizeof(elf), 0755);
	is_int(find("./foreign", NULL), PROGRAM_NOT_EXECUTABLE);
	ok(strstr(why, "built for s390"));
	put("cut", &elf, 20, 0755);
	is_int(find("./cut", NULL), PROGRAM_NOT_EXECUTABLE);
	ok(strstr(why, "cut off"));
}

TAP_TEST(program_find__elf_without_loader)
{
	static const char loader[] = "/lib/no-such-loader.so";
	struct {
		Elf64_Ehdr elf;
		Elf64_Phdr part;
		char loader[sizeof(loader)];
	} file;
	int fd = open("/bin/sh", O_RDONLY);

	must(fd >= 0);
	memset(&file, 0, sizeof(file));
	is_int(read(fd, &file.elf, sizeof(file.elf)), sizeof(file.elf));
	close(fd);
	file.elf.e_phoff = sizeof(file.elf);
	file.elf.e_phentsize = sizeof(file.part);
	file.elf.e_phnum = 1;
	file.part.p_type = PT_INTERP;
	file.part.p_offset = sizeof(file.elf) + sizeof(file.part);
	file.part.p_filesz = sizeof(loader);
	memcpy(file.loader, loader, sizeof(loader));
	put("orphan", &file, sizeof(file), 0755);
	is_int(find("./orphan", NULL), PROGRAM_NOT_FOUND);
	ok(strstr(why, loader));
}

TAP_TEST(program_failed__codes)
{
	is_int(program_failed("a", "h1", ENOENT, why, sizeof(why)), PROGRAM_NOT_FOUND);
	is_int(program_failed("a", "h1", ENOEXEC, why, sizeof(why)), PROGRAM_NOT_EXECUTABLE);
	is_str(why, "a, host h1: Exec format error");
}

// SPDX-License-Identifier: BSD-3-Clause
/*
 * program - search in PATH, and a look at the first bytes: ELF for this machine with an interpreter
 * that is there, or a script whose interpreter is there.
 */
#include "scheduler/proto/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define USUAL_PATH "/usr/local/bin:/usr/bin:/bin"

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#elif defined(__powerpc64__)
#define OUR_MACHINE EM_PPC64
#elif defined(__riscv)
#define OUR_MACHINE EM_RISCV
#else
#define OUR_MACHINE EM_NONE /* not judged */
#endif

struct found {
	const char *name, *host;
	char *why;
	size_t why_size;
};

static int say(const struct found *found, int code, const char *what)
{
	snprintf(found->why, found->why_size, "%s, host %s: %s", found->name, found->host, what);
	return code;
}

static const char *machine_name(unsigned machine)
{
	switch (machine) {
	case EM_386:
		return "32-bit x86";
	case EM_X86_64:
		return "x86-64";
	case EM_ARM:
		return "32-bit ARM";
	case EM_AARCH64:
		return "64-bit ARM";
	case EM_PPC64:
		return "64-bit PowerPC";
	case EM_RISCV:
		return "RISC-V";
	case EM_S390:
		return "s390";
	default:
		return "another processor";
	}
}

static int judge_interpreter(const struct found *found, const char *interpreter)
{
	char text[600];

	if (access(interpreter, X_OK) == 0)
		return 0;
	snprintf(text, sizeof(text), "its interpreter %s: %s; install it there", interpreter,
		 strerror(errno));
	return say(found, errno == ENOENT ? PROGRAM_NOT_FOUND : PROGRAM_NOT_EXECUTABLE, text);
}

static int judge_elf(const struct found *found, int fd, const char *head, size_t size)
{
	Elf64_Ehdr elf;
	Elf64_Phdr part;
	char text[200], interpreter[512];

	if (size < sizeof(elf))
		return say(found, PROGRAM_NOT_EXECUTABLE, "the file is cut off; copy it again");
	memcpy(&elf, head, sizeof(elf));
	if (OUR_MACHINE == EM_NONE)
		return 0;
	/* 32-bit programs of the same family run on many kernels: the kernel decides. */
	if (elf.e_ident[EI_CLASS] != ELFCLASS64 && elf.e_machine == EM_386 &&
	    OUR_MACHINE == EM_X86_64)
		return 0;
	if (elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_machine != OUR_MACHINE) {
		snprintf(text, sizeof(text), "it was built for %s, this host is %s; build it there",
			 machine_name(elf.e_machine), machine_name(OUR_MACHINE));
		return say(found, PROGRAM_NOT_EXECUTABLE, text);
	}
	if (elf.e_type != ET_EXEC && elf.e_type != ET_DYN)
		return say(found, PROGRAM_NOT_EXECUTABLE, "it is an object file; link it");
	for (unsigned i = 0; i < elf.e_phnum && i < 128; i++) {
		if (pread(fd, &part, sizeof(part),
			  (off_t)(elf.e_phoff + i * (uint64_t)elf.e_phentsize)) !=
		    (ssize_t)sizeof(part))
			return say(found, PROGRAM_NOT_EXECUTABLE,
				   "the file is cut off; copy it again");
		if (part.p_type != PT_INTERP || part.p_filesz >= sizeof(interpreter))
			continue;
		if (pread(fd, interpreter, part.p_filesz, (off_t)part.p_offset) !=
		    (ssize_t)part.p_filesz)
			return say(found, PROGRAM_NOT_EXECUTABLE,
				   "the file is cut off; copy it again");
		interpreter[part.p_filesz] = '\0';
		return judge_interpreter(found, interpreter);
	}
	return 0;
}

static int judge_script(const struct found *found, char *line)
{
	size_t length;

	line += 2 + strspn(line + 2, " \t");
	length = strcspn(line, " \t\r\n");
	/* "#!/bin/sh\r": the kernel looks for a file whose name ends in a carriage return. */
	if (line[length] == '\r')
		return say(
			found, PROGRAM_NOT_EXECUTABLE,
			"its first line ends in a carriage return; store it with Unix line ends");
	line[length] = '\0';
	if (!length)
		return say(found, PROGRAM_NOT_EXECUTABLE, "its #! line names no interpreter");
	return judge_interpreter(found, line);
}

static int judge(const struct found *found, const char *path)
{
	char head[512];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;
	int code = 0;

	/* Execute permission alone is enough to run it. */
	if (fd < 0)
		return 0;
	n = read(fd, head, sizeof(head) - 1);
	head[n > 0 ? n : 0] = '\0';
	if (n <= 0)
		code = say(found, PROGRAM_NOT_EXECUTABLE,
			   n ? strerror(errno) : "the file is empty");
	else if (n >= SELFMAG && !memcmp(head, ELFMAG, SELFMAG))
		code = judge_elf(found, fd, head, (size_t)n);
	else if (!strncmp(head, "#!", 2))
		code = judge_script(found, head);
	else
		code = say(found, PROGRAM_NOT_EXECUTABLE,
			   "it is neither a program nor a script that begins with #!");
	close(fd);
	return code;
}

/* 1 = there and may be run; 0 = not there; else -errno. */
static int look(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -EACCES;
	return access(path, X_OK) ? -errno : 1;
}

static char *join(const char *cwd, const char *dir, size_t dir_length, const char *name)
{
	char *text = NULL;
	bool is_absolute = dir_length ? dir[0] == '/' : false;

	if (asprintf(&text, "%s%s%.*s%s%s", is_absolute ? "" : cwd, is_absolute ? "" : "/",
		     (int)dir_length, dir, dir_length ? "/" : "", name) < 0)
		return NULL;
	return text;
}

static int refuse(const struct found *found, int error)
{
	char text[200];

	if (error == EISDIR)
		return say(found, PROGRAM_NOT_EXECUTABLE, "it is a directory");
	snprintf(text, sizeof(text), "it may not be executed: %s%s", strerror(error),
		 error == EACCES ? "; chmod +x it" : "");
	return say(found, PROGRAM_NOT_EXECUTABLE, text);
}

static int search(const struct found *found, const char *path, const char *cwd, char **ret)
{
	int seen = 0;

	for (;;) {
		size_t length = strcspn(path, ":");
		char *candidate = join(cwd, path, length, found->name);
		int rc = candidate ? look(candidate) : -ENOMEM;

		if (rc == 1) {
			*ret = candidate;
			return 0;
		}
		free(candidate);
		if (rc && rc != -EISDIR && !seen)
			seen = -rc;
		if (!path[length])
			break;
		path += length + 1;
	}
	if (seen)
		return refuse(found, seen);
	return say(
		found, PROGRAM_NOT_FOUND,
		"there is no such program in PATH; give its path, for instance with ./ in front");
}

int program_find(const char *name, const char *path, const char *cwd, const char *host, char **ret,
		 char *why, size_t why_size)
{
	struct found found = {name, host, why, why_size};
	char *at = NULL;
	int code;

	if (!*name)
		return say(&found, PROGRAM_NOT_FOUND, "the name of the program is empty");
	if (!strchr(name, '/')) {
		code = search(&found, path ? path : USUAL_PATH, cwd, &at);
	} else {
		at = *name == '/' ? strdup(name) : join(cwd, "", 0, name);
		code = at ? look(at) : -ENOMEM;
		if (code == 0)
			code = say(&found, PROGRAM_NOT_FOUND,
				   "there is no such file on this host; copy it there, or give the "
				   "right path");
		else
			code = code == 1 ? 0 : refuse(&found, -code);
	}
	if (!code)
		code = judge(&found, at);
	if (code)
		free(at);
	else
		*ret = at;
	return code;
}

int program_failed(const char *name, const char *host, int error, char *why, size_t why_size)
{
	struct found found = {name, host, why, why_size};
	bool is_missing = error == ENOENT || error == ENOTDIR;

	if (error == E2BIG)
		return say(&found, PROGRAM_NOT_EXECUTABLE,
			   "its environment and arguments are too large; leave variables out with "
			   "--no-env, or raise the limit of the stack (ulimit -s)");
	return say(&found, is_missing ? PROGRAM_NOT_FOUND : PROGRAM_NOT_EXECUTABLE,
		   strerror(error));
}

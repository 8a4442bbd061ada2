// SPDX-License-Identifier: BSD-3-Clause
/* See proc(5) and the kernel's Documentation/filesystems/proc.rst. */
#include "scheduler/scnoded/holdings/procline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#define PROTOCOLS 255

/*
 * The number at *@at, at most @max, and goes behind it. The functions of scanf() do not tell of
 * numbers that are too large.
 */
static bool take_number(const char **at, int base, uint64_t max, uint64_t *ret)
{
	unsigned long long value;
	char *end;

	while (**at == ' ' || **at == '\t')
		(*at)++;
	if (!**at || !strchr("0123456789abcdefABCDEF", **at))
		return false;
	errno = 0;
	value = strtoull(*at, &end, base);
	if (end == *at || errno || value > max)
		return false;
	*at = end;
	*ret = value;
	return true;
}

static bool take_letter(const char **at, char letter)
{
	if (**at != letter)
		return false;
	(*at)++;
	return true;
}

static bool take_pid(const char **at, pid_t *ret)
{
	uint64_t value;

	if (!take_number(at, 10, INT32_MAX, &value))
		return false;
	*ret = (pid_t)value;
	return true;
}

/* 4711 (a name) with) parentheses) S 1 4711 4711 34816 ... */
bool procline_stat(const char *line, struct procline_stat *ret)
{
	const char *open = strchr(line, '('), *close = strrchr(line, ')'), *at;
	struct procline_stat s = {0};
	pid_t group;
	size_t size;
	uint64_t terminal;

	if (!open || !close || close < open || close[1] != ' ' || !close[2])
		return false;
	size = (size_t)(close - open - 1);
	if (size >= sizeof(s.name))
		size = sizeof(s.name) - 1;
	memcpy(s.name, open + 1, size);
	s.state = close[2];
	at = close + 3;
	if (!take_pid(&at, &s.parent) || !take_pid(&at, &group) || !take_pid(&at, &s.session))
		return false;
	/* Printed as a signed number; device numbers of terminals have no sign. */
	s.terminal = take_number(&at, 10, INT32_MAX, &terminal) ? (int)terminal : 0;
	*ret = s;
	return true;
}

/* A name can't begin a line: the kernel writes the end of a line in it as \n. */
static const char *find_field(const char *text, const char *field)
{
	size_t size = strlen(field);

	while (text && strncmp(text, field, size) != 0) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return text ? text + size : NULL;
}

bool procline_status(const char *text, struct procline_status *ret)
{
	const char *state = find_field(text, "State:\t"), *tracer = find_field(text, "TracerPid:");
	struct procline_status s;

	if (!state || !*state || !tracer || !take_pid(&tracer, &s.tracer))
		return false;
	s.state = *state;
	*ret = s;
	return true;
}

static const char *behind(const char *line, const char *field)
{
	size_t size = strlen(field);

	return strncmp(line, field, size) ? NULL : line + size;
}

void procline_fdinfo(const char *line, struct procline_fdinfo *sum)
{
	const char *at;
	uint64_t value;

	if ((at = behind(line, "pos:")) && take_number(&at, 10, UINT64_MAX, &value))
		sum->offset = value;
	else if ((at = behind(line, "flags:")) && take_number(&at, 8, UINT32_MAX, &value))
		sum->flags = (uint32_t)value;
	else if ((at = behind(line, "mnt_id:")) && take_number(&at, 10, INT32_MAX, &value))
		sum->mount = (int)value;
	else if (behind(line, "inotify wd:"))
		sum->watches++;
	else if (behind(line, "lock:"))
		sum->is_locked = true;
	else if ((at = behind(line, "Pid:")))
		sum->target = !take_number(&at, 10, INT32_MAX, &value) ? -1
			      : value                                  ? (pid_t)value
								       : PROCLINE_ELSEWHERE;
}

/* The kernel's own form of a device number, not that of makedev(). */
static uint64_t device_of(uint64_t number)
{
	return makedev((unsigned)(number >> 20), (unsigned)(number & 0xfffff));
}

/* tfd:        5 events:       19 data:                5  pos:0 ino:61af sdev:7 */
bool procline_watch(const char *line, struct procline_watch *ret)
{
	const char *at = behind(line, "tfd:"), *inode = strstr(line, " ino:"),
		   *device = strstr(line, " sdev:");
	uint64_t target, number, file;

	if (!at || !inode || !device)
		return false;
	inode += strlen(" ino:");
	device += strlen(" sdev:");
	if (!take_number(&at, 10, INT32_MAX, &target) ||
	    !take_number(&inode, 16, UINT64_MAX, &file) ||
	    !take_number(&device, 16, UINT32_MAX, &number))
		return false;
	*ret = (struct procline_watch){
		.target = (int)target, .device = device_of(number), .inode = file};
	return true;
}

/* The kernel writes the end of a line in a path as \012, and nothing else so. */
static void unescape(char *path)
{
	char *to = path;

	for (const char *from = path; *from; to++) {
		bool is_escaped = !strncmp(from, "\\012", 4);

		*to = is_escaped ? '\n' : *from;
		from += is_escaped ? 4 : 1;
	}
	*to = 0;
}

/* 7f1c2000-7f1c3000 rw-s 00001000 fd:01 123456      /a path (deleted) */
bool procline_mapping(char *line, struct procline_mapping *ret)
{
	struct procline_mapping m = {0};
	uint64_t offset, major, minor;
	const char *at = line;
	size_t end = strcspn(line, "\n");

	line[end] = 0;
	if (!take_number(&at, 16, UINT64_MAX, &m.start) || !take_letter(&at, '-') ||
	    !take_number(&at, 16, UINT64_MAX, &m.end) || m.end <= m.start ||
	    !take_letter(&at, ' ') || strlen(at) < 5 || at[4] != ' ')
		return false;
	m.is_writable = at[1] == 'w';
	m.is_shared = at[3] == 's';
	at += 5;
	if (!take_number(&at, 16, UINT64_MAX, &offset) || !take_letter(&at, ' ') ||
	    !take_number(&at, 16, UINT32_MAX, &major) || !take_letter(&at, ':') ||
	    !take_number(&at, 16, UINT32_MAX, &minor) || !take_letter(&at, ' ') ||
	    !take_number(&at, 10, UINT64_MAX, &m.inode))
		return false;
	m.device = makedev((unsigned)major, (unsigned)minor);
	m.name = line + (at - line) + strspn(at, " ");
	unescape(m.name);
	*ret = m;
	return true;
}

/* 36 35 98:0 /root /place rw,noatime shared:1 - ext3 /dev/root rw */
bool procline_mount(const char *line, struct procline_mount *ret)
{
	const char *dash = strstr(line, " - "), *at = line;
	uint64_t id;

	/* Spaces in paths are written as \040, so this is no part of one. */
	if (!dash || !take_number(&at, 10, INT32_MAX, &id) || *at != ' ')
		return false;
	*ret = (struct procline_mount){.id = (int)id, .is_queue = behind(dash, " - mqueue ")};
	return true;
}

/* sk Eth Pid Groups Rmem Wmem Dump Locks Drops Inode; a process number may be negative. */
bool procline_netlink(const char *line, struct procline_netlink *ret)
{
	uint64_t pointer, protocol, groups, unread, wmem, dump, locks, drops, inode;
	const char *at = line;

	if (!take_number(&at, 16, UINT64_MAX, &pointer) ||
	    !take_number(&at, 10, PROTOCOLS, &protocol))
		return false;
	at += strspn(at, " -");
	at += strspn(at, "0123456789");
	if (!take_number(&at, 16, UINT32_MAX, &groups) ||
	    !take_number(&at, 10, UINT32_MAX, &unread) ||
	    !take_number(&at, 10, UINT32_MAX, &wmem) || !take_number(&at, 10, UINT64_MAX, &dump) ||
	    !take_number(&at, 10, UINT64_MAX, &locks) ||
	    !take_number(&at, 10, UINT64_MAX, &drops) || !take_number(&at, 10, UINT64_MAX, &inode))
		return false;
	*ret = (struct procline_netlink){
		.protocol = (uint8_t)protocol, .unread = (uint32_t)unread, .inode = inode};
	return true;
}

uint64_t procline_inode(const char *name, const char *kind)
{
	const char *at = behind(name, kind);
	uint64_t inode;

	if (!at || !take_letter(&at, ':') || !take_letter(&at, '[') ||
	    !take_number(&at, 10, UINT64_MAX, &inode) || strcmp(at, "]") != 0)
		return 0;
	return inode;
}

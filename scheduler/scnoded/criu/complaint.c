// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/criu/complaint.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define LOG_BYTES 65536 /* with -v2 it has errors and warnings only */
#define ERROR "Error ("

struct line {
	const char *text;
	size_t n;
};

/* An error for CRIU only: it goes on with fewer descriptors, where root may not raise the limit. */
static bool is_harmless(struct line line)
{
	static const char text[] = "Can't setup RLIMIT_NOFILE for self";

	return memmem(line.text, line.n, text, strlen(text));
}

/* "(00.01) Error (criu/files.c:12): text" without what stands before the text. */
static struct line strip(struct line line)
{
	const char *at = memmem(line.text, line.n, ERROR, strlen(ERROR));
	const char *text = at ? memmem(at, line.n - (size_t)(at - line.text), "): ", 3) : NULL;

	if (!text)
		return line;
	text += 3;
	return (struct line){text, line.n - (size_t)(text - line.text)};
}

static void copy(struct line line, char ret[COMPLAINT_MAX])
{
	size_t n = 0;

	for (; line.n && (line.text[0] == ' ' || line.text[0] == '\t'); line.text++)
		line.n--;
	for (; n < line.n && n < COMPLAINT_MAX - 1; n++)
		ret[n] = line.text[n] >= ' ' && line.text[n] <= '~' ? line.text[n] : '?';
	ret[n] = 0;
}

void complaint_find(const char *log, char ret[COMPLAINT_MAX])
{
	struct line last = {"", 0}, error = {"", 0};
	const char *next;

	for (const char *at = log; at; at = next ? next + 1 : NULL) {
		struct line line = {at, strlen(at)};

		next = strchr(at, '\n');
		if (next)
			line.n = (size_t)(next - at);
		if (!line.n || is_harmless(line))
			continue;
		last = line;
		if (!error.n && memmem(line.text, line.n, ERROR, strlen(ERROR)))
			error = line;
	}
	copy(strip(error.n ? error : last), ret);
}

void complaint_read(int dir, const char *name, char ret[COMPLAINT_MAX])
{
	static char log[LOG_BYTES + 1];
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n;

	ret[0] = 0;
	if (fd < 0)
		return;
	n = read(fd, log, LOG_BYTES);
	close(fd);
	if (n <= 0)
		return;
	log[n] = 0;
	complaint_find(log, ret);
}

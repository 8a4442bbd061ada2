// SPDX-License-Identifier: BSD-3-Clause
/* store_identity - a name for the directory of all checkpoints, which no other one has. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scheduler/scnoded/store/store_inside.h"

#define NAME "identity"
#define DIGITS (STORE_IDENTITY_SIZE - 1)

static int draw(char ret[STORE_IDENTITY_SIZE])
{
	unsigned char bytes[DIGITS / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EAGAIN;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static int read_it(int top, char ret[STORE_IDENTITY_SIZE])
{
	int file = store_file(top, NAME);
	ssize_t n;

	if (file < 0)
		return file;
	/* One byte more than it may have. */
	n = read(file, ret, STORE_IDENTITY_SIZE);
	close(file);
	if (n < 0)
		return -errno;
	ret[n < DIGITS ? n : DIGITS] = 0;
	return n == DIGITS && strspn(ret, "0123456789abcdef") == DIGITS ? 0 : -EBADMSG;
}

/* Two hosts may do so at the same time: the first link counts. */
static int make(int top, const char *host)
{
	char identity[STORE_IDENTITY_SIZE], half[sizeof(NAME) + HOSTFILE_TEXT_MAX];
	int err = draw(identity);

	snprintf(half, sizeof(half), NAME ".%s", host);
	if (!err)
		err = store_write(top, half, identity, DIGITS);
	if (!err && linkat(top, half, top, NAME, 0) && errno != EEXIST)
		err = -errno;
	unlinkat(top, half, 0);
	return !err && fsync(top) ? -errno : err;
}

int store_identity(const char *directory, const char *host, char ret[STORE_IDENTITY_SIZE])
{
	int top, err;

	/* Its parents are somebody else's to make. */
	if (mkdir(directory, 0700) && errno != EEXIST)
		return -errno;
	top = store_top(directory);
	if (top < 0)
		return top;
	err = read_it(top, ret);
	if (err == -ENOENT) {
		err = make(top, host);
		if (!err)
			err = read_it(top, ret);
	}
	close(top);
	return err;
}

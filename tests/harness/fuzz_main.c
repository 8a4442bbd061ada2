// SPDX-License-Identifier: BSD-3-Clause
/*
 * Driver of a fuzz target without libFuzzer: replays the corpus, then mutates it for FUZZ_SECS
 * seconds (3 by default). Every input follows from the seed and the run's number alone. The input
 * that a sanitizer stops at is written to a file. Arguments are files to replay instead. Knows
 * nothing of what the target decodes.
 */
#include "tests/harness/tap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sanitizer/asan_interface.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__asan_default_options(void);

/* An assert or trap of the target ends in the death callback as well. */
const char *__asan_default_options(void)
{
	return "handle_abort=1:handle_sigill=1";
}

#define INPUT_MAX 16384 /* bytes of the largest input */
#define CORPUS_MAX 1024 /* files taken from the corpus */

/* One input. */
struct input {
	size_t len;              /* bytes used */
	uint8_t data[INPUT_MAX]; /* the bytes */
};

static struct input corpus[CORPUS_MAX]; /* what mutation starts from */
static size_t corpus_count;             /* inputs in it */
static char name[128];                  /* of the target, without _fuzz */
static char crash_path[512];            /* where a fatal input is written */
static struct input in_flight;          /* what the target is decoding */

/* The exact size on the heap, so that AddressSanitizer sees a read past the end. */
static void run_one(const struct input *in)
{
	uint8_t *copy = malloc(in->len ? in->len : 1);

	if (!copy)
		abort();
	memcpy(copy, in->data, in->len);
	LLVMFuzzerTestOneInput(copy, in->len);
	free(copy);
}

static int read_input(const char *path, struct input *ret)
{
	FILE *f = fopen(path, "rb");

	if (!f)
		return -errno;
	ret->len = fread(ret->data, 1, INPUT_MAX, f);
	fclose(f);
	return 0;
}

static void load_corpus(void)
{
	char dir[256], path[600];
	struct dirent *e;
	DIR *d;

	snprintf(dir, sizeof(dir), "tests/fuzz/corpus/%s", name);
	d = opendir(dir);
	while (d && (e = readdir(d)) && corpus_count < CORPUS_MAX) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (read_input(path, &corpus[corpus_count]) == 0)
			corpus_count++;
	}
	if (d)
		closedir(d);
	tap_diag("%zu inputs from %s", corpus_count, dir);
}

/* Called on every fatal report of a sanitizer and on the signal of a time limit. */
static void save_input(void)
{
	int fd = open(crash_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, in_flight.data, in_flight.len) != (ssize_t)in_flight.len)
		dprintf(2, "# cannot write %s\n", crash_path);
	else
		dprintf(2, "# the input is in %s; run again with this file as argument\n",
			crash_path);
	if (fd >= 0)
		close(fd);
}

static void on_time_limit(int sig)
{
	save_input();
	_exit(128 + sig);
}

static void watch_for_death(void)
{
	const char *build = getenv("PM_BUILD");

	snprintf(crash_path, sizeof(crash_path), "%s/fuzz-%s.input", build ? build : "/tmp", name);
	signal(SIGTERM, on_time_limit);
	__sanitizer_set_death_callback(save_input);
}

static void mutate_once(struct input *in, uint64_t *rng)
{
	static const uint8_t edges[] = {0x00, 0x01, 0x7f, 0x80, 0xff, 0x20, '"', '['};
	size_t at = in->len ? tap_rand(rng) % in->len : 0;
	size_t count = 1 + tap_rand(rng) % 8;

	switch (tap_rand(rng) % 6) {
	case 0: /* flip a bit */
		if (in->len)
			in->data[at] ^= 1u << (tap_rand(rng) % 8);
		break;
	case 1: /* an edge value */
		if (in->len)
			in->data[at] = edges[tap_rand(rng) % sizeof(edges)];
		break;
	case 2: /* any byte */
		if (in->len)
			in->data[at] = (uint8_t)tap_rand(rng);
		break;
	case 3: /* cut off the end */
		in->len = at;
		break;
	case 4: /* remove a few */
		if (count > in->len - at)
			count = in->len - at;
		memmove(in->data + at, in->data + at + count, in->len - at - count);
		in->len -= count;
		break;
	default: /* insert a few */
		if (in->len + count > INPUT_MAX)
			break;
		memmove(in->data + at + count, in->data + at, in->len - at);
		in->len += count;
		while (count--)
			in->data[at + count] = (uint8_t)tap_rand(rng);
	}
}

/* Input number run of this seed: a corpus input or random bytes, changed one to eight times. */
static void make_input(struct input *in, uint64_t seed, uint64_t run)
{
	uint64_t rng = seed ^ (run * 0xd1342543de82ef95ull);
	uint64_t changes = 1 + tap_rand(&rng) % 8;
	size_t i;

	if (corpus_count && tap_rand(&rng) % 8) {
		const struct input *from = &corpus[tap_rand(&rng) % corpus_count];

		in->len = from->len;
		memcpy(in->data, from->data, from->len);
	} else {
		in->len = tap_rand(&rng) % 256;
		for (i = 0; i < in->len; i++)
			in->data[i] = (uint8_t)tap_rand(&rng);
	}
	while (changes--)
		mutate_once(in, &rng);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void fuzz_for(double secs)
{
	uint64_t seed = tap_seed(), run = 0;
	double end = now_s() + secs;

	do {
		make_input(&in_flight, seed, run++);
		run_one(&in_flight);
	} while (run % 64 || now_s() < end);
	tap_diag("%llu mutated inputs", (unsigned long long)run);
}

static int replay_files(int argc, char **argv)
{
	static struct input in;
	int i, err;

	for (i = 1; i < argc; i++) {
		err = read_input(argv[i], &in);
		if (err) {
			fprintf(stderr, "%s: cannot read %s: %s\n", argv[0], argv[i],
				strerror(-err));
			return 2;
		}
		run_one(&in);
	}
	printf("1..%d\n", argc - 1);
	for (i = 1; i < argc; i++)
		printf("ok %d - %s\n", i, argv[i]);
	return 0;
}

int main(int argc, char **argv)
{
	const char *base = strrchr(argv[0], '/'), *secs = getenv("FUZZ_SECS");
	char *suffix;
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	snprintf(name, sizeof(name), "%s", base ? base + 1 : argv[0]);
	suffix = strstr(name, "_fuzz");
	if (suffix)
		*suffix = '\0';
	if (argc > 1)
		return replay_files(argc, argv);
	watch_for_death();
	load_corpus();
	for (i = 0; i < corpus_count; i++) {
		in_flight = corpus[i];
		run_one(&in_flight);
	}
	printf("ok 1 - corpus replayed without a fault\n");
	fuzz_for(secs ? atof(secs) : 3);
	printf("ok 2 - mutated inputs without a fault\n1..2\n");
	return 0;
}

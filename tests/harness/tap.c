// SPDX-License-Identifier: BSD-3-Clause
/*
 * Test registry, assertions and TAP output; see tap.h for how a test is written.
 * Owns the counts of the running test and the seed. Failures go to standard error, which prove
 * shows; the results go to standard output. Knows nothing of the code under test.
 */
#include "tests/harness/tap.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Failures printed per test; a broken loop must not fill the disk. */
#define TAP_MAX_SHOWN 20

static struct tap_case *first_case;
static struct tap_case **case_tail = &first_case;
static atomic_ulong checks;            /* assertions made by the running test */
static atomic_ulong failures;          /* those of them that did not hold */
static char skip_reason[256];          /* of the running test, empty when it runs */
static const struct tap_case *running; /* NULL between tests */
static bool seed_is_known;             /* whether seed has been chosen and printed */
static uint64_t seed;                  /* of this run */

void tap_register(struct tap_case *c)
{
	*case_tail = c;
	case_tail = &c->next;
}

/* Counts one assertion; true when it failed and there is still room to say so. */
static bool should_report(bool cond)
{
	unsigned long n;

	atomic_fetch_add_explicit(&checks, 1, memory_order_relaxed);
	if (cond)
		return false;
	n = atomic_fetch_add_explicit(&failures, 1, memory_order_relaxed);
	if (n == TAP_MAX_SHOWN)
		fprintf(stderr, "#   (more failures of this test are not shown)\n");
	return n < TAP_MAX_SHOWN;
}

bool tap_ok(const char *file, int line, const char *expr, bool cond)
{
	if (should_report(cond))
		fprintf(stderr, "#   %s:%d: failed: %s\n", file, line, expr);
	return cond;
}

bool tap_okf(const char *file, int line, bool cond, const char *fmt, ...)
{
	va_list ap;
	char text[512];

	if (!should_report(cond))
		return cond;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "#   %s:%d: %s\n", file, line, text);
	return cond;
}

bool tap_is_int(const char *file, int line, const char *expr, long long got, long long want)
{
	bool same = got == want;

	if (should_report(same))
		fprintf(stderr, "#   %s:%d: %s is %lld (0x%llx), expected %lld (0x%llx)\n", file,
			line, expr, got, got, want, want);
	return same;
}

bool tap_is_str(const char *file, int line, const char *expr, const char *got, const char *want)
{
	bool same = got == want || (got && want && strcmp(got, want) == 0);

	if (should_report(same))
		fprintf(stderr, "#   %s:%d: %s is %s%s%s, expected %s%s%s\n", file, line, expr,
			got ? "\"" : "", got ? got : "NULL", got ? "\"" : "", want ? "\"" : "",
			want ? want : "NULL", want ? "\"" : "");
	return same;
}

bool tap_is_mem(const char *file, int line, const char *expr, const void *got, const void *want,
		size_t len)
{
	const unsigned char *g = got, *w = want;
	size_t i = 0;

	while (i < len && g[i] == w[i])
		i++;
	if (should_report(i == len))
		fprintf(stderr,
			"#   %s:%d: %s differs at byte %zu of %zu: 0x%02x, expected 0x%02x\n", file,
			line, expr, i, len, g[i], w[i]);
	return i == len;
}

void tap_diag(const char *fmt, ...)
{
	va_list ap;
	char text[512];

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printf("# %s\n", text);
}

void tap_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(skip_reason, sizeof(skip_reason), fmt, ap);
	va_end(ap);
}

void tap_skip_all(const char *fmt, ...)
{
	va_list ap;
	char text[256];

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printf("1..0 # SKIP %s\n", text);
	exit(0);
}

static uint64_t choose_seed(void)
{
	const char *text = getenv("TEST_SEED");
	uint64_t value;
	char *end;

	if (!text || !*text) {
		if (getrandom(&value, sizeof(value), 0) != sizeof(value))
			value = 1;
		return value >> 32; /* short enough to type */
	}
	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || *end) {
		printf("Bail out! TEST_SEED=%s is not a number\n", text);
		exit(1);
	}
	return value;
}

uint64_t tap_seed(void)
{
	if (!seed_is_known) {
		seed = choose_seed();
		seed_is_known = true;
		printf("# seed %llu\n", (unsigned long long)seed);
	}
	return seed;
}

uint64_t tap_rand(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

bool tap_has_failed(void)
{
	return atomic_load(&failures) > 0;
}

/* The one command line that does the same again. */
static void tell_repeat(const char *name)
{
	fprintf(stderr, "# run again: TEST_SEED=%llu %s %s\n", (unsigned long long)seed,
		program_invocation_name, name);
}

/* An assertion of the code under test, or a crash, still leaves the line to repeat it. */
static void on_crash(int signal_number)
{
	if (running && seed_is_known)
		tell_repeat(running->name);
	fflush(stdout);
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static bool run_case(const struct tap_case *c, unsigned int number)
{
	bool passed;

	running = c;
	atomic_store(&checks, 0);
	atomic_store(&failures, 0);
	skip_reason[0] = '\0';
	c->run();
	if (!atomic_load(&checks) && !skip_reason[0])
		tap_okf(c->name, 0, false, "the test made no assertion");
	passed = !tap_has_failed();
	printf("%sok %u - %s%s%s\n", passed ? "" : "not ", number, c->name,
	       skip_reason[0] ? " # SKIP " : "", skip_reason);
	if (!passed && seed_is_known)
		tell_repeat(c->name);
	running = NULL;
	return passed;
}

static bool is_wanted(const struct tap_case *c, int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (strcmp(c->name, argv[i]) == 0)
			return true;
	return argc <= 1;
}

static bool is_known(const char *name)
{
	const struct tap_case *c;

	for (c = first_case; c; c = c->next)
		if (strcmp(c->name, name) == 0)
			return true;
	return false;
}

int tap_main(int argc, char **argv)
{
	const struct tap_case *c;
	unsigned int number = 0, failed = 0;
	int i;

	/* Whole lines at once: a test that forks must not print a half line twice. */
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	signal(SIGABRT, on_crash);
	if (argc == 2 && strcmp(argv[1], "-l") == 0) {
		for (c = first_case; c; c = c->next)
			puts(c->name);
		return 0;
	}
	for (i = 1; i < argc; i++) {
		if (!is_known(argv[i])) {
			fprintf(stderr, "%s: no test named %s (list them with -l)\n", argv[0],
				argv[i]);
			return 2;
		}
	}
	for (c = first_case; c; c = c->next)
		if (is_wanted(c, argc, argv) && !run_case(c, ++number))
			failed++;
	printf("1..%u\n", number);
	if (failed)
		fprintf(stderr, "# %u of %u tests failed\n", failed, number);
	return failed ? 1 : 0;
}

__attribute__((weak)) int main(int argc, char **argv)
{
	return tap_main(argc, argv);
}

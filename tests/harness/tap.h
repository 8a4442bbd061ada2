/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Test harness: a registry of named tests, assertions and TAP output.
 *
 * One TAP_TEST is one line of output. An assertion says nothing while it holds, so it may stand in
 * a loop of millions; the first ones that fail print file, line and values. A test that made no
 * assertion counts as failed. main() is here (weak: a program may bring its own); arguments name
 * the tests to run, -l lists them. Assertions may be made by several threads of the test.
 */
#ifndef TESTS_HARNESS_TAP_H
#define TESTS_HARNESS_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One registered test; made by TAP_TEST only. */
struct tap_case {
	const char *name;      /* function__situation */
	void (*run)(void);     /* the body */
	struct tap_case *next; /* in order of registration, NULL at the end */
};

void tap_register(struct tap_case *c);

/* Defines and registers a test: TAP_TEST(ring_push__when_full) { ... } */
#define TAP_TEST(id)                                                                               \
	static void id(void);                                                                      \
	static struct tap_case tap_case_##id = {.name = #id, .run = id};                           \
	__attribute__((constructor)) static void tap_register_##id(void)                           \
	{                                                                                          \
		tap_register(&tap_case_##id);                                                      \
	}                                                                                          \
	static void id(void)

/* Assertions. Each returns whether it held, so that a test can stop: if (!ok(p)) return; */
#define ok(cond) tap_ok(__FILE__, __LINE__, #cond, (cond))
#define is_int(got, want) tap_is_int(__FILE__, __LINE__, #got, (long long)(got), (long long)(want))
#define is_str(got, want) tap_is_str(__FILE__, __LINE__, #got, (got), (want))
#define is_mem(got, want, len) tap_is_mem(__FILE__, __LINE__, #got, (got), (want), (len))
/* With a message of one's own in the failure line: okf(n < max, "step %d", step) */
#define okf(cond, ...) tap_okf(__FILE__, __LINE__, (cond), __VA_ARGS__)
/* Leaves the test function when the condition does not hold. */
#define must(cond)                                                                                 \
	do {                                                                                       \
		if (!ok(cond))                                                                     \
			return;                                                                    \
	} while (0)

bool tap_ok(const char *file, int line, const char *expr, bool cond);
bool tap_okf(const char *file, int line, bool cond, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
bool tap_is_int(const char *file, int line, const char *expr, long long got, long long want);
bool tap_is_str(const char *file, int line, const char *expr, const char *got, const char *want);
bool tap_is_mem(const char *file, int line, const char *expr, const void *got, const void *want,
		size_t len);

/* A line of diagnostics, any time. */
void tap_diag(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Marks the running test as skipped for this reason; the caller returns. */
void tap_skip(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The whole program cannot run here: prints the reason and exits. Before any test only. */
void tap_skip_all(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* The seed of this run: TEST_SEED of the environment or a random one; printed at first use. */
uint64_t tap_seed(void);

/* Next number of a small generator (splitmix64); the state starts as a seed. */
uint64_t tap_rand(uint64_t *state);

/* Whether the running test has failed so far. */
bool tap_has_failed(void);

/* Runs the tests named in argv, or all; returns the exit code. main() calls it. */
int tap_main(int argc, char **argv);

#endif

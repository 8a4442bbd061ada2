// SPDX-License-Identifier: BSD-3-Clause
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "scheduler/scnoded/holdings/restorable_inside.h"

void judge_refuse(const struct judge *j, size_t process, const char *fmt, ...)
{
	const struct held_process *p = &j->holdings->processes[process];
	unsigned long long job = j->terms->job;
	char text[REFUSAL_TEXT_MAX];
	va_list args;
	int n;

	if (p->rank == HOLDINGS_NO_RANK)
		n = snprintf(text, sizeof(text), "job %llu: process %d (%s) on %s ", job, p->pid,
			     p->name, j->terms->host);
	else
		n = snprintf(text, sizeof(text), "job %llu: rank %u on %s (process %d) ", job,
			     p->rank, j->terms->host, p->pid);
	va_start(args, fmt);
	if (n < (int)sizeof(text))
		vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, args);
	va_end(args);
	refusals_add(j->refusals, text);
}

void judge_refuse_part(const struct judge *j, const char *fmt, ...)
{
	char text[REFUSAL_TEXT_MAX];
	va_list args;
	int n = snprintf(text, sizeof(text), "job %llu on %s ", (unsigned long long)j->terms->job,
			 j->terms->host);

	va_start(args, fmt);
	if (n < (int)sizeof(text))
		vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, args);
	va_end(args);
	refusals_add(j->refusals, text);
}

const char *judge_anonymous(const char *name, char *text, size_t size)
{
	static const struct {
		const char *kind, *words;
	} known[] = {{"io_uring", "an io_uring"},
		     {"perf_event", "a performance counter (perf_event)"},
		     {"userfaultfd", "a userfaultfd"},
		     {"fanotify", "a fanotify group"},
		     {"bpf-map", "a BPF map"},
		     {"bpf-prog", "a BPF program"},
		     {"bpf_link", "a BPF link"},
		     {"btf", "BPF type data"},
		     {"infinibandevent", "a queue of RDMA events"},
		     {"infinibandasync", "a queue of RDMA events"}};
	const char *kind = strchr(name, ':') + 1;
	size_t bracket = *kind == '[', n = strcspn(kind + bracket, "]");

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i].kind) == n && !strncmp(kind + bracket, known[i].kind, n))
			return known[i].words;
	snprintf(text, size, "an object of the kernel named %.*s", (int)n, kind + bracket);
	return text;
}

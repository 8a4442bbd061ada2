// SPDX-License-Identifier: BSD-3-Clause
/* sources - an epoll set. A source and its value travel in one word, the source in the top byte. */
#include "pm-ethernet/daemon/sources.h"

#include <errno.h>

#define SOURCE_SHIFT 56

static int control(struct ethd *d, int op, int fd, uint32_t events, enum ethd_source source,
		   uint64_t value)
{
	struct epoll_event event = {.events = events,
				    .data.u64 = (uint64_t)source << SOURCE_SHIFT | value};

	return epoll_ctl(d->epoll, op, fd, &event) ? -errno : 0;
}

int ethd_source_add(struct ethd *d, int fd, uint32_t events, enum ethd_source source,
		    uint64_t value)
{
	return control(d, EPOLL_CTL_ADD, fd, events, source, value);
}

int ethd_source_change(struct ethd *d, int fd, uint32_t events, enum ethd_source source,
		       uint64_t value)
{
	return control(d, EPOLL_CTL_MOD, fd, events, source, value);
}

void ethd_source_remove(struct ethd *d, int fd)
{
	epoll_ctl(d->epoll, EPOLL_CTL_DEL, fd, NULL);
}

enum ethd_source ethd_source_of(const struct epoll_event *event)
{
	return (enum ethd_source)(event->data.u64 >> SOURCE_SHIFT);
}

uint64_t ethd_source_value(const struct epoll_event *event)
{
	return event->data.u64 & (((uint64_t)1 << SOURCE_SHIFT) - 1);
}

int ethd_sources_open(struct ethd *d)
{
	d->epoll = epoll_create1(EPOLL_CLOEXEC);
	return d->epoll < 0 ? -errno : 0;
}

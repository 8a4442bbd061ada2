/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * greeter - the UD queue pair of a rail that greetings go by, their buffers, and the paths they
 * take.
 */
#ifndef PM_VERBS_HW_GREETER_H
#define PM_VERBS_HW_GREETER_H

#include "pm-verbs/hw/link.h"

/* 0 or -1 with errno set and what failed in @ret_what; pmv_greeter_close in either case. */
int pmv_greeter_open(struct pmv_link *link, struct pmv_rail *rail, const char **ret_what);
void pmv_greeter_close(struct pmv_link *link, struct pmv_rail *rail);

/*
 * Sends @len bytes, at most PMV_DATAGRAM, to the queue pair @number at the end of @path. A greeting
 * that can't be sent now is lost.
 */
void pmv_greeter_send(struct pmv_link *link, struct pmv_rail *rail, struct pmv_path *path,
		      uint32_t number, const uint8_t *bytes, size_t len);
/* Completions. */
void pmv_greeting_sent(struct pmv_link *link, struct pmv_datagram *datagram,
		       enum ibv_wc_status status);
void pmv_greeting_received(struct pmv_link *link, struct pmv_datagram *datagram,
			   const struct ibv_wc *wc);

/* How packets of @rail find @end. */
void pmv_path_to(const struct pmv_rail *rail, const struct pmv_end *end, struct ibv_ah_attr *ret);
/* NULL with errno set: there is none. */
struct pmv_path *pmv_path_open(struct pmv_link *link, struct pmv_rail *rail,
			       const struct pmv_end *end);
/* It is not asked for again; it goes when nothing is on its way out by it. */
void pmv_path_close(struct pmv_link *link, struct pmv_rail *rail, struct pmv_path *path);

#endif

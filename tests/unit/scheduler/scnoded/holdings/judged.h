/* SPDX-License-Identifier: BSD-3-Clause */
/* judged - holdings that are made up for a test of restorable.h, and what is said of them. */
#ifndef TESTS_UNIT_SCHEDULER_SCNODED_HOLDINGS_JUDGED_H
#define TESTS_UNIT_SCHEDULER_SCNODED_HOLDINGS_JUDGED_H

#include "scheduler/scnoded/holdings/restorable.h"

#define ROOT 100
#define RANK 4711
#define CANNOT ", which cannot be restored; close it before a checkpoint"

extern struct judged {
	struct holdings h;
	struct restorable_terms terms;
	struct refusals refusals;
} judged;

/* A root that leads its session, and below it process RANK, which is rank 3 and holds nothing. */
void judged_begin(void);
/* Descriptor 5 of the rank leads to something of this st_mode. */
struct held_file *judged_file(uint32_t mode, const char *name);
struct held_file *judged_device(uint32_t mode, unsigned major, unsigned minor, const char *name);
struct held_mapping *judged_mapping(const char *name); /* at 0x7000 */
struct sockaddr_in6 judged_address(const char *text, unsigned port);
/* A socket of a protocol that is in the kernel's lists, which process @process has. */
struct held_socket *judged_socket(size_t process, const char *protocol, enum held_kind kind,
				  uint8_t state);
struct held_socket *judged_connection(size_t process, const char *here, unsigned here_port,
				      const char *there, unsigned there_port);

void judged_judge(void);
/* Judges: the only refusal is that @sentence, or that @clause of the rank. Begins anew. */
void judged_whole(const char *file_name, int line, const char *sentence);
void judged_of_rank(const char *file_name, int line, const char *clause);

#define refused(clause) judged_of_rank(__FILE__, __LINE__, clause)
#define refused_whole(sentence) judged_whole(__FILE__, __LINE__, sentence)
#define fine() judged_whole(__FILE__, __LINE__, NULL)

#endif

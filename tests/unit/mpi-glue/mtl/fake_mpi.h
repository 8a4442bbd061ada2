/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fake_mpi - what the component needs of an Open MPI that was never started: a communicator, data
 * for its convertor, and the functions of Open MPI that these tests stand in for.
 */
#ifndef TESTS_UNIT_MPI_GLUE_MTL_FAKE_MPI_H
#define TESTS_UNIT_MPI_GLUE_MTL_FAKE_MPI_H

#include "tests/unit/mpi-glue/mtl/fake_pm.h"

#define FAKE_RANKS 4 /* of the communicator; a rank's node has the same number */
#define FAKE_SELF 1  /* ours */

struct fake_mpi {
	void (*on_progress)(void); /* does what would arrive while Open MPI polls; may be NULL */
	int progress_calls;
	int n_callbacks; /* of requests that are complete */
	/* all that people were told, a line each: the topic, a colon, its first argument */
	char said[2048];
	int publish_error; /* of the launcher, to whom the address is given */
	char published[64];
	int fences;            /* that were begun; they end when Open MPI polls */
	int (*progress)(void); /* registered, to be called when Open MPI polls */
	/* the topic of the last text that people were told through the launcher */
	const char *asked;
	char why[256];  /* the job was ended, that is what people were told */
	void *at_fatal; /* jmp_buf of the test that expects it; NULL: none does */
};

extern struct fake_mpi fake_mpi;

#if OMPI_MAJOR_VERSION >= 5
/* Things that PMIx knows, and that it was told. */
extern struct fake_pmix {
	bool names_jobs;           /* by numbers, of which Open MPI's ids are hashes: FAKE_HASH */
	const char *credential;    /* of our job; NULL: none */
	const char *parent;        /* job that has spawned us; NULL: none */
	const char *job;           /* whose rank 0 has put a key; NULL: none */
	uint64_t key;              /* that one */
	pmix_data_type_t key_type; /* 0: that of a key */
	int timeout;               /* of the last look for it, s */
	char put_name[64];         /* the last number that was put, */
	uint64_t put_key;
	pmix_scope_t scope;
	int commits;
} fake_pmix;

#define FAKE_HASH 0x40000000u
#endif

/* Open MPI as it is before the component is opened: we are rank FAKE_SELF of the communicator. */
struct ompi_communicator_t *fake_start(void);
/* As fake_start and fake_open; and the communicator is known to the component. */
struct ompi_communicator_t *fake_open_comm(const char *device);
void fake_close_comm(struct ompi_communicator_t *comm);
/* Whether it ends the job, for which fake_mpi.why gives the reason. */
bool fake_ends_job(void (*call)(void));
/* Rank @rank belongs to another launch than we. */
void fake_make_foreign(int rank);

/* A datatype without bytes, for opal_datatype_add and opal_datatype_commit. */
struct opal_datatype_t *fake_type(void);
/*
 * @blocks blocks of @block bytes, one every @stride bytes; to be given back with
 * opal_datatype_destroy.
 */
struct opal_datatype_t *fake_vector(size_t blocks, size_t block, ptrdiff_t stride);
/* Ready to send, or to receive, so many elements. */
void fake_pack(struct opal_convertor_t *c, const struct opal_datatype_t *type, size_t count,
	       const void *memory);
void fake_unpack(struct opal_convertor_t *c, const struct opal_datatype_t *type, size_t count,
		 void *memory);
/* The same for bytes in one piece. */
void fake_pack_bytes(struct opal_convertor_t *c, const void *memory, size_t bytes);

/* A request of pml/cm, whose callback counts. */
void fake_prepare_request(struct mtl_pm_request *req, struct ompi_request_t *ompi);

#endif

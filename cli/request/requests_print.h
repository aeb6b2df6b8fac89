/*
 * requests_print.h -- how `riffle requests` shows the requests of a mix.
 *
 *     STATE             STEP  KIND      ID                              WHO
 *     in force           120  weights   weights-3f9c...                 ann@box
 *     accepted           300  skip      skip-77ab...                    ann@box
 *     refused              -  join      join-0c11...                    bob@box
 *                                       domain papers is not sealed
 *     open                 -  weights   weights-91d0...                 bob@box
 *
 * They come in the order of the control topic. Below a refused one stands why.
 */
#ifndef CLI_REQUEST_REQUESTS_PRINT_H
#define CLI_REQUEST_REQUESTS_PRINT_H

#include <stdbool.h>
#include <stdio.h>

#include "consumer/admin/request_list.h"

/* A table, or a JSON array, an object a request; its keys are stable. */
enum fail_code requests_print(const struct request_list *l, bool json, FILE *to, struct failure *f);

#endif

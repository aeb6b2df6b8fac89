/*
 * property_names.h -- librdkafka's names of properties: whose values a message may show, and which
 * name was meant.
 *
 * A value can be a password, and whoever mistypes the name of one has written a password under a
 * name that nobody knows. So a value is shown only where its name is on a list of harmless ones:
 *
 *     linger.ms = soon: Invalid value ...                           harmless: shown
 *     sasl.pasword: no such property; did you mean sasl.password?   not on the list: not shown
 *
 * A harmless name that a later librdkafka has and the list has not costs a message its value.
 */
#ifndef COMMON_CONFIG_PROPERTY_NAMES_H
#define COMMON_CONFIG_PROPERTY_NAMES_H

#include <stdbool.h>

/* Whether values of this very name may stand in messages and logs. */
bool property_names_harmless(const char *name);

/* The known name that a mistyped one most likely means; NULL: none is near. Lives for ever. */
const char *property_names_nearest(const char *name);

/* For a name that only Kafka's Java clients have: what to set instead; else NULL. */
const char *property_names_instead(const char *name);

#endif

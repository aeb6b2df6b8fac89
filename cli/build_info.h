/*
 * build_info.h -- how this program was built; scripts/embed-build writes the texts.
 */
#ifndef CLI_BUILD_INFO_H
#define CLI_BUILD_INFO_H

extern const char build_info_commit[];   /* "commit 1340f434a0c1", or " with changes" after that */
extern const char build_info_compiler[]; /* first line of its --version */
extern const char build_info_flags[];    /* CPPFLAGS, CFLAGS and LDFLAGS */
extern const char build_info_librdkafka[]; /* "system" or "bundled" */
extern const char
    build_info_avro[]; /* version of avro-c, which has no function for it; "": unknown */

#endif

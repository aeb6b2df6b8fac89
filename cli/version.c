#include "cli/version.h"

#include <inttypes.h>
#include <jansson.h>
#include <librdkafka/rdkafka.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>
#include <yaml.h>
#include <zlib.h>
#include <zstd.h>

#include "cli/build_info.h"
#include "cli/options.h"
#include "common/kafka/kafka.h"
#include "producer/pretokenizer/splitter.h"

enum { BROKER_MS = 10000 };

static void
print_short(void)
{
	char features[1024] = "unknown";
	size_t n = sizeof(features);
	rd_kafka_conf_t *conf = rd_kafka_conf_new();

	rd_kafka_conf_get(conf, "builtin.features", features, &n);
	rd_kafka_conf_destroy(conf);
	printf("riffle %s\nlibrdkafka %s, builtin.features %s\n", RIFFLE_VERSION,
	    rd_kafka_version_str(), features);
}

/* Versions are those of the libraries that run. riffle may have been built with others. */
static void
print_build(void)
{
	unsigned xxhash = XXH_versionNumber();

	printf("built from %s by %s, flags %s\n", build_info_commit, build_info_compiler,
	    build_info_flags);
	printf("built with librdkafka %d.%d.%d (%s)\n", RD_KAFKA_VERSION >> 24,
	    RD_KAFKA_VERSION >> 16 & 0xff, RD_KAFKA_VERSION >> 8 & 0xff, build_info_librdkafka);
	printf("libraries: avro-c %s (when built), libyaml %s, zstd %s, zlib %s, jansson %s, "
	       "xxHash %u.%u.%u, libmicrohttpd %s\n",
	    *build_info_avro == '\0' ? "unknown" : build_info_avro, yaml_get_version_string(),
	    ZSTD_versionString(), zlibVersion(), jansson_version_str(), xxhash / 10000,
	    xxhash / 100 % 100, xxhash % 100, MHD_get_version());
	printf("features: AVX2 %s\n", splitter_has_avx2() ? "used" : "not used");
}

static enum fail_code
print_cluster(rd_kafka_t *rk, const char *servers, struct failure *f)
{
	const struct rd_kafka_metadata *m;
	rd_kafka_resp_err_t err;
	char *id;

	if (kafka_wait_broker(rk, BROKER_MS, f) != FAIL_NONE)
		return f->code;
	err = kafka_ask_brokers(rk, &m, BROKER_MS);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return fail(f, FAIL_BROKER, "asking for the brokers: %s", rd_kafka_err2str(err));
	id = rd_kafka_clusterid(rk, BROKER_MS);
	printf("broker %s: %d in the cluster, controller %" PRId32 ", cluster id %s "
	       "(brokers do not report their version)\n",
	    servers, m->broker_cnt, rd_kafka_controllerid(rk, BROKER_MS),
	    id == NULL ? "unknown" : id);
	if (id != NULL)
		rd_kafka_mem_free(rk, id);
	rd_kafka_metadata_destroy(m);
	return FAIL_NONE;
}

static enum fail_code
print_broker(const struct config *c, struct failure *f)
{
	const char *servers = properties_value(&c->kafka, "bootstrap.servers");
	struct kafka_options k = {
	    .role = KAFKA_ADMIN, .properties = &c->kafka, .client = "version", .quiet = true};
	enum fail_code code;
	rd_kafka_t *rk;

	if (servers == NULL) {
		printf("broker: none is named (-c FILE or RIFFLE_BOOTSTRAP)\n");
		return FAIL_NONE;
	}
	fflush(stdout);
	if (kafka_open(&rk, &k, f) != FAIL_NONE)
		return f->code;
	code = print_cluster(rk, servers, f);
	kafka_close(rk);
	return code;
}

enum fail_code
version_print(int argc, char **argv, struct failure *f)
{
	static const struct command self = {.name = "--version",
	    .usage = "[--verbose [-c FILE]]",
	    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES};
	enum fail_code code;
	struct config *c;
	struct options o;

	if (argc > 1 && options_parse(&o, &self, argc, argv, NULL, f) != FAIL_NONE)
		return f->code;
	print_short();
	if (argc == 1 || !o.verbose)
		return FAIL_NONE;
	print_build();
	if (options_broker_config(&c, &o, f) != FAIL_NONE)
		return f->code;
	code = print_broker(c, f);
	config_close(c);
	return code;
}

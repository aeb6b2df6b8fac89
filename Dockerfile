# The image of riffle: the program with librdkafka inside, the shared libraries that it needs from Debian, and their licences.
# `make image` builds it. It runs as user 10001; RIFFLE_CONFIG and RIFFLE_BOOTSTRAP say which mix and which broker.
ARG BASE=docker.io/library/debian:12-slim

FROM ${BASE} AS build
WORKDIR /src
# Apart from the sources: a change of these alone installs nothing again. `make image` has fetched librdkafka.tgz.
COPY scripts/deps scripts/librdkafka scripts/
COPY LICENSE build/librdkafka.tg[z] build/
RUN LIBRDKAFKA=bundled scripts/deps build
COPY . .
RUN make -s -j"$(nproc)" LIBRDKAFKA=bundled CFLAGS=-O2 LDFLAGS='-s -Wl,--gc-sections' build/bundled/riffle

FROM ${BASE}
RUN apt-get update -qq \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends ca-certificates libavro23 libjansson4 \
        libmicrohttpd12 libssl3 libxxhash0 libyaml-0-2 libzstd1 zlib1g \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/* \
    && useradd --uid 10001 --user-group --no-create-home --home-dir /data --shell /usr/sbin/nologin riffle
COPY --from=build /src/build/bundled/riffle /usr/bin/riffle
COPY LICENSE /usr/share/doc/riffle/copyright
COPY --from=build /src/build/librdkafka/LICENSES.txt /usr/share/doc/riffle/librdkafka.txt
# Fails where a library is missing.
RUN riffle --version
ARG VERSION
LABEL org.opencontainers.image.title=riffle \
    org.opencontainers.image.description="mixes tokenized training data over Kafka" \
    org.opencontainers.image.licenses=MIT \
    org.opencontainers.image.version=${VERSION}
ENV RIFFLE_CONFIG=/data/run.yml
WORKDIR /data
USER 10001:10001
HEALTHCHECK --interval=30s --timeout=20s --start-period=60s CMD ["riffle", "status", "--check"]
ENTRYPOINT ["riffle"]
CMD ["--help"]

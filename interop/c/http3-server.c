// http3-server ADDRESS PORT CERT KEY CONTROLLER
//
// An HTTP/3 server in C, on quiche's C API, after the manner of quiche's own example
// http3-server.c: it answers every GET of /bytes/<n> with n bytes. The controller is
// chosen by name; the two calls for it are marked. `aimd`, in aimd.c, is a controller of this
// program's own. When a connection ends, its window, pacing rate and RTT are printed. One thread,
// poll(2); quiche does the pacing.

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <petra.h>
#include <quiche.h>

#define ID_LEN 16
#define LARGEST_DATAGRAM 1350
// Connections, and responses of each, at a time.
#define CONNECTIONS 8
#define RESPONSES 16
// Datagrams that a connection sends before acknowledgments are read again.
#define BATCH 64
// RFC 9114, Section 8.1.
#define H3_GENERAL_PROTOCOL_ERROR 0x101

struct response {
    uint64_t stream;
    const char *status;
    uint64_t left;
    // True once the window had room for the header section.
    bool begun;
    // True while the end of the stream is still to be sent.
    bool open;
};

int aimd_register(void);

struct connection {
    uint8_t id[ID_LEN];
    // The client's first Destination Connection ID. All its Initial packets have it until it knows
    // ours (RFC 9000, Section 7.2), and a ClientHello may take two of them.
    uint8_t first_id[QUICHE_MAX_CONN_ID_LEN];
    size_t first_id_len;
    quiche_conn *quic;
    quiche_h3_conn *http;
    struct response responses[RESPONSES];
    quiche_path_stats stats;
    size_t most_in_flight;
};

static struct connection connections[CONNECTIONS];
static uint8_t zeros[1 << 16];

static void fail(const char *what) {
    fprintf(stderr, "http3-server: %s\n", what);
    exit(1);
}

static struct connection *find(const uint8_t *id, size_t len) {
    for (int i = 0; i < CONNECTIONS; i++) {
        struct connection *c = &connections[i];
        if (!c->quic)
            continue;
        if (len == ID_LEN && !memcmp(c->id, id, ID_LEN))
            return c;
        if (len == c->first_id_len && !memcmp(c->first_id, id, len))
            return c;
    }
    return NULL;
}

static struct connection *accept_connection(quiche_config *config,
                                            const uint8_t *first_id,
                                            size_t first_id_len,
                                            const struct sockaddr_in *local,
                                            const struct sockaddr_in *peer) {
    for (int i = 0; i < CONNECTIONS; i++) {
        struct connection *c = &connections[i];
        if (c->quic)
            continue;
        memset(c, 0, sizeof *c);
        if (getrandom(c->id, ID_LEN, 0) != ID_LEN)
            fail("no random numbers");
        memcpy(c->first_id, first_id, first_id_len);
        c->first_id_len = first_id_len;
        c->quic = quiche_accept(c->id, ID_LEN, NULL, 0, (const struct sockaddr *)local, sizeof *local,
                                (const struct sockaddr *)peer, sizeof *peer, config);
        return c->quic ? c : NULL;
    }
    return NULL;
}

// What a request asks for.
struct request {
    bool get;
    // Of the body; UINT64_MAX if there is none of that path.
    uint64_t length;
};

static bool is(const uint8_t *text, size_t len, const char *expected) {
    return len == strlen(expected) && !memcmp(text, expected, len);
}

// Reads the method, and n of the path `/bytes/<n>`.
static int read_field(uint8_t *name, size_t name_len, uint8_t *value, size_t value_len, void *arg) {
    static const char folder[] = "/bytes/";
    const size_t before = sizeof folder - 1;
    struct request *request = arg;
    char path[32] = {0};
    if (is(name, name_len, ":method"))
        request->get = is(value, value_len, "GET");
    if (!is(name, name_len, ":path") || value_len >= sizeof path)
        return 0;
    memcpy(path, value, value_len);
    size_t digits = value_len > before ? strspn(path + before, "0123456789") : 0;
    // So many digits are no overflow.
    if (!strncmp(path, folder, before) && digits && digits < 19 && before + digits == value_len)
        request->length = strtoull(path + before, NULL, 10);
    return 0;
}

static void respond(struct connection *c, uint64_t stream, quiche_h3_event *event) {
    struct request request = {false, UINT64_MAX};
    quiche_h3_event_for_each_header(event, read_field, &request);
    const char *status = !request.get ? "405" : request.length == UINT64_MAX ? "404" : "200";
    uint64_t length = *status == '2' ? request.length : 0;
    // There are no more streams than places.
    for (int i = 0; i < RESPONSES; i++)
        if (!c->responses[i].open) {
            c->responses[i] = (struct response){stream, status, length, false, true};
            return;
        }
}

// Sends what the window has room for.
static void send_response(struct connection *c, struct response *r) {
    if (!r->begun) {
        quiche_h3_header headers[] = {
            {(const uint8_t *)":status", 7, (const uint8_t *)r->status, 3},
        };
        int sent = quiche_h3_send_response(c->http, c->quic, r->stream, headers, 1, r->left == 0);
        if (sent < 0) {
            // There is no room now, or nobody who wants it.
            r->open = sent == QUICHE_H3_ERR_STREAM_BLOCKED;
            return;
        }
        r->begun = true;
        r->open = r->left > 0;
    }
    while (r->open) {
        size_t length = r->left < sizeof zeros ? r->left : sizeof zeros;
        bool end = r->left == length;
        ssize_t sent = quiche_h3_send_body(c->http, c->quic, r->stream, zeros, length, end);
        if (sent < 0) {
            r->open = sent == QUICHE_H3_ERR_DONE;
            return;
        }
        r->left -= sent;
        r->open = r->left > 0;
    }
}

static void serve(struct connection *c) {
    if (!quiche_conn_is_established(c->quic))
        return;
    if (!c->http) {
        quiche_h3_config *config = quiche_h3_config_new();
        c->http = quiche_h3_conn_new_with_transport(c->quic, config);
        quiche_h3_config_free(config);
        if (!c->http) {
            // Such as a client that allows no unidirectional streams.
            static const uint8_t reason[] = "no room for HTTP/3's control streams";
            quiche_conn_close(c->quic, true, H3_GENERAL_PROTOCOL_ERROR, reason, sizeof reason - 1);
            return;
        }
    }
    quiche_h3_event *event;
    int64_t stream;
    while ((stream = quiche_h3_conn_poll(c->http, c->quic, &event)) >= 0) {
        if (quiche_h3_event_type(event) == QUICHE_H3_EVENT_HEADERS)
            respond(c, stream, event);
        quiche_h3_event_free(event);
    }
    for (int i = 0; i < RESPONSES; i++)
        if (c->responses[i].open)
            send_response(c, &c->responses[i]);
}

// Returns true if there may be more to send.
static bool send_packets(int fd, struct connection *c) {
    uint8_t out[LARGEST_DATAGRAM];
    quiche_send_info info;
    int sent;
    for (sent = 0; sent < BATCH; sent++) {
        ssize_t length = quiche_conn_send(c->quic, out, sizeof out, &info);
        if (length <= 0)
            break;
        // What the kernel has no room for is a packet lost.
        sendto(fd, out, length, 0, (struct sockaddr *)&info.to, info.to_len);
    }
    quiche_conn_path_stats(c->quic, 0, &c->stats);
    if (c->stats.bytes_in_flight > c->most_in_flight)
        c->most_in_flight = c->stats.bytes_in_flight;
    return sent == BATCH;
}

static void receive_packets(int fd, quiche_config *config, struct sockaddr_in *local) {
    uint8_t buffer[65535];
    for (;;) {
        struct sockaddr_in peer;
        socklen_t peer_len = sizeof peer;
        ssize_t length = recvfrom(fd, buffer, sizeof buffer, 0, (struct sockaddr *)&peer, &peer_len);
        if (length < 0)
            return;
        uint8_t type, scid[QUICHE_MAX_CONN_ID_LEN], dcid[QUICHE_MAX_CONN_ID_LEN], token[256];
        size_t scid_len = sizeof scid, dcid_len = sizeof dcid, token_len = sizeof token;
        uint32_t version;
        if (quiche_header_info(buffer, length, ID_LEN, &version, &type, scid, &scid_len, dcid, &dcid_len,
                               token, &token_len) < 0)
            continue;
        struct connection *c = find(dcid, dcid_len);
        // 1 is an Initial packet. No first datagram of a client's is smaller than that.
        if (!c && type == 1 && length >= QUICHE_MIN_CLIENT_INITIAL_LEN && quiche_version_is_supported(version))
            c = accept_connection(config, dcid, dcid_len, local, &peer);
        if (!c)
            continue;
        quiche_recv_info info = {(struct sockaddr *)&peer, peer_len, (struct sockaddr *)local, sizeof *local};
        quiche_conn_recv(c->quic, buffer, length, &info);
    }
}

int main(int argc, char **argv) {
    if (argc != 6)
        fail("expected ADDRESS PORT CERT KEY CONTROLLER");
    unsigned long port = strtoul(argv[2], NULL, 10);
    if (!*argv[2] || argv[2][strspn(argv[2], "0123456789")] || port > UINT16_MAX)
        fail("PORT: not a port; expected 0 to 65535");

    petra_register(); // one
    if (aimd_register() != 0)
        fail("aimd is not registered");
    quiche_config *config = quiche_config_new(QUICHE_PROTOCOL_VERSION);
    if (quiche_config_set_cc_algorithm_name(config, argv[5]) != 0) // two
        fail("there is no such controller, or not with these options");
    if (quiche_config_load_cert_chain_from_pem_file(config, argv[3]) < 0)
        fail("cannot load the certificate");
    if (quiche_config_load_priv_key_from_pem_file(config, argv[4]) < 0)
        fail("cannot load the private key");
    quiche_config_set_application_protos(config, (uint8_t *)QUICHE_H3_APPLICATION_PROTOCOL,
                                         sizeof QUICHE_H3_APPLICATION_PROTOCOL - 1);
    quiche_config_set_max_idle_timeout(config, 5000);
    quiche_config_set_max_send_udp_payload_size(config, LARGEST_DATAGRAM);
    quiche_config_set_initial_max_data(config, 1 << 20);
    quiche_config_set_initial_max_stream_data_bidi_remote(config, 1 << 16);
    quiche_config_set_initial_max_stream_data_uni(config, 1 << 16);
    quiche_config_set_initial_max_streams_bidi(config, RESPONSES);
    quiche_config_set_initial_max_streams_uni(config, 16);

    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in local = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t local_len = sizeof local;
    if (!inet_aton(argv[1], &local.sin_addr) || bind(fd, (struct sockaddr *)&local, sizeof local) < 0 ||
        getsockname(fd, (struct sockaddr *)&local, &local_len) < 0)
        fail("cannot listen there");
    printf("listening on %s:%d\n", argv[1], ntohs(local.sin_port));
    fflush(stdout);

    bool more = false;
    for (;;) {
        uint64_t timeout = more ? 0 : UINT64_MAX;
        for (int i = 0; i < CONNECTIONS; i++)
            if (connections[i].quic) {
                uint64_t due = quiche_conn_timeout_as_millis(connections[i].quic);
                timeout = due < timeout ? due : timeout;
            }
        struct pollfd pollfd = {fd, POLLIN, 0};
        poll(&pollfd, 1, timeout == UINT64_MAX ? -1 : (int)timeout);
        receive_packets(fd, config, &local);
        more = false;
        for (int i = 0; i < CONNECTIONS; i++) {
            struct connection *c = &connections[i];
            if (!c->quic)
                continue;
            if (quiche_conn_timeout_as_millis(c->quic) == 0)
                quiche_conn_on_timeout(c->quic);
            serve(c);
            more |= send_packets(fd, c);
            if (quiche_conn_is_closed(c->quic)) {
                printf("window %zu, at most %zu in flight, pacing rate %" PRIu64 ", rtt %" PRIu64 "\n",
                       c->stats.cwnd, c->most_in_flight, c->stats.pacing_rate, c->stats.rtt);
                fflush(stdout);
                if (c->http)
                    quiche_h3_conn_free(c->http);
                quiche_conn_free(c->quic);
                c->quic = NULL;
            }
        }
    }
}

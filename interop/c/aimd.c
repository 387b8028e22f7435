// A congestion controller in C: a packet more each round trip, half as much after a loss.
//
//     aimd_register();
//     if (quiche_config_set_cc_algorithm_name(config, "aimd:20") != 0) { ... }
//
// for a window of at most 20 packets; "aimd" alone has no such limit.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <quiche.h>

struct aimd {
    size_t packet, window, most;
    // No loss of a packet sent before this counts again.
    uint64_t reduced, smoothed_rtt;
};

static bool check_options(const char *name, const char *options, char *error, size_t error_len) {
    (void)name;
    size_t digits = strspn(options, "0123456789");
    unsigned long packets = strtoul(options, NULL, 10);
    if (!options[digits] && (!digits || (packets >= 2 && packets <= 99999)))
        return true;
    snprintf(error, error_len, "packets: out of range (got %s); expected 2 to 99999", options);
    return false;
}

static void *init(const quiche_cc_settings *settings) {
    struct aimd *cc = calloc(1, sizeof *cc);
    if (cc) {
        cc->packet = settings->max_datagram_size;
        cc->window = settings->initial_congestion_window_packets * cc->packet;
        cc->most = SIZE_MAX;
        if (*settings->options)
            cc->most = strtoul(settings->options, NULL, 10) * cc->packet;
    }
    return cc;
}

static void on_packets_acked(void *arg, const quiche_cc_packets_acked *event) {
    struct aimd *cc = arg;
    cc->smoothed_rtt = event->rtt.smoothed;
    cc->window += cc->packet * event->bytes / cc->window;
}

static void on_packets_lost(void *arg, const quiche_cc_packets_lost *event) {
    struct aimd *cc = arg;
    if (event->time_sent > cc->reduced) {
        cc->reduced = event->now;
        cc->window /= 2;
    }
}

static void on_persistent_congestion(void *arg, const quiche_cc_persistent_congestion *event) {
    struct aimd *cc = arg;
    cc->reduced = event->now;
    cc->window = 2 * cc->packet;
}

// The answer to each event: a window and a rate.
static void control(void *arg, quiche_cc_control *control) {
    struct aimd *cc = arg;
    if (cc->window < 2 * cc->packet)
        cc->window = 2 * cc->packet;
    if (cc->window > cc->most)
        cc->window = cc->most;
    control->congestion_window = cc->window;
    // 5/4 of a window per round trip, once there has been one.
    control->pacing_rate = cc->smoothed_rtt ? cc->window * 1.25e9 / cc->smoothed_rtt : 0;
}

int aimd_register(void) {
    static const quiche_cc_ops ops = {
        .size = sizeof ops,
        .check_options = check_options,
        .init = init,
        .free = free,
        .control = control,
        .on_packets_acked = on_packets_acked,
        .on_packets_lost = on_packets_lost,
        .on_persistent_congestion = on_persistent_congestion,
    };
    return quiche_congestion_control_register("aimd", &ops);
}

// What a trace says itself, read without qvis: what qvis's graph is compared with.

import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

/** The lines of qvis's graph, and the fields of metrics that they are drawn from. */
const LINES = {
  cwnd: (metrics) => metrics.cwnd || metrics.congestion_window,
  bytes: (metrics) => metrics.bytes_in_flight,
  smoothedRTT: (metrics) => metrics.smoothed_rtt,
  lastRTT: (metrics) => metrics.latest_rtt,
  minRTT: (metrics) => metrics.min_rtt,
};

/** RFC 9000, 13.2: all other frames make the receiver acknowledge their packet. */
const NOT_ELICITING = ['ack', 'padding', 'connection_close'];

/** Whether a packet has to be acknowledged. One without frames is of a slim copy, which leaves them out. */
export function elicitsAck({ frames }) {
  return !frames || frames.some(({ frame_type: type }) => !NOT_ELICITING.includes(type));
}

/**
 * `raw`: it is as quiche writes it, and qvis is to refuse it. `points`: how many each
 * line is to have, 2N + 1 for N values. `lost`: how many packets the connection counted.
 */
export async function read(path) {
  const told = { raw: false, points: {}, lost: 0 };
  const values = Object.fromEntries(Object.keys(LINES).map((line) => [line, 0]));
  for await (const text of createInterface({ input: createReadStream(path) })) {
    const record = JSON.parse(text.slice(1));
    if (record.file_schema) {
      return { ...told, raw: true };
    }
    if (record.name !== 'recovery:metrics_updated') {
      continue;
    }
    for (const [line, value] of Object.entries(LINES)) {
      values[line] += value(record.data) ? 1 : 0;
    }
    told.lost += record.data.cf_lost_packets_delta ?? 0;
  }
  for (const [line, count] of Object.entries(values)) {
    told.points[line] = count && 2 * count + 1;
  }
  return told;
}

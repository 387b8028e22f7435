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

/** The frames of request streams, which are those of data to qvis. */
const ofRequests = (frames = []) =>
  frames.filter((frame) => frame.frame_type === 'stream' && frame.stream_id % 4 === 0).length;

/**
 * `raw`: it is as quiche writes it, and qvis is to refuse it. `points`: how many each
 * line is to have, 2N + 1 for N values. `lost`: how many packets the connection counted.
 * `events`: its records. `packets`: those with a length. `streams`: the frames of data that a
 * server sent or a client received.
 */
export async function read(path) {
  const told = { raw: false, points: {}, lost: 0, events: 0, streams: 0, server: false };
  told.packets = { sent: 0, received: 0 };
  const values = Object.fromEntries(Object.keys(LINES).map((line) => [line, 0]));
  for await (const text of createInterface({ input: createReadStream(path) })) {
    const record = JSON.parse(text.slice(1));
    if (record.file_schema) {
      return { ...told, raw: true };
    }
    if (record.trace) {
      told.server = record.trace.vantage_point.type === 'server';
      told.description = (record.description ?? '').split(';')[0];
      continue;
    }
    told.events += 1;
    const [, way] = record.name.match(/^transport:packet_(sent|received)$/) ?? [];
    if (way && record.data.raw?.length) {
      told.packets[way] += 1;
    }
    if (way === (told.server ? 'sent' : 'received')) {
      told.streams += ofRequests(record.data.frames);
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

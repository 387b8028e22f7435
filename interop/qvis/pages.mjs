// The pages of qvis. Of each: `place`, the selector of what is there once it is drawn; `shown`,
// which runs in the page and returns counts of what it shows; `faults`, what of them is not as the
// trace has it; and `broken`, which breaks a line of a trace in a way that `faults` has to find.

/** How much of what was sent has to be acknowledged or lost. */
const SETTLED = 0.99;

/** Rectangles for each packet of the packetization page: header, payload and tag. */
const PARTS = 3;

/** The least percentage of sent bytes that are of HTTP/3, of a server with a body to send. */
const LEAST_EFFICIENCY = 50;

const fault = (holds, text) => (holds ? [] : [text]);
const without = (part) => (line) => (line.includes(part) ? [] : [line]);

function files() {
  const { innerText: text } = document.querySelector('#FileManagerContainer');
  return { list: text.split('List of loaded files').pop().trim() };
}

/** What the congestion graph holds. */
function congestion() {
  const find = (component) =>
    component.renderer?.mainGraphState
      ? component.renderer
      : component.$children.map(find).find(Boolean);
  const graph = find(document.querySelector('#app').__vue__.$root);
  const lines = graph.mainGraphState.metricUpdateLines;
  const points = Object.fromEntries(
    Object.entries(lines).map(([name, line]) => [name, line.length]),
  );
  const sent = graph.packetsSent.filter(({ data }) => data.raw?.length);
  const count = (marks) => sent.filter(({ qvis }) => marks(qvis.congestion)).length;
  const unsettled = sent.filter(({ qvis: { congestion: marks } }) =>
    !marks.correspondingAck && !marks.correspondingLoss);
  return {
    points,
    sent: sent.length,
    acked: count((marks) => marks.correspondingAck),
    lost: count((marks) => marks.correspondingLoss),
    // By their frames, which a slim copy leaves out: an ACK alone is never acknowledged.
    unsettled: unsettled.reduce((counts, { data: { frames = [] } }) => {
      const types = [...new Set(frames.map(({ frame_type: type }) => type))].join(', ');
      return { ...counts, [types]: (counts[types] ?? 0) + 1 };
    }, {}),
    settled: Number((1 - unsettled.length / sent.length).toFixed(4)),
  };
}

function sequence() {
  const [group] = document.querySelector('#app').__vue__.$store.state.connections.grouplist;
  const events = group.connections[0].getEvents();
  return {
    placed: events.filter(({ qvis }) => qvis?.sequencediagram?.y !== undefined).length,
    // Of what is on the screen.
    arrows: document.querySelectorAll('#sequence-diagram polyline').length,
  };
}

function multiplexing() {
  const frames = (part) =>
    document.querySelectorAll(`[id^=multiplexing-${part}-] rect.packet`).length;
  return { data: frames('data'), ranges: frames('byterange') };
}

function packetization() {
  const side = (place) => {
    const diagram = document.querySelector(`#packetization-diagram-${place}`);
    const count = (lane) => diagram.querySelectorAll(`rect.${lane}`).length;
    const texts = [...diagram.querySelectorAll('text')].map(({ textContent }) => textContent);
    const efficiency = texts.find((text) => text.startsWith('efficiency'));
    return {
      packets: count('quicpacket'),
      frames: count('quicframe'),
      http: count('httpframe'),
      streams: count('streampacket'),
      efficiency: efficiency ? Number.parseFloat(efficiency.split(' ')[1]) : 0,
    };
  };
  return { received: side('top'), sent: side('bottom') };
}

export const PAGES = {
  files: {
    place: '#FileManagerContainer',
    shown: files,
    faults: ({ list }, { description }) => [
      ...fault(list.includes('(1 connection)'), 'no connection in the list'),
      ...fault(list.includes(description), `no '${description}' in the list`),
    ],
    broken: (line) => [line.replaceAll('"description":"congestion', '"description":"')],
  },
  congestion: {
    place: '#congestion-graph canvas',
    shown: congestion,
    faults: ({ points, lost, settled }, told) => [
      ...Object.entries(told.points).flatMap(([line, expected]) =>
        fault(expected > 0 && points[line] === expected, `${line}: ${expected} points expected`)),
      ...fault(lost === told.lost, `${told.lost} lost packets expected`),
      ...fault(settled >= SETTLED, 'too few packets acknowledged or lost'),
    ],
    broken: (line) => [line.replace('"smoothed_rtt"', '"smooth_rtt"')],
  },
  sequence: {
    place: '#sequence-diagram svg',
    shown: sequence,
    faults: ({ placed, arrows }, { events }) => [
      ...fault(placed === events, `${events} events expected`),
      ...fault(arrows > 0, 'no arrow'),
    ],
    broken: without('"transport:packet_received"'),
  },
  multiplexing: {
    place: '#multiplexingToplevelContainer svg',
    shown: multiplexing,
    faults: ({ data, ranges }, { streams }) => [
      ...fault(data === streams, `${streams} frames of data expected`),
      ...fault(ranges === streams, `${streams} ranges of bytes expected`),
    ],
    broken: (line) => [line.replaceAll('"frame_type":"stream"', '"frame_type":"ping"')],
  },
  packetization: {
    place: '#packetization-diagram-bottom rect.quicpacket',
    shown: packetization,
    faults: (shown, { packets, server, streams }) => [
      ...Object.entries(packets).flatMap(([way, count]) =>
        fault(shown[way].packets === PARTS * count, `${count} packets ${way} expected`)),
      ...fault(!server || !streams || shown.sent.streams > 0, 'no stream in what is sent'),
      ...fault(!server || !streams || shown.sent.efficiency > LEAST_EFFICIENCY,
        `efficiency above ${LEAST_EFFICIENCY} % expected`),
    ],
    broken: without('"http:frame_'),
  },
};

// Opens traces in qvis in a headless Chromium, and prints a line of JSON for each:
// what the congestion graph has, how long the pages take, and what of that is wrong.
//
// usage: node drive.mjs DIST SCREENSHOTS TRACE...
//
// DIST is qvis as `vite build` leaves it. Raw traces are a control: qvis has to
// refuse them. Exits with 1 when something is wrong.

import { createReadStream, mkdirSync, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { basename, extname, join, resolve } from 'node:path';
import puppeteer from 'puppeteer-core';
import { elicitsAck, read } from './trace.mjs';

const [dist, screenshots, ...traces] = process.argv.slice(2);
const chromium = process.env.CHROMIUM ?? '/usr/bin/chromium';

// How long is waited for a page, in milliseconds.
const PATIENCE = 120_000;

// How long a page may take, in seconds on a core.
const LONGEST = 10;

// How much of what was sent has to be acknowledged or lost.
const SETTLED = 0.99;

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };
const server = createServer((request, response) => {
  const path = new URL(request.url, 'http://localhost').pathname;
  const file = join(dist, path === '/' ? 'index.html' : path);
  if (!existsSync(file) || !statSync(file).isFile()) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' });
  createReadStream(file).pipe(response);
}).listen(0, '127.0.0.1');
await new Promise((ready) => server.once('listening', ready));
const home = `http://127.0.0.1:${server.address().port}/`;

/**
 * Seconds that `act` takes until `condition` holds in the page and its main thread is at rest, by
 * the clock and, which other work of the machine does not distort, on a core.
 */
async function timed(page, act, condition, ...values) {
  const devtools = await page.createCDPSession();
  await devtools.send('Performance.enable');
  const busy = async () => {
    const { metrics } = await devtools.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'ThreadTime').value;
  };
  const [start, before] = [performance.now(), await busy()];
  await act();
  await page.waitForFunction(condition, { timeout: PATIENCE, polling: 100 }, ...values);
  // It is when it answers promptly five times; pages draw in more than one go.
  for (let prompt = 0; prompt < 5; ) {
    const asked = performance.now();
    await page.evaluate(() => new Promise((done) => setTimeout(done, 50)));
    prompt = performance.now() - asked < 150 ? prompt + 1 : 0;
  }
  const seconds = { clock: (performance.now() - start) / 1e3, core: (await busy()) - before };
  await devtools.detach();
  return Object.fromEntries(Object.entries(seconds).map(([by, s]) => [by, Number(s.toFixed(2))]));
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
  const packets = graph.packetsSent
    .filter(({ data }) => data.raw?.length)
    .map(({ data: { frames }, qvis: { congestion: marks } }) => ({
      frames: frames?.map(({ frame_type: type }) => ({ frame_type: type })),
      acked: Boolean(marks.correspondingAck),
      lost: Boolean(marks.correspondingLoss),
    }));
  return { points, packets };
}

/** What becomes of the packets; `unsettled` are those that are neither acknowledged nor lost. */
function count(packets) {
  const unsettled = packets.filter(({ acked, lost }) => !acked && !lost);
  const eliciting = unsettled.filter(elicitsAck).length;
  return {
    sent: packets.length,
    acked: packets.filter(({ acked }) => acked).length,
    lost: packets.filter(({ lost }) => lost).length,
    settled: Number((1 - unsettled.length / packets.length).toFixed(4)),
    unsettled: { eliciting, others: unsettled.length - eliciting },
  };
}

/** What is not as it has to be. */
function wrong(result, told) {
  if (told.raw || result.refused) {
    return told.raw === Boolean(result.refused) ? [] : [told.raw ? 'raw, and not refused' : 'refused'];
  }
  const found = [];
  const expect = (holds, fault) => holds || found.push(fault);
  expect(String(result.groups) === '1', `groups ${result.groups}`);
  for (const [line, points] of Object.entries(told.points)) {
    expect(points > 0 && result.points[line] === points, `${line}: ${points} points expected`);
  }
  expect(result.lost === told.lost, `${told.lost} lost packets expected`);
  expect(result.settled >= SETTLED, 'too few packets acknowledged or lost');
  for (const page of ['load', 'congestion', 'sequence', 'multiplexing']) {
    expect(result.seconds[page]?.core <= LONGEST, `${page} takes longer than ${LONGEST} s`);
  }
  return [...found, ...result.faults];
}

/** The pages after the import, and what is there when they are drawn. */
const PAGES = {
  congestion: '#congestion-graph canvas',
  sequence: '#sequence-diagram svg, #sequence-diagram canvas',
  multiplexing: '#multiplexingToplevelContainer svg, #multiplexingToplevelContainer canvas',
};

/** Shows a trace page by page, and adds what comes of it to `result`. */
async function visit(page, trace, result) {
  const shoot = async (name) => {
    if (screenshots) {
      await page.screenshot({ path: join(screenshots, `${basename(trace)}.${name}.png`) });
    }
  };
  await page.goto(`${home}#/files`);
  await page.waitForSelector('input[type=file]');
  await (await page.$('input[type=file]')).uploadFile(resolve(trace));
  const load = () => page.evaluate(() => {
    const buttons = [...document.querySelectorAll('button')];
    buttons.find((button) => button.textContent.trim() === 'Import').click();
  });
  const loaded = () =>
    document.querySelector('#app').__vue__.$store.state.connections.grouplist.length > 0;
  try {
    result.seconds = { load: await timed(page, load, loaded) };
  } catch {
    result.refused = true;
    await shoot('refused');
    return;
  }
  // One number a group: how many connections it has.
  result.groups = await page.evaluate(() => {
    const { grouplist } = document.querySelector('#app').__vue__.$store.state.connections;
    return grouplist.map((group) => group.connections.length);
  });
  for (const [name, container] of Object.entries(PAGES)) {
    const show = () => page.evaluate((hash) => { location.hash = hash; }, `#/${name}`);
    const drawn = (place) => document.querySelector(place);
    result.seconds[name] = await timed(page, show, drawn, container);
    if (name === 'congestion') {
      const { points, packets } = await page.evaluate(congestion);
      Object.assign(result, { points, ...count(packets) });
    }
    await shoot(name);
  }
  const { JSHeapUsedSize: heap } = await page.metrics();
  result.heap_mb = Math.round(heap / 1e6);
}

/** What qvis makes of a trace. Each has a browser of its own, which may get stuck. */
async function open(trace) {
  const browser = await puppeteer.launch({
    executablePath: chromium,
    protocolTimeout: PATIENCE,
    // Root has no sandbox; a trace of 300 MB takes 1.5 GB.
    args: ['--no-sandbox', '--js-flags=--max-old-space-size=4000'],
  });
  const result = { trace: basename(trace), megabytes: Math.round(statSync(trace).size / 1e6) };
  result.faults = [];
  const fault = (what) => result.faults.push(String(what).split('\n')[0]);
  try {
    const page = await browser.newPage();
    await page.setViewport({ width: 1600, height: 1150 });
    page.on('dialog', (dialog) => {
      fault(dialog.message());
      return dialog.dismiss();
    });
    page.on('pageerror', fault);
    await visit(page, trace, result);
    await browser.close();
  } catch (error) {
    fault(error);
    browser.process().kill('SIGKILL');
  }
  return result;
}

// puppeteer then ends the browser, and not the process.
process.on('SIGTERM', () => process.exit(143));
if (screenshots) {
  mkdirSync(screenshots, { recursive: true });
}
for (const trace of traces) {
  const result = await open(trace);
  result.wrong = wrong(result, await read(trace));
  console.log(JSON.stringify(result));
  process.exitCode ||= result.wrong.length ? 1 : 0;
}
server.close();

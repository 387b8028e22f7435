// Opens traces in qvis in a headless Chromium, and prints a line of JSON for each:
// what the congestion graph has, and how long the pages take.
//
// usage: node drive.mjs DIST SCREENSHOTS TRACE...
//
// DIST is qvis as `vite build` leaves it. Exits with 1 when a trace is refused.

import { createReadStream, mkdirSync, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { basename, extname, join, resolve } from 'node:path';
import puppeteer from 'puppeteer-core';

const [dist, screenshots, ...traces] = process.argv.slice(2);
const chromium = process.env.CHROMIUM ?? '/usr/bin/chromium';

// The pages whose main thread has to answer again, in milliseconds.
const PATIENCE = 60_000;

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

/** Seconds until `condition` holds in the page and its main thread is at rest. */
async function until(page, condition, ...values) {
  const start = performance.now();
  await page.waitForFunction(condition, { timeout: PATIENCE, polling: 100 }, ...values);
  // It is when it answers promptly five times; pages draw in more than one go.
  for (let prompt = 0; prompt < 5; ) {
    const asked = performance.now();
    await page.evaluate(() => new Promise((done) => setTimeout(done, 50)));
    prompt = performance.now() - asked < 150 ? prompt + 1 : 0;
  }
  return Number(((performance.now() - start) / 1e3).toFixed(2));
}

/** What the congestion graph holds: qvis makes 2N + 1 points of N changes. */
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
  const sent = graph.packetsSent.filter((packet) => packet.data.raw?.length);
  const marked = (mark) => sent.filter((packet) => packet.qvis.congestion[mark]).length;
  const settled = sent.filter(
    ({ qvis }) => qvis.congestion.correspondingAck || qvis.congestion.correspondingLoss,
  );
  return {
    points,
    sent: sent.length,
    acked: marked('correspondingAck'),
    lost: marked('correspondingLoss'),
    settled: Number((settled.length / sent.length).toFixed(4)),
  };
}

async function open(browser, trace) {
  const page = await browser.newPage();
  await page.setViewport({ width: 1600, height: 1150 });
  const dialogs = [];
  page.on('dialog', (dialog) => {
    dialogs.push(dialog.message().split('\n')[0]);
    return dialog.dismiss();
  });
  const faults = [];
  page.on('pageerror', (fault) => faults.push(String(fault).split('\n')[0]));
  const shoot = async (name) => {
    if (screenshots) {
      await page.screenshot({ path: join(screenshots, `${basename(trace)}.${name}.png`) });
    }
  };
  const show = (name) => page.evaluate((hash) => { location.hash = hash; }, `#/${name}`);

  await page.goto(`${home}#/files`);
  await page.waitForSelector('input[type=file]');
  await (await page.$('input[type=file]')).uploadFile(resolve(trace));
  await page.evaluate(() => {
    const buttons = [...document.querySelectorAll('button')];
    buttons.find((button) => button.textContent.trim() === 'Import').click();
  });
  const result = { trace: basename(trace), megabytes: Math.round(statSync(trace).size / 1e6) };
  const loaded = () =>
    document.querySelector('#app').__vue__.$store.state.connections.grouplist.length > 0;
  try {
    result.load_s = await until(page, loaded);
  } catch {
    result.refused = true;
    result.faults = faults;
    await shoot('refused');
    await page.close();
    return result;
  }
  // One number a group: how many connections it has.
  result.groups = await page.evaluate(() => {
    const { grouplist } = document.querySelector('#app').__vue__.$store.state.connections;
    return grouplist.map((group) => group.connections.length);
  });

  for (const name of ['congestion', 'sequence', 'multiplexing']) {
    await show(name);
    const container = {
      congestion: '#congestion-graph canvas',
      sequence: '#sequence-diagram svg, #sequence-diagram canvas',
      multiplexing: '#multiplexingToplevelContainer svg, #multiplexingToplevelContainer canvas',
    }[name];
    try {
      result[`${name}_s`] = await until(page, (place) => document.querySelector(place), container);
    } catch {
      result[`${name}_s`] = null;
    }
    if (name === 'congestion') {
      Object.assign(result, await page.evaluate(congestion));
    }
    await shoot(name);
  }
  const { JSHeapUsedSize: heap } = await page.metrics();
  Object.assign(result, { heap_mb: Math.round(heap / 1e6), dialogs, faults });
  await page.close();
  return result;
}

if (screenshots) {
  mkdirSync(screenshots, { recursive: true });
}
const browser = await puppeteer.launch({
  executablePath: chromium,
  protocolTimeout: 2 * PATIENCE,
  // Root has no sandbox; a trace of 300 MB takes 1.5 GB.
  args: ['--no-sandbox', '--js-flags=--max-old-space-size=4000'],
});
for (const trace of traces) {
  const result = await open(browser, trace);
  console.log(JSON.stringify(result));
  process.exitCode ||= result.refused ? 1 : 0;
}
await browser.close();
server.close();

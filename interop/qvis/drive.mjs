// Opens traces in qvis in a headless Chromium, and prints a line of JSON for each:
// what each page has, how long it takes, and what of that is wrong. Of the first trace,
// each page also gets a copy that is broken for it, and has to find that.
//
// usage: node drive.mjs DIST SCREENSHOTS TRACE...
//
// DIST is qvis as `vite build` leaves it. Raw traces are a control: qvis has to
// refuse them. Exits with 1 when something is wrong.

import {
  createReadStream, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, extname, join, resolve } from 'node:path';
import puppeteer from 'puppeteer-core';
import { PAGES } from './pages.mjs';
import { read } from './trace.mjs';

const [dist, screenshots, ...traces] = process.argv.slice(2);
const chromium = process.env.CHROMIUM ?? '/usr/bin/chromium';

// How long is waited for a page, in milliseconds.
const PATIENCE = 120_000;

// How long a page may take, in seconds on a core.
const LONGEST = 10;

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

/** What is not as it has to be. */
function wrong(result, told) {
  if (told.raw || result.refused) {
    return told.raw === Boolean(result.refused) ? [] : [told.raw ? 'raw, and not refused' : 'refused'];
  }
  const found = [];
  const expect = (holds, fault) => holds || found.push(fault);
  expect(String(result.groups) === '1', `groups ${result.groups}`);
  expect(result.seconds.load?.core <= LONGEST, `load takes longer than ${LONGEST} s`);
  for (const [name, { faults }] of Object.entries(PAGES)) {
    const shown = result[name];
    const judged = shown ? faults(shown, told) : ['not shown'];
    found.push(...judged.map((fault) => `${name}: ${fault}`));
    expect(result.seconds[name]?.core <= LONGEST, `${name} takes longer than ${LONGEST} s`);
  }
  return [...found, ...result.faults];
}

/** Shows a trace on pages, and adds what comes of it to `result`. */
async function visit(page, trace, pages, result) {
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
  for (const name of pages) {
    const { place, shown } = PAGES[name];
    const show = () => page.evaluate((hash) => { location.hash = hash; }, `#/${name}`);
    const drawn = (place) => document.querySelector(place);
    result.seconds[name] = await timed(page, show, drawn, place);
    result[name] = await page.evaluate(shown);
    await shoot(name);
  }
  const { JSHeapUsedSize: heap } = await page.metrics();
  result.heap_mb = Math.round(heap / 1e6);
}

/** What qvis makes of a trace. Each has a browser of its own, which may get stuck. */
async function open(trace, pages = Object.keys(PAGES)) {
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
    await visit(page, trace, pages, result);
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

/** The pages that do not find what is wrong with a copy that is broken for them. */
async function blind(trace, told) {
  const folder = mkdtempSync(join(tmpdir(), 'qvis-'));
  const [header, ...events] = readFileSync(trace, 'utf8').trimEnd().split('\n');
  const found = [];
  for (const [name, { broken, faults }] of Object.entries(PAGES)) {
    const copy = join(folder, `broken-for-${name}.qvis.sqlog`);
    writeFileSync(copy, `${[header, ...events].flatMap(broken).join('\n')}\n`);
    const result = await open(copy, [name]);
    if (!result[name] || !faults(result[name], told).length) {
      found.push(name);
    }
  }
  rmSync(folder, { recursive: true });
  return found;
}

let proven = false;
for (const trace of traces) {
  const [result, told] = [await open(trace), await read(trace)];
  result.wrong = wrong(result, told);
  if (!proven && !told.raw && !result.wrong.length) {
    proven = true;
    result.wrong = (await blind(trace, told)).map((name) => `${name}: blind to a broken copy`);
  }
  console.log(JSON.stringify(result));
  process.exitCode ||= result.wrong.length ? 1 : 0;
}
server.close();

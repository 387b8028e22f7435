// Opens reports in a headless Chromium, and prints a line of JSON for each with what is wrong.
//
// usage: node look.mjs PICTURES REPORT...
//
// Of the first report, each check also gets a copy that is broken for it, and has to find that.
// Exits with 1 when something is wrong.

import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import puppeteer from 'puppeteer-core';
import { CHECKS, DESKTOP, PHONE, open } from './checks.mjs';

const [pictures, ...reports] = process.argv.slice(2);
const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  // Root has no sandbox.
  args: ['--no-sandbox'],
});
const folder = mkdtempSync(join(tmpdir(), 'report-'));
mkdirSync(pictures, { recursive: true });

/** Screens and print of a report, for eyes. */
async function shoot(file, name) {
  for (const [kind, size, scheme] of [
    ['light', DESKTOP, 'light'],
    ['dark', DESKTOP, 'dark'],
    ['phone', PHONE, 'light'],
  ]) {
    const page = await open(browser, file, size, (page) =>
      page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]));
    await page.screenshot({ path: join(pictures, `${name}.${kind}.png`), fullPage: true });
    await page.close();
  }
  copyFileSync(file.replace(/\.html$/, '.A4.pdf'), join(pictures, `${name}.pdf`));
}

/** What checks do not find in copies that are broken for them. */
async function blind(html) {
  const found = [];
  for (const { name, check, broken } of CHECKS) {
    for (const [fault, breaks] of broken) {
      const file = join(folder, 'broken.html');
      const copy = breaks(html);
      writeFileSync(file, copy);
      if (copy === html) found.push(`${name}: nothing to break for ${fault}`);
      else if (!fault.test((await check(browser, file)).join('\n'))) {
        found.push(`${name}: blind to ${fault}`);
      }
    }
  }
  return found;
}

let failed = false;
for (const [number, report] of reports.entries()) {
  // A copy, so that nothing is written next to the report.
  const file = join(folder, `report-${number}.html`);
  const html = readFileSync(report, 'utf8');
  writeFileSync(file, html);
  const name = basename(dirname(report));
  const [started, wrong] = [performance.now(), []];
  for (const { name, check } of CHECKS) {
    wrong.push(...(await check(browser, file)).map((it) => `${name}: ${it}`));
  }
  await shoot(file, name);
  if (number === 0) wrong.push(...(await blind(html)));
  const seconds = Number(((performance.now() - started) / 1e3).toFixed(1));
  console.log(JSON.stringify({ report: name, checks: CHECKS.length, seconds, wrong }));
  failed ||= wrong.length > 0;
}
await browser.close();
rmSync(folder, { recursive: true });
process.exitCode = failed ? 1 : 0;

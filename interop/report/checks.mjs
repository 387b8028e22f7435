// What a report has to be in a browser and on paper.
//
// Each check returns what is wrong. `breaks` makes a copy of a report in which the check has to
// find something; it returns the same text where the report has nothing to break.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export const DESKTOP = { width: 1400, height: 900 };
export const PHONE = { width: 390, height: 844, isMobile: true, hasTouch: true };

// Landscape, less the margins of the style sheet, in CSS pixels: the lower of A4 and Letter.
const PAGE_HEIGHT = ((210 - 24) / 25.4) * 96;

const style = (css) => (html) => html.replace('</style>', `${css}</style>`);

/** The page of a report at a size; `prepare` is called before it loads. */
export async function open(browser, file, size, prepare = () => {}) {
  const page = await browser.newPage();
  await page.setViewport(size);
  await prepare(page);
  await page.goto(pathToFileURL(file).href);
  return page;
}

async function on(browser, file, size, act, prepare) {
  const page = await open(browser, file, size, prepare);
  try {
    return await act(page);
  } finally {
    await page.close();
  }
}

/** The pages of a PDF as text without blanks, in the order in which they were drawn. */
function printed(pdf) {
  const text = execFileSync('pdftotext', ['-raw', pdf, '-'], { maxBuffer: 1 << 28 }).toString();
  return text.split('\f').map((page) => page.replace(/\s/gu, ''));
}

/** Words of a PDF beyond the edges of their pages. */
function beyond(pdf) {
  const boxes = execFileSync('pdftotext', ['-bbox', pdf, '-'], { maxBuffer: 1 << 28 }).toString();
  let width = 0;
  const found = [];
  for (const line of boxes.split('\n')) {
    const [, page] = line.match(/<page width="([\d.]+)"/) ?? [];
    width = Number(page ?? width);
    const [, right, word] = line.match(/<word .*xMax="([\d.]+)".*>(.*)<\/word>/) ?? [];
    if (Number(right) > width) found.push(word);
  }
  return found;
}

/** Texts that a print must have: rows of tables, figures, folded parts. */
function texts() {
  const bare = (node) => {
    const copy = node.cloneNode(true);
    for (const it of copy.querySelectorAll('.enlarge,svg title,svg desc,svg style')) it.remove();
    return copy.textContent.replace(/\s/gu, '');
  };
  const all = (what) => [...document.querySelectorAll(what)];
  const folded = all('details').flatMap((it) => [...it.children].slice(1));
  return {
    rows: all('tr').map(bare),
    figures: all('figure').map(bare),
    folded: folded.filter((it) => !it.querySelector('figure,table')).map(bare),
  };
}

async function overflow(browser, file) {
  const found = [];
  for (const size of [DESKTOP, PHONE]) {
    const wide = await on(browser, file, size, (page) =>
      page.evaluate(() => {
        for (const it of document.querySelectorAll('details')) it.open = true;
        return Math.max(document.documentElement.scrollWidth, document.body.scrollWidth);
      }));
    if (wide > size.width) found.push(`${wide} pixels wide at ${size.width}`);
  }
  return found;
}

/** Rows and controllers of the first tables of each plan are visible without scrolling aside. */
async function columns(browser, file) {
  return on(browser, file, DESKTOP, (page) =>
    page.evaluate(() => {
      const found = [];
      for (const plan of document.querySelectorAll('section')) {
        const tables = [...plan.querySelectorAll('table')].filter((it) => it.checkVisibility());
        if (!tables.length) found.push('no table');
        for (const table of tables.slice(0, 2)) {
          const box = table.closest('.scroll').getBoundingClientRect();
          const right = Math.min(box.right, window.innerWidth);
          const cells = [...table.querySelectorAll('thead th, tbody th, .name')];
          const names = cells.filter((it) => it.matches('.name'));
          if (!names.length) found.push('no controller');
          for (const cell of cells) {
            const { left, right: end, width } = cell.getBoundingClientRect();
            if (width === 0 || left < box.left - 1 || end > right + 1) {
              found.push(`${cell.textContent} is off the screen`);
            }
          }
        }
      }
      return found;
    }));
}

/** A verdict that names a controller is on the first screen. */
async function verdict(browser, file) {
  const found = [];
  for (const size of [DESKTOP, PHONE]) {
    const sentence = await on(browser, file, size, (page) =>
      page.evaluate(() => {
        const items = [...document.querySelectorAll('li')];
        const sentence = items.find((it) => /\b(is|are) best|share the lead|no row/.test(it.textContent));
        const { bottom } = sentence?.getBoundingClientRect() ?? {};
        return bottom <= window.innerHeight;
      }));
    if (!sentence) found.push(`no verdict on the first screen at ${size.width}`);
  }
  return found;
}

async function contrast(browser, file) {
  const found = [];
  for (const [scheme, size] of [['light', DESKTOP], ['dark', DESKTOP], ['light', PHONE]]) {
    const set = (page) =>
      page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    const violations = await on(browser, file, size, async (page) => {
      await page.evaluate(axe);
      return page.evaluate(async () => {
        for (const it of document.querySelectorAll('details')) it.open = true;
        const { violations } = await window.axe.run();
        return violations.map(({ id, nodes }) => `${id}: ${nodes[0].target} (${nodes.length})`);
      });
    }, set);
    found.push(...violations.map((it) => `${scheme}, ${size.width}: ${it}`));
  }
  return found;
}

async function sorting(browser, file) {
  return on(browser, file, DESKTOP, async (page) => {
    const column = () =>
      page.evaluate(() => {
        const table = document.querySelector('.scroll table');
        const heads = [...table.querySelectorAll('thead th')];
        const cells = [...table.tBodies[0].rows].map((row) => row.cells[1].textContent);
        return { way: heads[1].getAttribute('aria-sort'), values: cells.map(parseFloat) };
      });
    const ordered = (values, way) =>
      values.every((value, place) => place === 0 || (value - values[place - 1]) * way >= 0);
    const button = await page.$('.scroll table thead th:nth-child(2) button');
    if (!button) return ['no button in the head of a table'];
    const found = [];
    const before = await column();
    if (before.way) found.push('sorted before the first click');
    // By the pointer, then by the keyboard.
    for (const [name, way, act] of [
      ['ascending', 1, () => button.click()],
      ['descending', -1, () => button.press('Enter')],
    ]) {
      await act();
      const after = await column();
      if (after.way !== name) found.push(`${after.way} where ${name} is expected`);
      if (!ordered(after.values, way)) found.push(`${after.values} are not ${name}`);
      const same = (values) => [...values].sort().join();
      if (same(after.values) !== same(before.values)) found.push('rows got lost');
    }
    return found;
  });
}

/** Focus is visible, `enlarge` enlarges, and the legend of a large figure hides a curve. */
async function keyboard(browser, file) {
  return on(browser, file, DESKTOP, async (page) => {
    const found = [];
    await page.keyboard.press('Tab');
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    if (outline === 'none') found.push('focus is invisible');
    const boxes = await page.$$eval('.scroll', (all) => all.filter((it) => it.tabIndex < 0).length);
    if (boxes) found.push(`${boxes} boxes out of reach`);
    const figure = await page.evaluateHandle(() => {
      for (const it of document.querySelectorAll('details')) it.open = true;
      const curves = document.querySelector('figure text[data-l]');
      return (curves ?? document.querySelector('.enlarge'))?.closest('figure');
    });
    const enlarge = await figure.$?.('.enlarge');
    if (!enlarge) return [...found, 'nothing to enlarge'];
    const wide = () => figure.evaluate((it) => it.getBoundingClientRect().width);
    const before = await wide();
    await enlarge.focus();
    await page.keyboard.press('Enter');
    if ((await wide()) <= 1.2 * before) found.push('no larger than before');
    const entry = await figure.$('text[data-l]');
    if (!entry) return found;
    await entry.evaluate((it) => it.focus());
    await page.keyboard.press('Enter');
    const hidden = await entry.evaluate((it) => {
      const name = it.dataset.l;
      const marks = [...it.closest('svg').querySelectorAll('[data-s]')];
      const own = marks.filter((mark) => mark.dataset.s === name);
      const focused = document.activeElement === it;
      return focused && own.every((mark) => mark.style.display === 'none');
    });
    if (!hidden) found.push('the legend does not hide a curve');
    return found;
  });
}

async function requests(browser, file) {
  const found = [];
  await on(browser, file, DESKTOP, async (page) => {
    const button = await page.$('.enlarge');
    await button?.click();
    await new Promise((done) => setTimeout(done, 300));
  }, (page) => page.on('request', (request) => {
    const url = request.url();
    if (url !== pathToFileURL(file).href && !url.startsWith('data:')) found.push(url);
  }));
  return found;
}

/** Without script, all rows and figures are there, and no control that does nothing. */
async function scriptless(browser, file) {
  const count = (page) =>
    page.evaluate(() => {
      for (const it of document.querySelectorAll('details')) it.open = true;
      const shown = (what) =>
        [...document.querySelectorAll(what)].filter((it) => it.checkVisibility()).length;
      return ['tr', 'figure svg', 'details', 'td', 'button'].map(shown);
    });
  const [withIt, without] = [
    await on(browser, file, DESKTOP, count),
    await on(browser, file, DESKTOP, count, (page) => page.setJavaScriptEnabled(false)),
  ];
  const found = [];
  if (withIt.slice(0, 4).join() !== without.slice(0, 4).join()) {
    found.push(`rows, figures, folds, cells: ${without.slice(0, 4)} without script, not ${withIt.slice(0, 4)}`);
  }
  if (without[4]) found.push(`${without[4]} buttons without script`);
  return found;
}

/** The print has each row in one piece, all folded parts, and each figure on one page. */
async function print(browser, file) {
  const found = [];
  await on(browser, file, DESKTOP, async (page) => {
    const { rows, figures, folded } = await page.evaluate(texts);
    for (const format of ['A4', 'Letter']) {
      const pdf = file.replace(/\.html$/, `.${format}.pdf`);
      writeFileSync(pdf, await page.pdf({ format, preferCSSPageSize: true }));
      const pages = printed(pdf);
      const whole = pages.join('');
      const miss = (what, all, has) => {
        const missing = all.filter((text) => !has(text));
        if (missing.length) {
          const first = missing[0].slice(0, 60);
          found.push(`${format}: ${missing.length} of ${all.length} ${what}: ${first}`);
        }
      };
      miss('rows cut or missing', rows, (text) => whole.includes(text));
      miss('folded parts missing', folded, (text) => whole.includes(text.slice(0, 40)));
      miss('figures split or missing', figures, (text) => pages.some((it) => it.includes(text)));
      const words = beyond(pdf);
      if (words.length) found.push(`${format}: ${words.length} words off the page: ${words[0]}`);
    }
  });
  return found;
}

/** No figure is taller than a page of print. */
async function tall(browser, file) {
  // The width of Letter less its margins.
  const size = { width: Math.floor(((279 - 24) / 25.4) * 96), height: Math.floor(PAGE_HEIGHT) };
  return on(browser, file, size, (page) =>
    page.evaluate((most) => {
      const figures = [...document.querySelectorAll('figure')];
      const height = (figure) => figure.getBoundingClientRect().height;
      const tall = figures.filter((figure) => height(figure) > most);
      const title = (figure) => figure.querySelector('strong')?.textContent ?? 'a figure';
      return tall.map((it) => `${title(it)} is ${Math.round(height(it))} pixels tall`);
    }, PAGE_HEIGHT), (page) => page.emulateMediaType('print'));
}

export const CHECKS = [
  { name: 'overflow', check: overflow, breaks: style('h1{width:3000px}') },
  { name: 'columns', check: columns, breaks: style('td,th{min-width:12rem}') },
  { name: 'verdict', check: verdict, breaks: style('header{min-height:2000px}') },
  { name: 'axe', check: contrast, breaks: style('p,li{color:#bbb}') },
  {
    name: 'sorting',
    check: sorting,
    breaks: (html) => html.replace("=== 'ascending'", "=== 'never'"),
  },
  { name: 'keyboard', check: keyboard, breaks: style('*{outline:none!important}') },
  {
    name: 'requests',
    check: requests,
    breaks: (html) => html.replace('</main>', '<img src="logo.png" alt=""></main>'),
  },
  {
    name: 'scriptless',
    check: scriptless,
    breaks: (html) => html.replace('</main>', '<button>sort</button></main>'),
  },
  { name: 'print', check: print, breaks: style('@media print{.scroll{max-width:9cm;overflow:hidden}}') },
  {
    name: 'print, folded',
    check: print,
    breaks: (html) => html.replace('details::details-content', '.none'),
  },
  {
    name: 'print, split',
    check: print,
    breaks: style('@media print{figure{break-inside:auto!important;margin-top:11cm}}'),
  },
  { name: 'tall', check: tall, breaks: style('figure{min-height:40cm}') },
];

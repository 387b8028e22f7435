// What a report has to be in a browser and on paper.
//
// Each check returns what is wrong, in words.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export const DESKTOP = { width: 1400, height: 900 };
export const PHONE = { width: 390, height: 844, isMobile: true, hasTouch: true };

// Landscape less the margins of the style sheet, in CSS pixels: as wide as Letter, as high as A4.
const pixels = (millimetres) => Math.floor((millimetres / 25.4) * 96);
const PAPER = { width: pixels(279.4 - 24), height: pixels(210 - 24) };

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
        const verdict = /\b(is|are) best|share the lead|no row/;
        const items = [...document.querySelectorAll('li')];
        const sentence = items.find((it) => verdict.test(it.textContent));
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
        const { violations } = await window.axe.run({ resultTypes: ['violations'] });
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
    const outline = await page.evaluate(
      () => getComputedStyle(document.activeElement).outlineStyle,
    );
    if (outline === 'none') found.push('focus is invisible');
    const boxes = await page.$$eval('.scroll', (all) => all.filter((it) => it.tabIndex < 0).length);
    if (boxes) found.push(`${boxes} boxes out of reach`);
    const figure = await page.evaluateHandle(() => {
      for (const it of document.querySelectorAll('details')) it.open = true;
      const curves = document.querySelector('figure [data-s]');
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
      return focused && own.length > 0 && own.every((mark) => mark.style.display === 'none');
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
  const [parts, bare] = [withIt, without].map((counts) => counts.slice(0, 4).join(', '));
  if (parts !== bare) {
    found.push(`rows, figures, folds, cells: ${bare} without script; expected ${parts}`);
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
    }
  });
  return found;
}

/** No figure is taller than a page of print, and nothing wider, which Chromium would shrink. */
async function paper(browser, file) {
  return on(browser, file, PAPER, (page) =>
    page.evaluate(({ width, height }) => {
      const rooms = [...document.querySelectorAll('figure, main *')].map((it) => ({
        it,
        box: it.getBoundingClientRect(),
      }));
      const name = (it) => it.textContent.trim().slice(0, 40);
      const tall = rooms.filter(({ it, box }) => it.matches('figure') && box.height > height);
      const wide = rooms.filter(({ it, box }) => !it.closest('svg') && box.right > width + 1);
      return [
        ...tall.map(({ it, box }) => `${name(it)} is ${Math.round(box.height)} pixels tall`),
        ...wide.slice(0, 3).map(({ it, box }) => `${name(it)} ends at ${Math.round(box.right)}`),
      ];
    }, PAPER), (page) => page.emulateMediaType('print'));
}

const onPaper = (css) => style(`@media print{${css}}`);
const replace = (text, by) => (html) => html.replace(text, by);

/** The checks, each with copies that are broken for it and the words of what it has to find. */
export const CHECKS = [
  {
    name: 'overflow',
    check: overflow,
    broken: [
      [/at 1400/, style('h1{width:3000px}')],
      [/at 390/, style('h1{width:600px}')],
    ],
  },
  {
    name: 'columns',
    check: columns,
    broken: [[/bbr2 is off the screen/, style('td,th{min-width:12rem}')]],
  },
  {
    name: 'verdict',
    check: verdict,
    broken: [[/at 390/, style('main{padding-top:2000px}')]],
  },
  {
    name: 'axe',
    check: contrast,
    broken: [[/dark, 1400: color-contrast/, style('p,li{color:#555}')]],
  },
  {
    name: 'sorting',
    check: sorting,
    broken: [
      [/descending is expected/, replace("=== 'ascending'", "=== 'never'")],
      [/are not ascending/, replace('a - b : a.localeCompare(b)', 'b - a : a.localeCompare(b)')],
    ],
  },
  {
    name: 'keyboard',
    check: keyboard,
    broken: [
      [/focus/, style('*{outline:none!important}')],
      [/out of reach/, replace('class="scroll" tabindex="0"', 'class="scroll"')],
      [/no larger/, replace("classList.toggle('large')", "classList.toggle('small')")],
      [/does not hide/, replace("entry.addEventListener('keydown', toggle);", '')],
    ],
  },
  {
    name: 'requests',
    check: requests,
    broken: [[/logo/, replace('</main>', '<img src="logo.png" alt=""></main>')]],
  },
  {
    name: 'scriptless',
    check: scriptless,
    broken: [
      [/buttons/, replace('</main>', '<button>sort</button></main>')],
      [/rows/, replace('</main>', '<noscript><style>tr{display:none}</style></noscript></main>')],
    ],
  },
  {
    name: 'print',
    check: print,
    broken: [
      [/rows cut or missing/, onPaper('.scroll{max-width:9cm;overflow:hidden}')],
      [/folded parts missing/, replace('details::details-content', '.none')],
      [/figures split/, onPaper('figure{break-inside:auto!important;margin-top:11cm}')],
    ],
  },
  {
    name: 'paper',
    check: paper,
    broken: [
      [/pixels tall/, style('figure{min-height:40cm}')],
      [/ends at/, onPaper('table{margin-left:12cm}')],
    ],
  },
];

// Sorts tables, shows values, hides curves and enlarges figures.
'use strict';
for (const table of document.querySelectorAll('.scroll table')) {
  const value = (row, column) => {
    const cell = row.cells[column];
    const text = cell?.textContent.trim() ?? '';
    if (text === '' || text === '–') return null;
    // A cell with a unit has its number in the base unit.
    const number = parseFloat(cell.dataset.v ?? text);
    return Number.isNaN(number) ? text : number;
  };
  const compare = (a, b, sign) => {
    if (a === null || b === null) return (a === null) - (b === null);
    if (typeof a === 'number' && typeof b === 'number') return sign * (a - b);
    if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;
    return sign * a.localeCompare(b, undefined, { numeric: true });
  };
  const heads = [...table.querySelectorAll('thead tr:last-child th')];
  if ([...table.querySelectorAll('[colspan],[rowspan]')].length) continue;
  heads.forEach((head, column) => {
    const sort = () => {
      const down = head.getAttribute('aria-sort') === 'ascending';
      heads.forEach((other) => other.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      const body = table.tBodies[0];
      const rows = [...body.rows];
      rows.sort((a, b) => compare(value(a, column), value(b, column), down ? -1 : 1));
      body.append(...rows);
    };
    const button = document.createElement('button');
    button.type = 'button';
    button.title = 'sort';
    button.append(...head.childNodes);
    button.addEventListener('click', sort);
    head.append(button);
  });
}
const tip = document.createElement('div');
tip.className = 'tip';
tip.hidden = true;
document.body.append(tip);
const digits = (value) => String(Number(value.toPrecision(4)));
function axis(text) {
  const [from, to, kind] = text.split(' ');
  const [a, b] = [Number(from), Number(to)];
  const log = kind === 'log';
  return (share) => (log ? a * (b / a) ** share : a + (b - a) * share);
}
for (const svg of document.querySelectorAll('figure svg')) {
  const plots = [...svg.querySelectorAll('[data-x]')];
  const lines = [...svg.querySelectorAll('polyline[data-s]')];
  svg.addEventListener('pointerleave', () => { tip.hidden = true; });
  svg.addEventListener('pointermove', (event) => {
    const at = new DOMPoint(event.clientX, event.clientY);
    const { x, y } = at.matrixTransform(svg.getScreenCTM().inverse());
    const plot = plots.find((it) => {
      const box = it.getBBox();
      return x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height;
    });
    let best = null;
    const box = plot?.getBBox();
    for (const line of plot ? lines : []) {
      if (line.style.display === 'none') continue;
      for (const { x: px, y: py } of line.points) {
        const off = Math.hypot(px - x, py - y);
        const here = py >= box.y - 1 && py <= box.y + box.height + 1;
        if (here && off < 30 && (!best || off < best.off)) best = { off, px, py, line };
      }
    }
    tip.hidden = !best;
    if (!best) return;
    const across = axis(plot.dataset.x)((best.px - box.x) / box.width);
    const up = axis(plot.dataset.y)(1 - (best.py - box.y) / box.height);
    tip.textContent = `${best.line.dataset.s}: ${digits(across)}, ${digits(up)}`;
    tip.style.left = `${event.pageX + 12}px`;
    tip.style.top = `${event.pageY + 12}px`;
  });
  for (const entry of svg.querySelectorAll('[data-l]')) {
    const name = entry.dataset.l;
    const toggle = (event) => {
      if (event.key && event.key !== 'Enter' && event.key !== ' ') return;
      event.preventDefault();
      const all = [...svg.querySelectorAll('[data-s]')].filter((it) => it.dataset.s === name);
      const hide = all.some((it) => it.style.display !== 'none');
      all.forEach((it) => { it.style.display = hide ? 'none' : ''; });
      for (const it of svg.querySelectorAll('[data-l]')) {
        if (it.dataset.l !== name) continue;
        it.style.opacity = hide ? '0.35' : '';
        if (it.tagName === 'text') it.setAttribute('aria-pressed', String(!hide));
      }
    };
    entry.style.cursor = 'pointer';
    entry.addEventListener('click', toggle);
    entry.addEventListener('keydown', toggle);
  }
  const figure = svg.closest('figure');
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'enlarge';
  button.textContent = 'enlarge';
  // The keyboard reaches the legend of a large figure.
  const adapt = () => {
    const large = figure.classList.contains('large');
    button.setAttribute('aria-pressed', String(large));
    svg.setAttribute('role', large ? 'group' : 'img');
    for (const entry of svg.querySelectorAll('text[data-l]')) {
      entry.setAttribute('role', 'button');
      if (large) entry.setAttribute('tabindex', '0');
      else entry.removeAttribute('tabindex');
    }
  };
  button.addEventListener('click', () => {
    figure.classList.toggle('large');
    adapt();
  });
  adapt();
  svg.after(button);
}

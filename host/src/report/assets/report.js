'use strict';
(() => {
  const root = document.documentElement, $ = (id) => document.getElementById(id);
  root.classList.add('script');
  const data = JSON.parse($('data').textContent);
  const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/', DECADES = 3;
  const style = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  // A canvas of css size w x h, sharp on every screen.
  function prepare(canvas, w, h) {
    const ratio = Math.min(3, window.devicePixelRatio || 1);
    canvas.width = Math.round(w * ratio);
    canvas.height = Math.round(h * ratio);
    canvas.style.width = w + 'px';
    const g = canvas.getContext('2d');
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.font = '10px system-ui, sans-serif';
    return g;
  }
  const cut = (text, most) => text.length > most ? text.slice(0, most - 1) + '…' : text;

  // Rows: true class; columns: given class; one letter is a probability from 0.001 to 1 on a log scale.
  function heatMap(canvas, rows) {
    const names = data.classes, n = names.length, edge = Math.max(5, Math.min(52, Math.floor(300 / n)));
    const left = n > 40 ? 14 : 72, top = n > 40 ? 14 : 62, g = prepare(canvas, left + n * edge + 4, top + n * edge + 26);
    const low = style('--heat0').split(',').map(Number), high = style('--heat1').split(',').map(Number);
    const colour = (t) => 'rgb(' + low.map((v, i) => Math.round(v + (high[i] - v) * t)).join(',') + ')';
    for (let r = 0; r < n; ++r) {
      const letters = rows[r];
      for (let c = 0; c < n; ++c) {
        g.fillStyle = letters ? colour(LETTERS.indexOf(letters[c]) / 63) : style('--paper');
        g.fillRect(left + c * edge, top + r * edge, edge - (edge > 8 ? 1 : 0), edge - (edge > 8 ? 1 : 0));
      }
      if (!letters) {
        g.strokeStyle = style('--line');
        g.beginPath();
        g.moveTo(left, top + (r + .5) * edge);
        g.lineTo(left + n * edge, top + (r + .5) * edge);
        g.stroke();
      }
    }
    g.fillStyle = style('--soft');
    if (n <= 40) {
      g.textBaseline = 'middle';
      for (let i = 0; i < n; ++i) {
        if (edge < 9 && i % 2) continue;
        g.textAlign = 'right';
        g.fillText(cut(names[i], 12), left - 4, top + (i + .5) * edge);
        g.save();
        g.translate(left + (i + .5) * edge, top - 4);
        g.rotate(-Math.PI / 3);
        g.textAlign = 'left';
        g.fillText(cut(names[i], 11), 0, 0);
        g.restore();
      }
    }
    const y = top + n * edge + 8, width = Math.min(120, n * edge);
    for (let i = 0; i < width; ++i) {
      g.fillStyle = colour(i / width);
      g.fillRect(left + i, y, 1, 7);
    }
    g.fillStyle = style('--soft');
    g.textBaseline = 'top';
    g.textAlign = 'left';
    g.fillText('0.001', left, y + 8);
    g.textAlign = 'right';
    g.fillText('1', left + width, y + 8);
    canvas.title = 'rows: true class; columns: class given';
    canvas.onmousemove = (e) => {
      const scale = canvas.clientWidth ? (left + n * edge + 4) / canvas.clientWidth : 1;
      const c = Math.floor((e.offsetX * scale - left) / edge), r = Math.floor((e.offsetY * scale - top) / edge);
      if (c < 0 || r < 0 || c >= n || r >= n) { canvas.title = ''; return; }
      const p = rows[r] && Math.pow(10, DECADES * (LETTERS.indexOf(rows[r][c]) / 63 - 1));
      canvas.title = names[r] + ' called ' + names[c] + ': ' + (rows[r] ? (p <= .00105 ? 'at most 0.001' : p.toPrecision(2)) : 'never met');
    };
  }

  // Four densities below each other.
  function gaussians(canvas, who, all) {
    const w = 380, each = 74, g = prepare(canvas, w, 4 * each + 18);
    let low = Infinity, high = -Infinity;
    for (const s of [who, all]) for (let i = 0; i < 4; ++i) {
      low = Math.min(low, s.m[i] - 3 * s.s[i]);
      high = Math.max(high, s.m[i] + 3 * s.s[i]);
    }
    const x = (v) => 60 + (w - 70) * (v - low) / (high - low);
    for (let i = 0; i < 4; ++i) {
      const base = (i + 1) * each - 6, tall = each - 16, peak = Math.max(1 / who.s[i], 1 / all.s[i]);
      const path = (s) => {
        g.beginPath();
        for (let n = 0; n <= 150; ++n) {
          const v = low + (high - low) * n / 150, z = (v - s.m[i]) / s.s[i], h = Math.exp(-z * z / 2) / s.s[i] / peak;
          if (n) g.lineTo(x(v), base - tall * h); else g.moveTo(x(v), base - tall * h);
        }
      };
      g.strokeStyle = style('--line');
      g.beginPath();
      g.moveTo(x(low), base);
      g.lineTo(x(high), base);
      g.moveTo(x(0), base);
      g.lineTo(x(0), base - tall);
      g.stroke();
      path(who);
      g.lineTo(x(high), base);
      g.lineTo(x(low), base);
      g.globalAlpha = .55;
      g.fillStyle = style('--c0');
      g.fill();
      g.globalAlpha = 1;
      path(all);
      g.strokeStyle = style('--c1');
      g.lineWidth = 1.5;
      g.stroke();
      g.lineWidth = 1;
      g.fillStyle = style('--ink');
      g.textAlign = 'right';
      g.textBaseline = 'middle';
      g.fillText(data.errors[i], 54, base - tall / 2);
    }
    g.fillStyle = style('--soft');
    g.textBaseline = 'top';
    g.textAlign = 'left';
    g.fillText(low.toPrecision(2), x(low), 4 * each);
    g.textAlign = 'right';
    g.fillText(high.toPrecision(2), x(high), 4 * each);
  }

  let chosen = -1;
  function choose(k) {
    if (!data.annotators || !data.annotators[k]) return;
    chosen = k;
    const who = data.annotators[k];
    $('who').value = String(k);
    for (const row of document.querySelectorAll('#annotator-table tr.chosen')) row.classList.remove('chosen');
    const row = document.querySelector('#annotator-table tr[data-k="' + k + '"]');
    if (row) row.classList.add('chosen');
    if (data.classes.length > 1) heatMap($('one-confusion'), who.c); else $('one-confusion').parentNode.style.display = 'none';
    $('one-note').textContent = data.classes.length < data.all_classes
      ? 'The ' + data.classes.length + ' most used of ' + data.all_classes + ' classes. Struck rows: never met.'
      : 'Rows: true class; columns: class given. Struck rows: never met.';
    gaussians($('one-box'), who, data.groups[data.groups.length - 1]);
  }

  function draw() {
    for (const canvas of document.querySelectorAll('canvas.confusion')) heatMap(canvas, data.groups[canvas.dataset.group].c);
    choose(chosen);
  }

  // Sorting: numbers by value, text by letters; a second click turns the order round.
  for (const table of document.querySelectorAll('#annotator-table, #relabel-table, #experiment-table')) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      head.classList.add('sortable');
      head.tabIndex = 0;
      const numeric = head.classList.contains('n');
      const sort = () => {
        const down = head.getAttribute('aria-sort') ? head.getAttribute('aria-sort') === 'ascending' : numeric;
        for (const other of heads) other.removeAttribute('aria-sort');
        head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        const value = (row) => {
          const text = row.cells[column].textContent;
          if (!numeric) return text;
          const number = parseFloat(text);
          return Number.isNaN(number) ? -Infinity : number;
        };
        const rows = [...table.tBodies[0].rows].map((row) => [value(row), row]);
        rows.sort(([a], [b]) => (numeric ? (a < b ? -1 : a > b ? 1 : 0) : a.localeCompare(b)) * (down ? -1 : 1));
        table.tBodies[0].append(...rows.map(([, row]) => row));
      };
      head.addEventListener('click', sort);
      head.addEventListener('keydown', (e) => { if (e.key === 'Enter') sort(); });
    });
  }

  if ($('filter')) $('filter').addEventListener('input', (e) => {
    const wanted = e.target.value.toLowerCase();
    for (const row of $('annotator-table').tBodies[0].rows) row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
  });

  $('theme').addEventListener('click', () => {
    const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
    draw();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);

  if (data.annotators) {
    const options = document.createDocumentFragment();
    for (const row of $('annotator-table').tBodies[0].rows) {
      const option = document.createElement('option');
      option.value = row.dataset.k;
      option.textContent = data.annotators[row.dataset.k].n;
      options.append(option);
    }
    $('who').append(options);
    $('who').addEventListener('change', (e) => choose(Number(e.target.value)));
    $('annotator-table').tBodies[0].addEventListener('click', (e) => {
      const row = e.target.closest('tr');
      if (!row) return;
      choose(Number(row.dataset.k));
      $('one').scrollIntoView({behavior: 'smooth', block: 'nearest'});
    });
    const first = $('annotator-table').tBodies[0].rows[0];
    chosen = first ? Number(first.dataset.k) : -1;
  }
  draw();
})();

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
  // At most so many letters: of longer names the beginning and a little of the end, where numbers stand.
  const cut = (text, most) => {
    const letters = [...text];
    return letters.length > most ? letters.slice(0, most - 6).join('') + '…' + letters.slice(-5).join('') : text;
  };
  // A name inside a sentence, kept from turning it round.
  const isolated = (name) => '\u2068' + cut(name, 40) + '\u2069';

  // A picture for those who do not see it: what it shows, in words.
  function describe(canvas, words) {
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', words);
  }

  // Rows: true class; columns: given class; one letter is a probability from 0.001 to 1 on a log scale. As large as there
  // is room for, but no smaller than that every class can be named: beyond that its box scrolls.
  function heatMap(canvas, rows) {
    if (!canvas.parentNode.classList.contains('map-box')) {
      const box = document.createElement('div');
      box.className = 'map-box';
      canvas.replaceWith(box);
      box.append(canvas);
      if (data.classes.length > 30) box.closest('.cards').classList.add('wide');
      if (data.classes.length > 15) box.tabIndex = 0;
    }
    const names = data.classes.map((name) => cut(name, 16)), n = names.length, steep = n > 15 ? Math.PI / 2 : Math.PI / 3;
    let g = prepare(canvas, 10, 10);
    const widths = names.map((name) => g.measureText(name).width), longest = Math.max(...widths);
    const left = Math.ceil(longest) + 8, top = Math.ceil(longest * Math.sin(steep)) + 16, room = canvas.parentNode.clientWidth || 340;
    const beyond = (edge) => Math.ceil(Math.max(4, ...widths.map((w, i) => w * Math.cos(steep) + 6 - (n - i - .5) * edge)));
    let edge = Math.max(11, Math.min(52, Math.floor((room - left - 4) / n)));
    while (edge > 11 && left + n * edge + beyond(edge) > room) --edge;
    const wide = left + n * edge + beyond(edge), gap = edge > 8 ? 1 : 0;
    g = prepare(canvas, wide, top + n * edge + 26);
    const low = style('--heat0').split(',').map(Number), high = style('--heat1').split(',').map(Number);
    const colour = (t) => 'rgb(' + low.map((v, i) => Math.round(v + (high[i] - v) * t)).join(',') + ')';
    const paper = style('--paper'), line = style('--line'), soft = style('--soft');
    for (let r = 0; r < n; ++r) {
      const letters = rows[r];
      for (let c = 0; c < n; ++c) {
        g.fillStyle = letters ? colour(LETTERS.indexOf(letters[c]) / 63) : paper;
        g.fillRect(left + c * edge, top + r * edge, edge - gap, edge - gap);
      }
      if (!letters) {
        g.strokeStyle = line;
        g.beginPath();
        g.moveTo(left, top + (r + .5) * edge);
        g.lineTo(left + n * edge, top + (r + .5) * edge);
        g.stroke();
      }
    }
    g.fillStyle = soft;
    g.textBaseline = 'middle';
    for (let i = 0; i < n; ++i) {
      g.textAlign = 'right';
      g.fillText(names[i], left - 4, top + (i + .5) * edge);
      g.save();
      g.translate(left + (i + .5) * edge, top - 4);
      g.rotate(-steep);
      g.textAlign = 'left';
      g.fillText(names[i], 0, 0);
      g.restore();
    }
    const y = top + n * edge + 8, width = Math.min(120, n * edge);
    for (let i = 0; i < width; ++i) {
      g.fillStyle = colour(i / width);
      g.fillRect(left + i, y, 1, 7);
    }
    g.fillStyle = soft;
    g.textBaseline = 'top';
    g.textAlign = 'left';
    g.fillText('0.001', left, y + 8);
    g.textAlign = 'right';
    g.fillText('1', left + width, y + 8);
    canvas.onmousemove = (e) => {
      const scale = canvas.clientWidth ? wide / canvas.clientWidth : 1;
      const c = Math.floor((e.offsetX * scale - left) / edge), r = Math.floor((e.offsetY * scale - top) / edge);
      if (c < 0 || r < 0 || c >= n || r >= n) { canvas.title = ''; return; }
      const p = rows[r] && Math.pow(10, DECADES * (LETTERS.indexOf(rows[r][c]) / 63 - 1));
      canvas.title = data.classes[r] + ' called ' + data.classes[c] + ': ' + (rows[r] ? (p <= .00105 ? 'at most 0.001' : p.toPrecision(2)) : 'never met');
    };
  }
  const key = () => 'Rows: true class; columns: class given. Struck rows: never met.' + (data.classes.length < data.all_classes
    ? ' The ' + data.classes.length + ' most used of ' + data.all_classes + ' classes.' : '');

  // What the map of one annotator says, in words.
  function confusions(who) {
    if (!who.t.length) return 'No class is mistaken for another.';
    return 'Most frequent confusions: ' + who.t.map(([truth, given, times, met]) =>
      isolated(data.classes[truth]) + ' called ' + isolated(data.classes[given]) + ' ' + times + ' of ' + met + ' times').join('; ') + '.';
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
    if (data.classes.length > 1) {
      heatMap($('one-confusion'), who.c);
      describe($('one-confusion'), 'Confusion of ' + isolated(who.n) + '. ' + confusions(who));
      $('one-note').textContent = confusions(who) + ' ' + key();
    } else {
      $('one-confusion').closest('.card').style.display = 'none';
    }
    if (data.errors.length > 0) {
      gaussians($('one-box'), who, data.groups[data.groups.length - 1]);
      describe($('one-box'), 'Box errors of ' + isolated(who.n) + ', mean ± deviation: ' +
        data.errors.map((name, i) => name + ' ' + who.m[i] + ' ± ' + who.s[i]).join(', '));
    } else {
      $('one-box').closest('.card').style.display = 'none';
    }
  }

  function draw() {
    for (const canvas of document.querySelectorAll('canvas.confusion')) {
      heatMap(canvas, data.groups[canvas.dataset.group].c);
      if (canvas.hasAttribute('role')) continue;
      const card = canvas.closest('.card'), note = document.createElement('p');
      describe(canvas, 'Confusion of ' + card.querySelector('h4').textContent + '; its most common confusions are in the table above');
      note.className = 'note';
      note.textContent = key();
      card.append(note);
    }
    choose(chosen);
  }

  // Sorting: numbers by value, names with their numbers by value too; a second click turns the order round; what is
  // missing stays last.
  const order = new Intl.Collator(undefined, {numeric: true});
  for (const table of document.querySelectorAll('#annotator-table, #relabel-table, #plan-table, #plan-people, #experiment-table')) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const numeric = head.classList.contains('n'), button = document.createElement('button');
      button.type = 'button';
      button.append(...head.childNodes);
      head.append(button);
      head.setAttribute('aria-sort', 'none');
      head.addEventListener('click', () => {
        const before = head.getAttribute('aria-sort'), down = before === 'none' ? numeric : before === 'ascending';
        for (const other of heads) other.setAttribute('aria-sort', 'none');
        head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        const value = (row) => numeric ? parseFloat(row.cells[column].textContent) : row.cells[column].textContent;
        const missing = (v) => numeric ? Number.isNaN(v) : v === '' || v === '–';
        const rows = [...table.tBodies[0].rows].map((row) => [value(row), row]);
        rows.sort(([a], [b]) => missing(a) || missing(b) ? missing(a) - missing(b)
          : (numeric ? a - b : order.compare(a, b)) * (down ? -1 : 1));
        table.tBodies[0].append(...rows.map(([, row]) => row));
      });
    });
  }

  // For keyboards and readers of the screen: every heading is one, what scrolls can be scrolled with keys.
  for (const head of document.querySelectorAll('thead th')) head.scope = 'col';
  for (const box of document.querySelectorAll('.scroll, table.small')) {
    box.tabIndex = 0;
    if (box.tagName !== 'DIV') continue;
    box.setAttribute('role', 'region');
    box.setAttribute('aria-label', 'Table: ' + box.closest('section').querySelector('h2').textContent);
  }

  // What the headings' tooltips say, for those without a mouse.
  for (const table of document.querySelectorAll('table')) {
    const heads = [...table.tHead.rows[0].cells].filter((head) => head.title);
    if (!heads.length) continue;
    const box = document.createElement('details'), summary = document.createElement('summary'), list = document.createElement('dl');
    box.className = 'columns';
    summary.textContent = 'What the columns mean';
    for (const head of heads) {
      list.append(document.createElement('dt'), document.createElement('dd'));
      list.children[list.children.length - 2].textContent = head.textContent;
      list.lastChild.textContent = head.title;
    }
    box.append(summary, list);
    (table.closest('.scroll') || table).after(box);
  }

  // A click, or Enter, enlarges a picture of the gallery and makes it small again.
  for (const panel of document.querySelectorAll('.panel')) {
    panel.tabIndex = 0;
    panel.setAttribute('role', 'button');
    panel.setAttribute('aria-expanded', 'false');
    const turn = () => {
      panel.setAttribute('aria-expanded', String(panel.classList.toggle('large')));
      if (panel.classList.contains('large')) panel.scrollIntoView({block: 'nearest'});
    };
    panel.addEventListener('click', turn);
    panel.addEventListener('keydown', (e) => {
      if (e.key !== 'Enter' && e.key !== ' ' && !(e.key === 'Escape' && panel.classList.contains('large'))) return;
      e.preventDefault();
      turn();
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
  let waiting = 0, drawnWidth = innerWidth;
  addEventListener('resize', () => {
    clearTimeout(waiting);
    if (innerWidth !== drawnWidth) waiting = setTimeout(() => { drawnWidth = innerWidth; draw(); }, 150);
  });

  // On paper: light, and everything open.
  let theme, closed = [];
  addEventListener('beforeprint', () => {
    theme = root.dataset.theme;
    closed = [...document.querySelectorAll('details:not([open])')];
    for (const box of closed) box.open = true;
    root.dataset.theme = 'light';
    draw();
  });
  addEventListener('afterprint', () => {
    for (const box of closed) box.open = false;
    if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
    draw();
  });

  if (data.annotators) {
    const options = document.createDocumentFragment();
    for (const row of $('annotator-table').tBodies[0].rows) {
      if (!data.annotators[row.dataset.k]) continue;  // nothing is known of them
      const option = document.createElement('option');
      option.value = row.dataset.k;
      option.textContent = data.annotators[row.dataset.k].n;
      options.append(option);
    }
    $('who').append(options);
    $('who').addEventListener('change', (e) => choose(Number(e.target.value)));
    $('annotator-table').tBodies[0].addEventListener('click', (e) => {
      const row = e.target.closest('tr');
      if (!row || !data.annotators[row.dataset.k]) return;
      choose(Number(row.dataset.k));
      $('one').scrollIntoView({behavior: 'smooth', block: 'nearest'});
    });
    const first = $('annotator-table').tBodies[0].rows[0];
    chosen = first ? Number(first.dataset.k) : -1;
  }
  draw();
})();

'use strict';
// The part of the page where a trusted person settles places. Works from the file alone; what is decided is kept in the
// browser (localStorage) until it is saved as a file.
(() => {
  const app = document.getElementById('settle-app');
  if (!app) return;
  const data = JSON.parse(document.getElementById('settle-data').textContent);
  const places = data.places, classes = data.classes, parsed = document.createElement('template');
  parsed.innerHTML = '<svg></svg>';
  const NS = parsed.content.firstChild.namespaceURI;
  const storeKey = 'bdc-decisions-' + data.key;

  // What is decided: {verdict, box, label, fresh} by place; several objects may be drawn anew at a place.
  let state = {decided: {}, drawn: []}, past = [], at = 0, edit = null, drawing = false, kept = true;
  try {
    const old = JSON.parse(localStorage.getItem(storeKey) || 'null');
    if (old && old.decided && Array.isArray(old.drawn)) state = old;
  } catch (e) { kept = false; }

  const element = (tag, attributes, ...children) => {
    const out = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) out.setAttribute(name, value);
    out.append(...children);
    return out;
  };
  const shape = (tag, attributes, title) => {
    const out = document.createElementNS(NS, tag);
    for (const [name, value] of Object.entries(attributes)) out.setAttribute(name, value);
    if (title) {
      const text = document.createElementNS(NS, 'title');
      text.textContent = title;
      out.append(text);
    }
    return out;
  };
  const rectangle = (b, attributes, title) => shape('rect', {x: b[0], y: b[1], width: b[2], height: b[3], ...attributes}, title);
  const className = (label) => classes[label] === '' ? '(no name)' : classes[label];

  // ---- the state
  function remember() {
    try {
      localStorage.setItem(storeKey, JSON.stringify(state));
      kept = true;
    } catch (e) { kept = false; }
  }
  function change(action) {
    past.push(JSON.stringify(state));
    action();
    remember();
  }
  function undo() {
    if (!past.length) return say('Nothing to undo.');
    state = JSON.parse(past.pop());
    remember();
    begin(at);
    say('Undone.');
  }
  // What the box and class are before anything is changed.
  function proposal(n) {
    const old = state.decided[n];
    if (old && old.verdict === 'object') return {box: old.box.slice(), label: old.label, fresh: false};
    return {box: places[n].place.slice(), label: places[n].label, fresh: false};
  }
  function begin(n) {
    at = (n + places.length) % places.length;
    edit = proposal(at);
    drawing = false;
    show();
  }
  function next() {
    for (let step = 1; step <= places.length; ++step) {
      const n = (at + step) % places.length;
      if (!state.decided[n]) return begin(n);
    }
    begin(at);
    say('Every place is decided. Save the file.');
  }
  function accept() {
    const fresh = edit.fresh, box = edit.box.map((v) => Math.round(v * 100) / 100), label = edit.label;
    if (!(box[2] > 0 && box[3] > 0)) return say('The box has no size.');
    change(() => {
      if (fresh) state.drawn.push({place: at, box, label});
      else state.decided[at] = {verdict: 'object', box, label};
    });
    if (fresh) {
      begin(at);
      say('A new object: ' + className(label) + '. The place itself is still to be decided.');
    } else {
      const text = 'Accepted: ' + className(label) + '.';
      next();
      say(text);
    }
  }
  function reject() {
    if (edit.fresh) return begin(at);
    change(() => { state.decided[at] = {verdict: 'nothing'}; });
    next();
    say('Rejected: nothing is there.');
  }
  function clear() {
    if (!state.decided[at] && !state.drawn.some((d) => d.place === at)) return begin(at);
    change(() => {
      delete state.decided[at];
      state.drawn = state.drawn.filter((d) => d.place !== at);
    });
    begin(at);
    say('No longer decided.');
  }
  function draw() {
    const [x1, y1, x2, y2] = places[at].region, w = (x2 - x1) / 4, h = (y2 - y1) / 4;
    edit = {box: [(x1 + x2 - w) / 2, (y1 + y2 - h) / 2, w, h], label: edit.label, fresh: true};
    drawing = true;
    show();
    say('Draw the object with the mouse, or move this box with the arrow keys. A: accept it. Escape: leave it.');
  }
  function name(label) {
    if (label < 0 || label >= classes.length) return;
    edit.label = label;
    show();
    say('Class: ' + className(label) + '. A: accept.');
  }
  // Inside the image, at least a pixel large.
  function confined(box) {
    const [W, H] = places[at].size, out = box.slice();
    out[2] = Math.max(1, out[2]);
    out[3] = Math.max(1, out[3]);
    if (W > 0) {
      out[2] = Math.min(out[2], W);
      out[0] = Math.min(Math.max(0, out[0]), W - out[2]);
    }
    if (H > 0) {
      out[3] = Math.min(out[3], H);
      out[1] = Math.min(Math.max(0, out[1]), H - out[3]);
    }
    return out;
  }
  function nudge(dx, dy, sizes) {
    const b = edit.box;
    edit.box = confined(sizes ? [b[0], b[1], b[2] + dx, b[3] + dy] : [b[0] + dx, b[1] + dy, b[2], b[3]]);
    show();
  }

  // ---- the file
  function file() {
    const whole = (place) => ({image_id: place.id, file_name: place.file});
    const list = [];
    for (const [n, d] of Object.entries(state.decided)) {
      const place = places[n];
      if (!place) continue;
      list.push(d.verdict === 'object'
        ? {...whole(place), verdict: 'object', category: classes[d.label], bbox: d.box, place: place.place}
        : {...whole(place), verdict: 'nothing', place: place.place});
    }
    for (const d of state.drawn) {
      if (places[d.place]) list.push({...whole(places[d.place]), verdict: 'object', category: classes[d.label], bbox: d.box, place: null});
    }
    return JSON.stringify({format: 'bdc_decisions', version: 1, decisions: list}, null, 1) + '\n';
  }
  function save() {
    const link = element('a', {download: 'decisions.json', href: 'data:application/json;charset=utf-8,' + encodeURIComponent(file())});
    document.body.append(link);
    link.click();
    link.remove();
    say('Saved as decisions.json: bdc-host aggregate --decisions decisions.json');
  }

  // ---- the view
  const svg = shape('svg', {class: 'pic', role: 'img', tabindex: '-1'}), title = element('h3', {}), facts = element('p', {class: 'note'});
  const status = element('p', {class: 'settle-say', role: 'status', 'aria-live': 'polite'}), strip = element('div', {class: 'settle-strip'});
  const choice = element('select', {'aria-label': 'class'});
  classes.forEach((one, label) => choice.append(element('option', {value: label}, (label < 9 ? (label + 1) + '  ' : '') + className(label))));
  choice.addEventListener('change', () => { name(Number(choice.value)); app.focus(); });
  const button = (text, key, action) => {
    const out = element('button', {type: 'button', title: 'key: ' + key}, text + ' ', element('kbd', {}, key));
    out.addEventListener('click', () => { action(); app.focus(); });
    return out;
  };
  const bar = element('div', {class: 'settle-bar'}, button('Accept', 'A', accept), button('Reject', 'R', reject), choice,
    button('Draw', 'D', draw), button('Back', 'P', () => begin(at - 1)), button('Next', 'N', () => begin(at + 1)),
    button('Undo', 'U', undo), button('Clear', 'C', clear), button('Save', 'S', save));
  if (classes.length < 2) choice.hidden = true;
  app.append(title, facts, svg, bar, status, strip);
  app.tabIndex = 0;
  app.setAttribute('role', 'group');
  app.setAttribute('aria-label', 'Settle disputed places');
  const say = (text) => { status.textContent = text + (kept ? '' : ' (This browser keeps nothing: save before you leave.)'); };
  places.forEach((place, n) => {
    const one = element('button', {type: 'button', 'aria-label': 'place ' + (n + 1)}, String(n + 1));
    one.addEventListener('click', () => { begin(n); app.focus(); });
    strip.append(one);
  });

  function show() {
    const place = places[at], [x1, y1, x2, y2] = place.region, decided = state.decided[at];
    svg.replaceChildren();
    svg.setAttribute('viewBox', [x1, y1, x2 - x1, y2 - y1].join(' '));
    svg.setAttribute('aria-label', 'Place ' + (at + 1) + ' on ' + place.file);
    svg.classList.toggle('photo', !!place.picture);
    svg.append(rectangle([x1, y1, x2 - x1, y2 - y1], {class: 'paper'}));
    if (place.picture) {
      const [a, b, w, h] = place.pictureAt;
      svg.append(shape('image', {x: a, y: b, width: w, height: h, preserveAspectRatio: 'none', href: place.picture}));
    }
    for (const box of place.others) svg.append(rectangle(box.b, {class: 'c', 'stroke-opacity': .45}, 'other object: ' + className(box.l)));
    for (const box of place.boxes) svg.append(rectangle(box.b, {class: 'a d' + box.d, style: '--h:' + box.h, 'stroke-opacity': box.far ? .35 : 1}, box.n + ': ' + className(box.l)));
    for (const d of state.drawn) {
      if (places[d.place].id === place.id && places[d.place].file === place.file) svg.append(rectangle(d.box, {class: 'settled'}, 'drawn: ' + className(d.label)));
    }
    svg.append(rectangle(edit.box, {class: 'settle-edit' + (decided && decided.verdict === 'nothing' && !edit.fresh ? ' gone' : '')}, 'this box is decided on'));
    const size = handle();
    for (const [fx, fy] of [[0, 0], [1, 0], [0, 1], [1, 1]]) {
      svg.append(shape('rect', {class: 'settle-handle', x: edit.box[0] + fx * edit.box[2] - size / 2, y: edit.box[1] + fy * edit.box[3] - size / 2, width: size, height: size}));
    }
    choice.value = edit.label;
    title.textContent = 'Place ' + (at + 1) + ' of ' + places.length + ': ' + (place.file || place.id);
    facts.textContent = (edit.fresh ? 'A new object' : decided ? 'Decided: ' + (decided.verdict === 'object' ? className(decided.label) : 'nothing is there') : 'Undecided') +
      '. The consensus: ' + className(place.label) + ' with ' + place.p.toFixed(2) + ', existence ' + place.e.toFixed(2) + ', drawn by ' + place.drawn + ' of ' + place.seen + '.';
    [...strip.children].forEach((one, n) => {
      const d = state.decided[n];
      one.className = (d ? d.verdict : '') + (n === at ? ' here' : '');
      one.setAttribute('aria-current', n === at ? 'true' : 'false');
      one.title = d ? d.verdict === 'object' ? 'accepted: ' + className(d.label) : 'rejected' : 'undecided';
    });
    const done = Object.keys(state.decided).length;
    say(done + ' of ' + places.length + ' decided' + (state.drawn.length ? ', ' + state.drawn.length + ' drawn anew' : '') + '.');
  }
  const unit = () => svg.clientWidth ? (places[at].region[2] - places[at].region[0]) / svg.clientWidth : 1;
  const handle = () => Math.max(1e-3, Math.min(8 * unit(), edit.box[2] / 3, edit.box[3] / 3));

  // ---- the mouse
  function point(e) {
    const m = svg.getScreenCTM().inverse();
    return [e.clientX * m.a + m.e, e.clientY * m.d + m.f];
  }
  let drag = null;
  svg.addEventListener('pointerdown', (e) => {
    const [x, y] = point(e), b = edit.box, near = 9 * unit();
    const left = Math.abs(x - b[0]) < near, right = Math.abs(x - b[0] - b[2]) < near, top = Math.abs(y - b[1]) < near, bottom = Math.abs(y - b[1] - b[3]) < near;
    const within = x > b[0] - near && x < b[0] + b[2] + near && y > b[1] - near && y < b[1] + b[3] + near;
    if (drawing) drag = {kind: 'draw', x, y};
    else if (within && (left || right || top || bottom)) drag = {kind: 'edge', left, right, top, bottom, box: b.slice()};
    else if (within) drag = {kind: 'move', x, y, box: b.slice()};
    else return;
    svg.setPointerCapture(e.pointerId);
    e.preventDefault();
    app.focus();
  });
  svg.addEventListener('pointermove', (e) => {
    if (!drag) return;
    const [x, y] = point(e);
    if (drag.kind === 'draw') {
      edit.box = confined([Math.min(x, drag.x), Math.min(y, drag.y), Math.abs(x - drag.x), Math.abs(y - drag.y)]);
    } else if (drag.kind === 'move') {
      edit.box = confined([drag.box[0] + x - drag.x, drag.box[1] + y - drag.y, drag.box[2], drag.box[3]]);
    } else {
      let [l, t, w, h] = drag.box, r = l + w, b = t + h;
      if (drag.left) l = Math.min(x, r - 1);
      if (drag.right) r = Math.max(x, l + 1);
      if (drag.top) t = Math.min(y, b - 1);
      if (drag.bottom) b = Math.max(y, t + 1);
      edit.box = confined([l, t, r - l, b - t]);
    }
    show();
  });
  svg.addEventListener('pointerup', () => {
    if (drag && drag.kind === 'draw') drawing = false;
    drag = null;
  });

  // ---- the keyboard
  const arrows = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
  app.addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.target === choice || (e.target.tagName === 'BUTTON' && (e.key === 'Enter' || e.key === ' '))) return;
    const key = e.key.length === 1 ? e.key.toLowerCase() : e.key;
    if (arrows[key]) {
      const step = e.altKey ? 10 : 1;
      nudge(arrows[key][0] * step, arrows[key][1] * step, e.shiftKey);
    } else if (key === 'a' || key === 'Enter') accept();
    else if (key === 'r' || key === 'Delete') reject();
    else if (key === 'd') draw();
    else if (key === 'n') begin(at + 1);
    else if (key === 'p') begin(at - 1);
    else if (key === 'u') undo();
    else if (key === 'c') clear();
    else if (key === 's') save();
    else if (key === 'Escape') begin(at);
    else if (key >= '1' && key <= '9') name(Number(key) - 1);
    else return;
    e.preventDefault();
  });
  addEventListener('resize', show);

  const first = places.findIndex((_, n) => !state.decided[n]);
  begin(Math.max(0, first));
  if (!kept) say('');
})();

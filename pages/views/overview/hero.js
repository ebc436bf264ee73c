// The picture "Who pays?": one tile, dot or bar a party, drawn anew as the slider moves. All of it happens here: nothing
// is asked of the server, and no text is read as HTML.
const GONE = 0.08, PLAY_MS = 4500, WAIT_MS = 500;
const PAYING = { light: "#B34700", dark: "#FF9F4A" };
const played = new Set();

const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
const mix = (row, at) => {
  const low = Math.floor(at), part = at - low;
  return part ? row[low] * (1 - part) + row[low + 1] * part : row[low];
};
const paying = ink => {
  const [red, green, blue] = (ink.match(/[\d.]+/g) || [0, 0, 0]).map(Number);
  return red + green + blue > 384 ? PAYING.dark : PAYING.light;
};
const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);

function draw(parts, data, at) {
  const { canvas } = parts, pixels = window.devicePixelRatio || 1;
  const width = Math.max(canvas.parentElement.clientWidth, 120);
  const n = data.parties.length, tall = width < 500 ? 300 : 330;
  const paint = canvas.getContext("2d"), ink = getComputedStyle(canvas).color;
  const bars = data.look === "bars";
  const cell = bars ? clamp(Math.floor(tall / (n + 1)), 14, 28) : clamp(Math.floor(Math.sqrt(width * tall / n)), 12, 52);
  const columns = bars ? 1 : Math.max(1, Math.floor(width / cell));
  const rows = bars ? n + 1 : Math.ceil(n / columns), height = rows * cell;
  if (canvas.width !== Math.round(width * pixels) || canvas.height !== Math.round(height * pixels)) {
    canvas.width = Math.round(width * pixels);
    canvas.height = Math.round(height * pixels);
    canvas.style.height = `${height}px`;
  }
  paint.setTransform(pixels, 0, 0, pixels, 0, 0);
  paint.clearRect(0, 0, width, height);
  parts.grid = { cell, columns };
  parts.count.style.color = paying(ink);
  if (bars) drawBars(paint, data, at, width, cell, ink);
  else drawTiles(paint, parts, data, at, cell, columns, ink);
  paint.globalAlpha = 1;
}

function drawTiles(paint, parts, data, at, cell, columns, ink) {
  const side = cell - 2, sheets = parts.image.naturalWidth ? inked(parts, data, ink) : null;
  for (let place = 0; place < data.parties.length; place += 1) {
    const loss = mix(data.losses[place], at), pays = loss >= data.pays;
    const x = place % columns * cell + 1, y = Math.floor(place / columns) * cell + 1;
    paint.globalAlpha = clamp(1 - loss / data.gone, GONE, 1);
    if (sheets) {
      const from = data.side * (place % data.across), top = data.side * Math.floor(place / data.across);
      paint.drawImage(pays ? sheets.paying : sheets.plain, from, top, data.side, data.side, x, y, side, side);
    } else {
      paint.fillStyle = pays ? paying(ink) : ink;
      paint.beginPath();
      paint.arc(x + side / 2, y + side / 2, side * 0.38, 0, 2 * Math.PI);
      paint.fill();
    }
    if (pays) {
      paint.globalAlpha = 1;
      paint.strokeStyle = paying(ink);
      paint.lineWidth = 1.5;
      paint.strokeRect(x + 0.5, y + 0.5, side - 1, side - 1);
    }
  }
}

function inked(parts, data, ink) {
  if (parts.ink !== ink) {
    const sheet = colour => {
      const made = document.createElement("canvas"), paint = made.getContext("2d");
      made.width = parts.image.naturalWidth;
      made.height = parts.image.naturalHeight;
      paint.drawImage(parts.image, 0, 0);
      if (data.grey) {
        paint.globalCompositeOperation = "source-in";
        paint.fillStyle = colour;
        paint.fillRect(0, 0, made.width, made.height);
      }
      return made;
    };
    parts.sheets = { plain: sheet(ink), paying: sheet(paying(ink)) };
    parts.ink = ink;
  }
  return parts.sheets;
}

function drawBars(paint, data, at, width, cell, ink) {
  const left = clamp(width * 0.28, 80, 220), right = width - 70, high = Math.min(cell - 4, 18);
  const rows = [[data.words.total, mix(data.total_losses, at)], ...data.parties.map((name, place) => [name, mix(data.losses[place], at)])];
  paint.font = `${Math.min(13, cell - 3)}px ${getComputedStyle(paint.canvas).fontFamily}`;
  paint.textBaseline = "middle";
  rows.forEach(([name, loss], place) => {
    const y = place * cell + cell / 2, pays = place > 0 && loss >= data.pays;
    const long = clamp(loss / data.gone, 0, 1) * (right - left);
    paint.globalAlpha = 1;
    paint.fillStyle = ink;
    paint.textAlign = "right";
    paint.fillText(fitting(paint, name, left - 10), left - 8, y);
    paint.globalAlpha = pays || place === 0 ? 1 : 0.45;
    paint.fillStyle = pays ? paying(ink) : ink;
    paint.fillRect(left, y - high / 2, Math.max(long, 1.5), high);
    paint.globalAlpha = 1;
    paint.fillStyle = ink;
    paint.textAlign = "left";
    paint.fillText(points(loss, data), left + long + 6, y);
  });
}

function fitting(paint, text, room) {
  let shown = text;
  while (shown.length > 1 && paint.measureText(shown).width > room) shown = `${shown.slice(0, -2)}…`;
  return shown;
}

const points = (loss, data) => {
  const value = (-loss / 100).toFixed(1);
  return `${Number(value) === 0 ? "0.0" : value.replace("-", "−")} ${data.words.points}`;
};

function tell(parts, data, at) {
  const level = Math.round(at), paying = data.losses.filter(row => row[level] >= data.pays).length;
  const values = { sparsity: data.sparsity[level], total: data.total[level], n: paying, of: data.parties.length,
    change: points(data.total_losses[level], data) };
  parts.total.textContent = values.total;
  parts.change.textContent = fill(data.words.change, values);
  parts.count.textContent = values.n;
  parts.counted.textContent = fill(paying === 1 ? data.words.one : data.words.several, values);
  parts.cut.textContent = fill(data.words.cut, values);
  parts.slider.setAttribute("aria-valuetext", fill(data.words.spoken, values));
}

export default function (component) {
  const { data, parentElement } = component;
  const find = name => parentElement.querySelector(`.${name}`);
  const parts = { canvas: find("picture"), total: find("total"), change: find("change"), count: find("count"),
    counted: find("counted"), cut: find("cut"), slider: find("slide"), tip: find("tip"), image: new Image() };
  const play = find("play"), calm = window.matchMedia("(prefers-reduced-motion: reduce)");
  const last = data.sparsity.length - 1;
  let frame = 0, began = 0, at = data.stop;

  const show = value => {
    at = clamp(value, 0, last);
    parts.slider.value = at;
    draw(parts, data, at);
    tell(parts, data, at);
  };
  const halt = () => {
    cancelAnimationFrame(frame);
    frame = 0;
    play.textContent = data.words.play;
  };
  const step = now => {
    began = began || now;
    const part = Math.min(1, (now - began) / PLAY_MS);
    show(data.stop * (part < 0.5 ? 2 * part * part : 1 - 2 * (1 - part) * (1 - part)));
    if (part < 1) frame = requestAnimationFrame(step);
    else halt();
  };
  const start = () => {
    halt();
    if (calm.matches) { show(data.stop); return; }
    began = 0;
    play.textContent = data.words.pause;
    frame = requestAnimationFrame(step);
  };

  find("caption").textContent = data.words.caption;
  find("of").textContent = data.words.total;
  find("first").textContent = data.words.first;
  find("last").textContent = data.words.last;
  parts.slider.max = last;
  parts.slider.setAttribute("aria-label", data.words.slider);
  parts.canvas.setAttribute("aria-label", data.words.alt);
  parts.slider.oninput = () => { halt(); show(Number(parts.slider.value)); };
  parts.slider.onkeydown = event => {
    const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 3, PageDown: -3 }[event.key];
    if (!steps) return;
    event.preventDefault();
    halt();
    show(steps > 0 ? Math.floor(at + 1e-6) + steps : Math.ceil(at - 1e-6) + steps);
  };
  play.onclick = () => (frame ? halt() : start());
  parts.canvas.onpointermove = event => {
    const { cell, columns } = parts.grid, row = Math.floor(event.offsetY / cell);
    const place = data.look === "bars" ? row - 1 : row * columns + Math.floor(event.offsetX / cell);
    const party = data.parties[place];
    parts.tip.textContent = party === undefined ? "" : `${data.words.party} ${party}: ${points(mix(data.losses[place], at), data)}`;
  };
  parts.canvas.onpointerleave = () => { parts.tip.textContent = ""; };

  const again = () => show(at), still = () => { halt(); show(data.stop); };
  const size = new ResizeObserver(again);
  const scheme = window.matchMedia("(prefers-color-scheme: dark)");
  const later = () => setTimeout(again, 300);
  scheme.addEventListener("change", later);
  window.addEventListener("beforeprint", still);
  size.observe(parts.canvas.parentElement);
  parts.image.onload = again;
  if (data.sprite) parts.image.src = data.sprite;
  halt();
  let wait = 0;
  if (calm.matches || played.has(data.id)) show(data.stop);
  else {
    played.add(data.id);
    show(0);
    wait = setTimeout(start, WAIT_MS);
  }
  return () => {
    clearTimeout(wait);
    halt();
    size.disconnect();
    scheme.removeEventListener("change", later);
    window.removeEventListener("beforeprint", still);
  };
}

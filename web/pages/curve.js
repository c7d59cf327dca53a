// A curve that grows: thin axes, few marks, the colours of the page.

const MARGIN = { left: 44, right: 12, top: 10, bottom: 24 };
const HEIGHT = 220;

export class Curve {
  /** options: low and high of the vertical axis (high null: by the values), text (of its marks), colour (a variable of the sheet). */
  constructor(canvas, { low = 0, high = null, text = String, colour = '--clay', smooth = 0 }) {
    Object.assign(this, { canvas, low, high, text, colour, smooth });
    this.clear();
    new ResizeObserver(() => this.draw()).observe(canvas.parentElement);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
  }

  clear(last = 1) {
    this.points = [];
    this.last = last;
    this.draw();
  }

  add(x, y, last) {
    if (!Number.isFinite(y)) return;
    this.points.push({ x, y });
    this.last = last;
    this.asked ??= requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.asked = undefined;
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const inside = getComputedStyle(this.canvas.parentElement);
    const width = Math.max(160, this.canvas.parentElement.clientWidth - parseFloat(inside.paddingLeft) - parseFloat(inside.paddingRight));
    const scale = devicePixelRatio || 1;
    Object.assign(this.canvas, { width: width * scale, height: HEIGHT * scale });
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${HEIGHT}px`;
    const c = this.canvas.getContext('2d');
    c.scale(scale, scale);
    const high = this.high ?? Math.max(...this.points.map((p) => p.y), this.low + 1e-9, 0.5);
    const x = (value) => MARGIN.left + (value / Math.max(this.last, 1)) * (width - MARGIN.left - MARGIN.right);
    const y = (value) => MARGIN.top + (1 - (Math.max(value, this.low) - this.low) / (high - this.low)) * (HEIGHT - MARGIN.top - MARGIN.bottom);
    this.#axes(c, { x, y, high, width, line: colour('--line'), ink: colour('--quiet') });
    this.#line(c, this.points, { x, y, colour: colour(this.colour), faint: this.smooth > 0 });
    if (this.smooth) this.#line(c, this.#mean(), { x, y, colour: colour(this.colour) });
  }

  #axes(c, { x, y, high, width, line, ink }) {
    c.font = '12px system-ui, sans-serif';
    c.textBaseline = 'middle';
    c.fillStyle = ink;
    c.strokeStyle = line;
    c.lineWidth = 1;
    for (let i = 0; i <= 4; i++) {
      const value = this.low + ((high - this.low) * i) / 4;
      c.beginPath();
      c.moveTo(MARGIN.left, Math.round(y(value)) + 0.5);
      c.lineTo(width - MARGIN.right, Math.round(y(value)) + 0.5);
      c.stroke();
      c.textAlign = 'right';
      c.fillText(this.text(value), MARGIN.left - 8, y(value));
    }
    c.textAlign = 'left';
    c.fillText('0', x(0), HEIGHT - 10);
    c.textAlign = 'right';
    if (this.last > 1) c.fillText(`step ${this.last}`, width - MARGIN.right, HEIGHT - 10);
  }

  #mean() {
    let mean = null;
    return this.points.map(({ x, y }) => ({ x, y: (mean = mean === null ? y : this.smooth * mean + (1 - this.smooth) * y) }));
  }

  #line(c, points, { x, y, colour, faint = false }) {
    if (!points.length) return;
    c.globalAlpha = faint ? 0.3 : 1;
    c.strokeStyle = c.fillStyle = colour;
    c.lineWidth = faint ? 1 : 2;
    c.lineJoin = 'round';
    c.beginPath();
    for (const point of points) c.lineTo(x(point.x), y(point.y));
    c.stroke();
    const end = points.at(-1);
    if (!faint) {
      c.beginPath();
      c.arc(x(end.x), y(end.y), 3, 0, 7);
      c.fill();
    }
    c.globalAlpha = 1;
  }
}

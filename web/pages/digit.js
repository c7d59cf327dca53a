// Draw a digit: the pad, what the network sees of it, and its answer.

import { kiln } from './kiln/src/kiln.js';
import { DigitNetwork } from './digit_network.js';
import { SIDE, toImage } from './digit_image.js';
import { clearError, element, guarded, percent } from './page.js';

const PEN = 11; // half of its width, in pixels of the pad
const STEP = 8; // of an arrow key

const pad = element('pad');
const ink = pad.getContext('2d', { willReadFrequently: true });
const pen = { x: pad.width / 2, y: pad.height / 2, down: false };
let network = null;
let waiting = false;

function buildBars() {
  const bars = element('bars');
  for (let digit = 0; digit < 10; digit++) {
    const row = document.createElement('template');
    row.innerHTML = `<div>${digit}</div><div class="track"><div class="fill"></div></div><div class="percent"></div>`;
    bars.append(row.content);
  }
}

function showAnswer(chances) {
  const best = chances ? chances.indexOf(Math.max(...chances)) : -1;
  const cells = element('bars').children;
  for (let digit = 0; digit < 10; digit++) {
    const chance = chances ? chances[digit] : 0;
    cells[3 * digit].classList.toggle('best', digit === best);
    cells[3 * digit + 1].firstChild.style.transform = `scaleX(${chance})`;
    cells[3 * digit + 2].textContent = chances ? percent(chance) : '';
  }
  element('answer').textContent = best < 0 ? '–' : String(best);
}

function showImage(image) {
  const context = element('seen').getContext('2d');
  const pixels = context.createImageData(SIDE, SIDE);
  for (let i = 0; i < SIDE * SIDE; i++) pixels.data.set([255 * image[i], 255 * image[i], 255 * image[i], 255], 4 * i);
  context.putImageData(pixels, 0, 0);
}

const recognise = guarded(async () => {
  waiting = false;
  const image = toImage(ink.getImageData(0, 0, pad.width, pad.height));
  showImage(image ?? new Float32Array(SIDE * SIDE));
  if (!network) return;
  if (!image) return showAnswer(null);
  const begin = performance.now();
  showAnswer(await network.chances(image));
  element('status').textContent = `${(performance.now() - begin).toFixed(1)} ms`;
  clearError();
});

// As often as the screen is drawn, and not more often.
function ask() {
  if (!waiting) requestAnimationFrame(recognise);
  waiting = true;
}

function line(from, to) {
  ink.strokeStyle = '#fff';
  ink.lineWidth = 2 * PEN;
  ink.lineCap = ink.lineJoin = 'round';
  ink.beginPath();
  ink.moveTo(from.x, from.y);
  ink.lineTo(to.x, to.y);
  ink.stroke();
  ask();
}

function clear() {
  pen.down = false;
  ink.clearRect(0, 0, pad.width, pad.height);
  ask();
}

function place(event) {
  const box = pad.getBoundingClientRect();
  return { x: ((event.clientX - box.left) * pad.width) / box.width, y: ((event.clientY - box.top) * pad.height) / box.height };
}

function listen() {
  let last = null;
  pad.addEventListener('pointerdown', (event) => {
    pad.setPointerCapture(event.pointerId);
    last = place(event);
    line(last, { x: last.x + 0.01, y: last.y });
  });
  pad.addEventListener('pointermove', (event) => {
    if (!last) return;
    for (const part of event.getCoalescedEvents?.().length ? event.getCoalescedEvents() : [event]) {
      const next = place(part);
      line(last, next);
      last = next;
    }
  });
  for (const end of ['pointerup', 'pointercancel']) pad.addEventListener(end, () => { last = null; });
  pad.addEventListener('keydown', (event) => {
    const move = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] }[event.key];
    if (event.key === ' ') pen.down = !pen.down;
    else if (event.key === 'Delete' || event.key === 'Backspace') clear();
    else if (!move) return;
    event.preventDefault();
    const from = { ...pen };
    if (move) {
      pen.x = Math.min(Math.max(pen.x + move[0], PEN), pad.width - PEN);
      pen.y = Math.min(Math.max(pen.y + move[1], PEN), pad.height - PEN);
    }
    if (pen.down) line(from, { x: pen.x + 0.01, y: pen.y });
    if (event.key === ' ' || move) element('status').textContent = `Pen ${pen.down ? 'down' : 'up'} at ${Math.round(pen.x)}, ${Math.round(pen.y)}`;
  });
  element('clear').addEventListener('click', () => {
    clear();
    pad.focus();
  });
}

buildBars();
listen();
guarded(async () => {
  try {
    const kn = await kiln({ build: 'small' });
    const answer = await fetch('models/cnn.safetensors');
    if (!answer.ok) throw new Error(`The network's weights could not be loaded (${answer.status}).`);
    network = new DigitNetwork(kn, kn.load(await answer.arrayBuffer()));
    element('status').textContent = 'Ready';
    element('about').textContent = `Kiln ${kn.version}: the network of make demo, its weights in half precision.`;
    ask();
  } catch (error) {
    element('status').textContent = 'There is no network';
    throw error;
  }
})();

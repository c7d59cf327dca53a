// Write a kernel: its text is parsed while it is written, printed for the chosen target, and run on the inputs that the page makes.

import { EXAMPLES } from './playground_examples.js';
import { Remote, clearError, element, guarded, sample, table } from './page.js';

const PAUSE = 250; // milliseconds after the last key
const LIMIT = 10000; // milliseconds that a kernel may run
const MOST = 1 << 20; // elements of an input

const remote = new Remote(new URL('./playground_worker.js', import.meta.url), begun);
let parameters = [];
let timer = 0;

function field(label, id, made) {
  const place = document.createElement('label');
  place.append(label, Object.assign(made, { id }));
  return place;
}

function numberField(label, id, value, { min, max, step = 1 }) {
  return field(label, id, Object.assign(document.createElement('input'), { type: 'number', value, min, max, step }));
}

function choice(label, id, names, chosen) {
  const select = document.createElement('select');
  select.append(...names.map((name) => new Option(name, name, false, name === chosen)));
  return field(label, id, select);
}

// What a run is given, rebuilt when the parameters change; what was typed stays.
function buildInputs() {
  const kept = Object.fromEntries(Array.from(element('inputs').querySelectorAll('input, select'), (input) => [input.id, input.value]));
  const fields = [];
  for (const { name, role, type, dtype, count } of parameters) {
    if (role === 'in' || role === 'inout') {
      fields.push(numberField(`${role} ${name}: elements`, `count-${name}`, role === 'inout' ? 16 : 256, { min: 1, max: MOST }));
      fields.push(choice('of', `fill-${name}`, ['random', 'ramp', 'ones', 'zeros'], role === 'inout' ? 'zeros' : 'random'));
      if (!dtype) fields.push(choice('as', `dtype-${name}`, type === 'i' ? ['i64', 'i32'] : ['f32', 'f64', ...(type === 'T' ? ['i32', 'i64'] : [])], 'f32'));
    } else if (role === 'number') {
      const list = Object.assign(document.createElement('input'), { value: count ? Array(count).fill(1).join(', ') : dtype?.startsWith('f') ? '2.5' : '16' });
      fields.push(field(count ? `${name}: ${count} numbers` : name, `number-${name}`, list));
    }
  }
  fields.push(numberField('items (0: as many as results)', 'items', 0, { min: 0, max: MOST }));
  element('inputs').replaceChildren(...fields);
  for (const [id, value] of Object.entries(kept)) if (element(id) && value !== '') element(id).value = value;
}

function countOf(id, what) {
  const input = element(id);
  if (!input.checkValidity() || input.value === '') throw new Error(`${what}: ${input.validationMessage || 'a number is missing'}`);
  return Number(input.value);
}

function numbersOf(name, count) {
  const list = element(`number-${name}`).value.split(',').map((text) => (text.trim() === '' ? NaN : Number(text)));
  if (list.some(Number.isNaN) || (count && list.length !== count)) throw new Error(`${name} wants ${count ? `${count} numbers with commas between them` : 'a number'}`);
  return count ? list : list[0];
}

function whatIsGiven() {
  const inputs = {};
  const numbers = {};
  for (const { name, role, count } of parameters) {
    if (role === 'in' || role === 'inout')
      inputs[name] = { count: countOf(`count-${name}`, name), fill: element(`fill-${name}`).value, dtype: element(`dtype-${name}`)?.value };
    else if (role === 'number') numbers[name] = numbersOf(name, count);
  }
  return { source: element('source').value, inputs, numbers, items: countOf('items', 'items'), checked: element('checked').checked,
    device: element('device').value };
}

const compile = guarded(async () => {
  const source = element('source').value;
  try {
    const result = await remote.call('compile', { source, target: element('target').value }, { limit: LIMIT });
    if (source !== element('source').value) return; // it has been changed since
    parameters = result.parameters;
    element('text').textContent = result.refused ?? result.text;
    element('text').scrollTop = element('text').scrollHeight; // the kernel comes after what it calls
    element('status').textContent = result.refused ? 'It is right, but this target refuses it' : 'It is right';
    element('run').disabled = false;
    clearError();
    buildInputs();
  } catch (error) {
    element('status').textContent = 'It is not right yet';
    element('run').disabled = true;
    throw error;
  }
});

element('source').addEventListener('input', () => {
  clearTimeout(timer);
  timer = setTimeout(compile, PAUSE);
});
// Tab leaves the field, as everywhere; Ctrl and Enter runs.
element('source').addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) element('run').click();
});
element('target').addEventListener('change', compile);
element('example').addEventListener('change', () => {
  element('source').value = EXAMPLES[element('example').value];
  element('results').replaceChildren();
  element('took').textContent = '';
  compile();
});

element('run').addEventListener('click', guarded(async () => {
  element('run').disabled = true;
  element('took').textContent = 'It runs';
  try {
    const { took, rows } = await remote.call('run', whatIsGiven(), { limit: LIMIT });
    clearError();
    element('results').replaceChildren(table([['', 'buffer', 'elements', 'values'],
      ...rows.map((row) => [row.kind, row.name, `${row.count} ${row.dtype}`, sample(row.values, row.count)])]));
    element('took').textContent = `${took.toFixed(1)} ms`;
  } catch (error) {
    element('took').textContent = '';
    element('results').replaceChildren();
    throw error;
  } finally {
    element('run').disabled = false;
  }
}));

function begun({ version, targets, devices }) {
  const device = element('device').value;
  element('device').replaceChildren(...devices.map(({ name, text }) => new Option(text, name, false, name === device)));
  const chosen = element('target').value;
  element('target').replaceChildren(...targets.map((name) => new Option(name, name, false, name === chosen)));
  element('about').textContent = `Kiln ${version}. The language is described in docs/kernel-language.md.`;
  // What was stopped stays in sight.
  if (element('error').hidden) compile();
}

element('example').replaceChildren(...Object.keys(EXAMPLES).map((name) => new Option(name, name)));
element('source').value = Object.values(EXAMPLES)[0];

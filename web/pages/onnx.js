// Run an ONNX model: a dropped file, its signature, and a run on random inputs.

import { Remote, clearError, element, guarded, sample, table } from './page.js';

const LIMIT = 120000; // milliseconds that a run may take

const remote = new Remote(new URL('./onnx_worker.js', import.meta.url), begun);
let inputs = [];

function showPorts(place, ports) {
  element(place).replaceChildren(table([['name', 'type', 'shape'], ...ports.map((p) => [p.name, p.type ?? p.kind, p.shapeText ?? ''])]));
}

// The sizes that the model leaves open, by their names; those without one are of one axis each.
function openSizes() {
  const names = new Set();
  for (const port of inputs)
    port.shape?.forEach((size, axis) => {
      if (typeof size === 'string') names.add(size === '?' ? `${port.name}.${axis}` : size);
    });
  return [...names];
}

function buildSizes() {
  element('sizes').replaceChildren(...openSizes().map((name) => {
    const label = document.createElement('label');
    label.append(name, Object.assign(document.createElement('input'), { type: 'number', min: 1, max: 100000, value: 1, id: `size-${name}` }));
    return label;
  }));
}

function shapesOf() {
  const sizeOf = (name) => {
    const input = element(`size-${name}`);
    if (!input.checkValidity() || input.value === '') throw new Error(`${name}: ${input.validationMessage || 'a size is missing'}`);
    return Number(input.value);
  };
  return Object.fromEntries(inputs.filter((port) => !port.hasDefault).map((port) => [port.name,
    (port.shape ?? []).map((size, axis) => (typeof size === 'number' ? size : sizeOf(size === '?' ? `${port.name}.${axis}` : size)))]));
}

const read = guarded(async (file) => {
  if (!file) return;
  clearError();
  element('status').textContent = `Reading ${file.name}`;
  element('results').replaceChildren();
  element('took').textContent = '';
  try {
    const bytes = await file.arrayBuffer();
    const found = await remote.call('load', bytes, { transfer: [bytes] });
    inputs = found.inputs;
    showPorts('inputs', found.inputs);
    showPorts('outputs', found.outputs);
    element('inside').textContent = found.inside;
    buildSizes();
    element('model').hidden = false;
    element('status').textContent = `${file.name}, ${(file.size / 1e6).toFixed(2)} MB`;
  } catch (error) {
    element('status').textContent = `${file.name} could not be read`;
    throw error;
  }
});

element('run').addEventListener('click', guarded(async () => {
  element('run').disabled = true;
  element('took').textContent = 'It runs';
  try {
    const { took, rows } = await remote.call('run', shapesOf(), { limit: LIMIT });
    clearError();
    element('results').replaceChildren(table([['output', 'shape', 'values'],
      ...rows.map((row) => [row.name, `${row.dtype} [${row.shape.join(', ')}]`, sample(row.values, row.count, 8)])]));
    element('took').textContent = `${took.toFixed(1)} ms`;
  } catch (error) {
    element('took').textContent = '';
    throw error;
  } finally {
    element('run').disabled = false;
  }
}));

element('file').addEventListener('change', ({ target }) => {
  read(target.files[0]);
  target.value = '';
});

for (const type of ['dragenter', 'dragover', 'dragleave', 'drop'])
  document.addEventListener(type, (event) => {
    event.preventDefault();
    element('drop').classList.toggle('over', type === 'dragenter' || type === 'dragover');
    if (type === 'drop') read(event.dataTransfer.files[0]);
  });

function begun({ version, threads }) {
  element('model').hidden = true;
  element('status').textContent = 'Ready';
  element('about').textContent = `Kiln ${version}, ${threads > 1 ? `${threads} threads` : 'one thread'}.`;
}

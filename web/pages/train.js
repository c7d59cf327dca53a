// Train on MNIST: what is asked of the worker, and the curves of what it tells.

import { Curve } from './curve.js';
import { Remote, clearError, element, guarded, percent } from './page.js';

const losses = new Curve(element('losses'), { text: (value) => value.toFixed(2), smooth: 0.9 });
const accuracies = new Curve(element('accuracies'), { low: 0.8, high: 1, text: (value) => percent(value, 0), colour: '--blue' });
const remote = new Remote(new URL('./train_worker.js', import.meta.url), begun, hear);
let busy = false;

function hear(told) {
  if (told.event === 'step') {
    losses.add(told.step, told.loss, told.steps);
    element('loss').textContent = told.loss.toFixed(3);
    element('time').textContent = `${told.seconds.toFixed(0)} s`;
    element('speed').textContent = told.step ? `of training, ${Math.round(told.images / told.seconds)} images a second` : 'of training';
    element('status').textContent = `Step ${told.step} of ${told.steps}`;
  } else if (told.event === 'test') {
    accuracies.add(told.step, told.accuracy, told.steps);
    element('accuracy').textContent = percent(told.accuracy, 2);
  }
}

function setBusy(now) {
  busy = now;
  element('start').disabled = now;
  element('stop').disabled = !now;
  for (const id of ['model', 'device', 'epochs', 'batch', 'rate', 'file']) element(id).disabled = now;
}

function settings() {
  const number = (id, what) => {
    const field = element(id);
    if (!field.checkValidity() || field.value === '') throw new Error(`${what}: ${field.validationMessage || 'a number is missing'}`);
    return Number(field.value);
  };
  return { kind: element('model').value, device: element('device').value, epochs: number('epochs', 'Passes'),
    batch: number('batch', 'Images a step'), rate: number('rate', 'Learning rate') };
}

function showWeights(share) {
  element('accuracy').textContent = percent(share, 2);
  element('save').disabled = false;
}

element('start').addEventListener('click', guarded(async () => {
  const chosen = settings();
  clearError();
  setBusy(true);
  for (const curve of [losses, accuracies]) curve.clear();
  element('accuracy').textContent = '–';
  element('status').textContent = 'Reading 60,000 images';
  try {
    const done = await remote.call('train', chosen);
    accuracies.add(done.steps, done.accuracy, done.steps);
    showWeights(done.accuracy);
    element('status').textContent = `${done.stopped ? 'Stopped' : 'Trained'} after ${done.seconds.toFixed(1)} s; all 10,000 test images were looked at`;
  } catch (error) {
    element('status').textContent = 'It did not end well';
    throw error;
  } finally {
    setBusy(false);
  }
}));

element('stop').addEventListener('click', guarded(() => {
  element('status').textContent = 'Stopping';
  return remote.call('stop');
}));

element('save').addEventListener('click', guarded(async () => {
  const bytes = await remote.call('save');
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
  link.download = 'digits.safetensors';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}));

element('file').addEventListener('change', guarded(async ({ target }) => {
  const [file] = target.files;
  if (!file) return;
  clearError();
  element('status').textContent = `Reading ${file.name}`;
  try {
    const { kind, accuracy } = await remote.call('load', await file.arrayBuffer());
    element('model').value = kind;
    showWeights(accuracy);
    element('status').textContent = `${file.name} is loaded; all 10,000 test images were looked at`;
  } catch (error) {
    element('status').textContent = `${file.name} was not loaded`;
    throw error;
  } finally {
    target.value = ''; // the same file may be chosen again
  }
}));

globalThis.addEventListener('beforeunload', (event) => {
  if (busy) event.preventDefault();
});

function begun({ version, threads, devices }) {
  element('device').replaceChildren(...devices.map(({ name, text }) => new Option(text, name)));
  element('status').textContent = 'Ready';
  element('start').disabled = false;
  element('save').disabled = true;
  element('about').textContent = `Kiln ${version}. ${threads > 1 ? '' : 'This page is not isolated, so that there is one thread. '}MNIST is on this machine.`;
}

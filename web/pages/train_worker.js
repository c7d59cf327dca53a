// Trains a network in a worker, where it may take its time, and tells the page how it goes.

import { kiln, nn } from './kiln/src/kiln.js';
import { MODELS, modelOf } from './mnist_models.js';
import { batchOf, loadDigits } from './mnist_data.js';
import { answerCalls } from './worker_calls.js';

const TEST_BATCH = 500;
const FEW = 2000; // test images that are looked at while it trains
const TELL_EVERY = 10; // steps
const TEST_EVERY = 150; // steps

let kn = null;
let model = null;
let test = null;
let stopping = false;
let training = false;

// A turn of the worker's loop, so that 'stop' is heard.
const breathe = () => new Promise((resolve) => {
  const channel = new MessageChannel();
  channel.port1.onmessage = resolve;
  channel.port2.postMessage(0);
});

/** A share of right answers among the first `count` test images. */
async function accuracy(count) {
  let right = 0;
  for (let at = 0; at < count; at += TEST_BATCH) {
    const places = Array.from({ length: Math.min(TEST_BATCH, count - at) }, (_, i) => at + i);
    const guesses = kn.noGrad(() => kn.scope(() => kn.argmax(model.forward(batchOf(kn, test, places).images), { axis: 1 })));
    const found = await guesses.data();
    guesses.dispose();
    places.forEach((place, i) => { right += Number(found[i]) === test.labels[place]; });
    await breathe();
    if (stopping) return null;
  }
  return right / count;
}

function shuffled(count) {
  const places = Uint32Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i--) {
    const other = Math.floor(Math.random() * (i + 1));
    [places[i], places[other]] = [places[other], places[i]];
  }
  return places;
}

// Up for the first third, then down: one cycle.
function rateAt(step, steps, most) {
  const up = Math.max(1, steps * 0.3);
  const part = step < up ? step / up : 1 - (step - up) / Math.max(1, steps - up);
  return most * (0.04 + 0.96 * part);
}

function trainStep(optimiser, digits, places) {
  return kn.scope(() => {
    const { images, labels } = batchOf(kn, digits, places);
    const loss = nn.crossEntropy(model.forward(images), labels);
    const gradients = kn.backward(loss);
    try {
      optimiser.step(gradients);
    } finally {
      gradients.dispose();
    }
    return loss;
  });
}

function replaceModel(made) {
  model?.dispose();
  model = made;
}

async function trainFor({ kind, epochs, batch, rate }, digits) {
  replaceModel(new MODELS[kind](kn));
  const optimiser = kn.adamw(model.params(), { lr: rate });
  const each = Math.floor(digits.count / batch);
  const steps = each * epochs;
  const begin = performance.now();
  let testing = 0;
  const seconds = () => (performance.now() - begin - testing) / 1000;
  try {
    for (let step = 0, order; step < steps && !stopping; step++) {
      if (step % each === 0) order = shuffled(digits.count);
      optimiser.lr = rateAt(step, steps, rate);
      const loss = trainStep(optimiser, digits, order.subarray((step % each) * batch, (step % each + 1) * batch));
      if (step % TELL_EVERY === 0) postMessage({ event: 'step', step, steps, loss: await loss.item(), seconds: seconds(), images: step * batch });
      loss.dispose();
      if (step % TEST_EVERY === TEST_EVERY - 1) {
        const before = performance.now();
        const share = await accuracy(Math.min(FEW, test.count));
        testing += performance.now() - before;
        if (share !== null) postMessage({ event: 'test', step, steps, accuracy: share, seconds: seconds() });
      }
      await breathe();
    }
  } finally {
    optimiser.dispose();
  }
  return { seconds: seconds(), steps };
}

answerCalls({
  async begin() {
    kn = await kiln({ threads: 'auto' });
    test = await loadDigits('t10k');
    const how = kn.threads > 1 ? `WebAssembly, ${kn.threads} threads` : 'WebAssembly, one thread';
    const devices = [{ name: 'autodiff(cpu)', text: how }];
    if (kn.webgpu) devices.push({ name: 'autodiff(fusion(webgpu:0))', text: `WebGPU, ${kn.webgpu}` });
    return { version: kn.version, threads: kn.threads, devices };
  },

  async train(settings) {
    if (training) throw new Error('It trains already.');
    training = true;
    stopping = false;
    try {
      kn.use(settings.device);
      const digits = await loadDigits('train');
      const { seconds, steps } = await trainFor(settings, digits);
      const stopped = stopping;
      stopping = false;
      return { seconds, steps, stopped, accuracy: await accuracy(test.count) };
    } finally {
      training = false;
    }
  },

  stop() {
    stopping = true;
  },

  save() {
    if (!model) throw new Error('There are no weights yet: train, or load a file.');
    return kn.save(model.state());
  },

  /** Takes the weights of a file in place of what there is, and tells how good they are. */
  async load(bytes) {
    if (training) throw new Error('It trains; stop it first.');
    stopping = false;
    const made = kn.scope(() => {
      const tensors = kn.load(bytes);
      const kind = modelOf(tensors);
      if (!kind) throw new Error(`These are no weights of a network of this page: ${Object.keys(tensors).join(', ') || 'the file is empty'}`);
      const network = new MODELS[kind](kn);
      try {
        network.load(tensors);
      } catch (error) {
        network.dispose();
        throw error;
      }
      return { kind, network };
    });
    replaceModel(made.network);
    return { kind: made.kind, accuracy: await accuracy(test.count) };
  },
});

// Reads and runs ONNX models in a worker.

import { kiln } from './kiln/src/kiln.js';
import { answerCalls } from './worker_calls.js';

const MOST = 1 << 26; // elements of one input

let kn = null;
let model = null;

// Whole numbers are small, so that they are good as indices of most models.
function randomInput({ name, dtype }, shape) {
  const count = shape.reduce((product, n) => product * n, 1);
  if (!(count <= MOST)) throw new Error(`The input '${name}' would have ${count} elements; at most ${MOST}.`);
  if (dtype?.startsWith('f') || dtype === 'bf16') return kn.random(shape, -1, 1).cast(dtype);
  return kn.random(shape, 0, 2).cast(dtype);
}

answerCalls({
  async begin() {
    kn = await kiln({ threads: 'auto', device: 'cpu' });
    return { version: kn.version, threads: kn.threads };
  },

  load(bytes) {
    const made = kn.onnx(bytes);
    model?.dispose();
    model = made;
    return { inputs: model.inputs, outputs: model.outputs, inside: model.inspect() };
  },

  /** shapes: of each input by name. */
  async run(shapes) {
    if (!model) throw new Error('There is no model yet.');
    const inputs = kn.scope(() => Object.fromEntries(Object.entries(shapes).map(([name, shape]) => {
      const port = model.inputs.find((input) => input.name === name);
      if (port.kind !== 'tensor' || !port.dtype) throw new Error(`The input '${name}' is ${port.type}; this page makes tensors of numbers alone.`);
      return [name, randomInput(port, shape)];
    })));
    try {
      const begin = performance.now();
      const outputs = kn.scope(() => model.run(inputs));
      const rows = [];
      for (const [name, tensor] of Object.entries(outputs)) {
        if (!tensor) continue;
        const values = tensor.dtype === 'other' ? [] : await tensor.data();
        rows.push({ name, dtype: tensor.dtype, shape: tensor.shape, values: Array.from(values.slice(0, 64), Number), count: tensor.size });
        tensor.dispose();
      }
      return { took: performance.now() - begin, rows };
    } finally {
      for (const tensor of Object.values(inputs)) tensor.dispose();
    }
  },
});

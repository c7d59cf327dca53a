// Parses, prints and runs kernels in a worker, which can be ended when one does not end by itself.

import { kiln } from './kiln/src/kiln.js';
import { answerCalls } from './worker_calls.js';

const FILLS = {
  random: (n) => Float32Array.from({ length: n }, () => Math.random()),
  ramp: (n) => Float32Array.from({ length: n }, (_, i) => i),
  ones: (n) => new Float32Array(n).fill(1),
  zeros: (n) => new Float32Array(n),
};

let kn = null;

function withKernel(source, body) {
  const kernel = kn.kernel(source);
  try {
    return body(kernel);
  } finally {
    kernel.dispose();
  }
}

function operandOf(parameter, { count, fill, dtype }) {
  const made = kn.tensor(FILLS[fill](count));
  return kn.cast(made, { dtype: dtype ?? parameter.dtype ?? 'f32' });
}

answerCalls({
  async begin() {
    kn = await kiln({ device: 'cpu' });
    const devices = [{ name: 'cpu', text: 'WebAssembly' }];
    if (kn.webgpu) devices.push({ name: 'webgpu:0', text: `WebGPU, ${kn.webgpu}` });
    return { version: kn.version, targets: [...kn.kernelTargets(), 'ir'], devices };
  },

  compile({ source, target }) {
    return withKernel(source, (kernel) => {
      const { parameters } = kernel;
      try {
        return { parameters, text: kernel.text(target) };
      } catch (error) {
        return { parameters, refused: error.message };
      }
    });
  },

  /** inputs: count, fill and dtype of each `in` and `inout` buffer by name; numbers by name. */
  async run({ source, inputs, numbers, items, checked, device }) {
    const begin = performance.now();
    kn.use(device);
    const results = kn.scope(() => withKernel(source, (kernel) => {
      const buffers = kernel.parameters.filter((p) => p.role === 'in' || p.role === 'inout');
      const temps = kernel.parameters.filter((p) => p.role === 'temp').map(() => Math.max(...Object.values(inputs).map((i) => i.count), 1));
      const operands = buffers.map((p) => operandOf(p, inputs[p.name]));
      const how = { numbers, items, temps: temps.length ? temps : undefined };
      // The interpreter that finds mistakes runs on the CPU: first there, then on the device.
      const first = checked ? kernel.run(operands, { ...how, checked }) : null;
      const made = first && device === 'cpu' ? first : kernel.run(operands, how);
      const names = [...kernel.parameters.filter((p) => p.role === 'inout'), ...kernel.parameters.filter((p) => p.role === 'out')];
      return { given: operands, made, names };
    }));
    const { given, made, names } = results;
    const took = performance.now() - begin;
    const shown = async (tensor, name, kind) => {
      const values = await tensor.data();
      tensor.dispose();
      return { name, kind, dtype: tensor.dtype, shape: tensor.shape, values: Array.from(values.slice(0, 64), Number), count: values.length };
    };
    const inNames = Object.keys(inputs);
    const rows = [];
    for (let i = 0; i < given.length; i++) rows.push(await shown(given[i], inNames[i], 'given'));
    for (let i = 0; i < made.length; i++) rows.push(await shown(made[i], names[i].name, 'result'));
    return { took, rows };
  },
});

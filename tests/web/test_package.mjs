// The npm package in node: node tests/web/test_package.mjs FOLDER_OF_THE_PACKAGE [single|threads|small ...]

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Facts, fails, near } from './facts.mjs';
import { tinyModel } from './tiny_onnx.mjs';

const [folder, ...wanted] = process.argv.slice(2);
const { kiln, nn, KilnError } = await import(pathToFileURL(path.resolve(folder, 'src/kiln.js')).href);
const facts = new Facts();

async function tensors(kn, check) {
  await check('tensors are made of arrays and read again', async () => {
    assert.deepEqual(await kn.tensor([[1, 2], [3, 4]]).array(), [[1, 2], [3, 4]]);
    assert.deepEqual(await kn.tensor(Float32Array.of(1, 2, 3, 4), [2, 2]).array(), [[1, 2], [3, 4]]);
    assert.equal(await kn.tensor(7).item(), 7);
  });
  await check('numbers are operands', async () => {
    assert.deepEqual(await kn.mul(kn.add(kn.tensor([1, 2]), 1), 2.5).array(), [5, 7.5]);
    assert.deepEqual(await kn.sub(10, kn.tensor([1, 2])).array(), [9, 8]);
  });
  await check('shapes that do not fit are an error that says so', () =>
    fails(() => kn.matmul(kn.zeros([2, 2]), kn.zeros([3, 3])), /kn_matmul: inner sizes differ/, 'SHAPE'));
  await check('ragged arrays and wrong shapes are errors', async () => {
    await fails(() => kn.tensor([[1, 2], [3]]), /differ in their lengths/);
    await fails(() => kn.tensor([1, 2, 3], [2, 2]), /do not fill the shape/);
    await fails(() => kn.tensor([1], 'f31'), /no dtype 'f31'/);
  });
  await check('a tensor that was disposed of is an error', async () => {
    const x = kn.tensor([1]);
    x.dispose();
    x.dispose();
    await fails(() => kn.relu(x), /was disposed of/, 'HANDLE');
  });
  await check('scopes dispose of all but their result', async () => {
    let inside;
    const y = kn.scope(() => {
      inside = kn.add(kn.tensor([1]), 1);
      return kn.mul(inside, 3);
    });
    assert.ok(inside.disposed && !y.disposed);
    assert.equal(await y.item(), 6);
    await fails(() => kn.scope(() => { inside = kn.tensor([1]); throw new Error('on purpose'); }), /on purpose/);
    assert.ok(inside.disposed);
    const z = await kn.scope(async () => { inside = kn.tensor([2]); await null; return kn.add(inside, 1); });
    assert.ok(inside.disposed && (await z.item()) === 3);
  });
  await check('attributes that do not exist are named', () => fails(() => kn.softmax(kn.tensor([1]), { axes: 0 }), /no attribute 'axes'; there is axis/));
}

async function whole(kn, check) {
  await check('every dtype comes back', async () => {
    for (const dtype of ['f64', 'f32', 'f16', 'bf16', 'i64', 'i32', 'i16', 'i8', 'u64', 'u32', 'u16', 'u8', 'bool'])
      near(await kn.tensor([0, 1, 1], dtype).data(), [0, 1, 1]);
  });
  await check('rows with several results and lists of operands', async () => {
    const [values, places] = kn.maxPool(kn.tensor([1, 5, 2, 3], [1, 1, 4]), { axes: 1, window: [2], stride: [2], padding: [0], paddingEnd: [0], dilation: [1] });
    assert.deepEqual(await values.array(), [[[5, 3]]]);
    near(await places.data(), [1, 3]);
    assert.deepEqual(await kn.concat([kn.tensor([1]), kn.tensor([2]), kn.tensor([3])], { axis: 0 }).array(), [1, 2, 3]);
  });
  await check('gradients agree with differences', async () => {
    const at = [0.3, -0.7, 1.1];
    const f = (x) => kn.sum(kn.mul(kn.tanh(x), kn.exp(x)));
    const x = kn.param(kn.tensor(at, 'f64'));
    const grads = kn.backward(f(x));
    const found = await grads.get(x).data();
    const value = (values) => f(kn.tensor(values, 'f64')).item();
    for (let i = 0; i < at.length; i++) {
      const moved = (by) => value(at.map((v, j) => (i === j ? v + by : v)));
      near([found[i]], [((await moved(1e-5)) - (await moved(-1e-5))) / 2e-5], 1e-8);
    }
    grads.dispose();
    x.dispose();
  });
  await check('a loss that nothing leads to is an error', () => fails(() => kn.backward(kn.tensor([1])), /./));
  await check('cross entropy is the mean over the rows', async () => {
    const loss = nn.crossEntropy(kn.tensor([[1, 2, 3], [1, 1, 1]]), kn.tensor(BigInt64Array.of(0n, 2n)));
    near([await loss.item()], [(3.4076059644443803 - 1 + Math.log(3)) / 2], 1e-6);
  });
  for (const [name, make] of [['sgd', (p) => kn.sgd(p, { lr: 0.1, momentum: 0.9 })], ['adam', (p) => kn.adam(p, { lr: 0.05 })],
    ['adamw', (p) => kn.adamw(p, { lr: 0.05, weightDecay: 0 })]])
    await check(`${name} fits a line`, async () => {
      const layer = new nn.Linear(kn, 1, 1);
      const optimiser = make(layer.params());
      const [x, y] = [kn.tensor([[0], [1], [2]]), kn.tensor([[1], [3], [5]])];
      for (let i = 0; i < 300; i++)
        kn.scope(() => {
          const d = kn.sub(layer.forward(x), y);
          const grads = kn.backward(kn.mean(kn.mul(d, d)));
          optimiser.step(grads);
          grads.dispose();
        });
      near([await layer.weight.item(), await layer.bias.item()], [2, 1], 0.1);
      optimiser.dispose();
      layer.dispose();
    });
  await check('training leaves no memory behind', async () => {
    const layer = new nn.Conv2d(kn, 1, 4, 3);
    const optimiser = kn.adam(layer.params());
    const x = kn.random([2, 1, 8, 8]);
    const step = () => kn.scope(() => {
      const grads = kn.backward(kn.mean(nn.maxPool2d(layer.forward(x), 2)));
      optimiser.step(grads);
      grads.dispose();
    });
    for (let i = 0; i < 20; i++) step();
    const before = kn.bytes;
    for (let i = 0; i < 300; i++) step();
    assert.equal(kn.bytes, before);
  });
  await check('safetensors come back, and damaged ones are refused', async () => {
    const layer = new nn.Linear(kn, 3, 2);
    const file = kn.save(layer.state());
    const back = kn.load(file);
    assert.deepEqual(Object.keys(back).sort(), ['bias', 'weight']);
    near(await back.weight.data(), await layer.weight.data(), 0);
    const other = new nn.Linear(kn, 3, 2);
    other.load(back);
    near(await other.bias.data(), await layer.bias.data(), 0);
    await fails(() => new nn.Linear(kn, 2, 2).load(back), /has the shape/);
    await fails(() => kn.load(file.slice(0, file.length - 4)), /./);
    await fails(() => kn.load(new Uint8Array(100).fill(7)), /./);
    await fails(() => kn.save({ x: 3 }), /no tensor/);
  });
  await check('an ONNX model says what it takes, and runs', async () => {
    const model = kn.onnx(tinyModel());
    assert.deepEqual(model.inputs.map((p) => [p.name, p.dtype, p.shape, p.type]), [['x', 'f32', ['batch', 2], 'tensor(float)']]);
    assert.match(model.inspect(), /MatMul/);
    assert.deepEqual(await model.run({ x: kn.tensor([[1, 1], [5, 5]]) }).y.array(), [[0, 7], [10, 31]]);
    await fails(() => model.run({ z: kn.tensor([1]) }), /no input 'z'; it has x/);
    await fails(() => model.run({}), /'x' is missing/);
    await fails(() => model.run({ x: kn.zeros([2, 3]) }), /./);
    model.dispose();
    await fails(() => kn.onnx(Uint8Array.of(1, 2, 3)), /./);
  });
  await check('kernels are parsed, printed and run', async () => {
    const source = 'kernel scale(index item, in T x[], out T y[], real by)\n{\n    y[item] = x[item] * by;\n}\n';
    const kernel = kn.kernel(source);
    assert.deepEqual(kernel.parameters.map((p) => [p.name, p.role]), [['x', 'in'], ['y', 'out'], ['by', 'number']]);
    assert.ok(kn.kernelTargets().includes('c'));
    for (const target of [...kn.kernelTargets(), 'ir']) assert.match(kernel.text(target), /scale/);
    for (const checked of [false, true])
      assert.deepEqual(await kernel.run([kn.tensor([1, 2])], { numbers: { by: 3 }, checked })[0].array(), [3, 6]);
    await fails(() => kernel.run([kn.tensor([1])]), /'by' is missing/);
    await fails(() => kernel.text('wgpu'), /no target 'wgpu'/);
    kernel.dispose();
    await fails(() => kn.kernel('kernel bad(index item'), /kernel:1:/);
    const wild = kn.kernel('kernel wild(index item, in T x[], out T y[])\n{\n    y[item + 1] = x[item];\n}\n');
    await fails(() => wild.run([kn.tensor([1, 2])], { checked: true }), /./);
    wild.dispose();
  });
  await check('devices are chosen by their names', async () => {
    assert.ok(kn.deviceNames().includes('cpu'));
    kn.use('autodiff(fusion(cpu))');
    near(await kn.add(kn.mul(kn.tensor([1, 2]), 3), 1).data(), [4, 7]);
    kn.use('autodiff(cpu)');
    await fails(() => kn.use('webgpu:0'), /webgpu/, undefined);
  });
  await check('the seed decides what is drawn', async () => {
    kn.seed(5);
    const first = await kn.random([4]).data();
    kn.seed(5);
    near(await kn.random([4]).data(), first, 0);
  });
  await check('large products agree with small ones', async () => {
    kn.seed(1);
    const [a, b] = [kn.random([200, 300], -1, 1), kn.random([300, 150], -1, 1)];
    const [x, y, z] = await Promise.all([a.data(), b.data(), kn.matmul(a, b).data()]);
    for (const [i, j] of [[0, 0], [199, 149], [77, 31]]) {
      let sum = 0;
      for (let k = 0; k < 300; k++) sum += x[i * 300 + k] * y[k * 150 + j];
      near([z[i * 150 + j]], [sum], 1e-4);
    }
  });
}

async function small(kn, check) {
  await check('the small build has few ops and the CPU alone', async () => {
    await fails(() => kn.cholesky(kn.zeros([2, 2])), /cholesky/);
    await fails(() => kn.use('autodiff(cpu)'), /the device 'cpu' alone/);
  });
  await check('the small build reads ten test digits', async () => {
    const { DigitNetwork } = await import('../../web/pages/digit_network.js');
    const network = new DigitNetwork(kn, kn.load(readFileSync('examples/mnist/cnn.safetensors')));
    const source = readFileSync('examples/mnist_cortex_m/board/test_digits.h', 'utf8');
    const pixels = source.slice(source.indexOf('= {')).match(/\d+/g).map(Number);
    let right = 0;
    for (let digit = 0; digit < 10; digit++) {
      const chances = await network.chances(Float32Array.from(pixels.slice(digit * 784, (digit + 1) * 784), (p) => p / 255));
      right += chances.indexOf(Math.max(...chances)) === digit;
    }
    assert.ok(right >= 9, `${right} of 10 digits are right`);
  });
}

const BUILDS = {
  single: { file: 'kiln.wasm', options: { threads: 1 }, parts: [tensors, whole] },
  threads: { file: 'kiln-threads.wasm', options: { threads: 3 }, parts: [tensors, whole] },
  small: { file: 'kiln-small.wasm', options: { build: 'small' }, parts: [tensors, small] },
};

for (const [name, { file, options, parts }] of Object.entries(BUILDS)) {
  if (wanted.length ? !wanted.includes(name) : !existsSync(path.join(folder, 'wasm', file))) continue;
  let kn;
  const check = (fact, body) => facts.check(`${name}: ${fact}`, () => kn.scope(body));
  await facts.check(`${name}: the library loads`, async () => {
    kn = await kiln({ ...options, seed: 1 });
    assert.equal(kn.threads, options.threads ?? 1);
  });
  if (!kn) continue;
  for (const part of parts) await part(kn, check);
  kn.end();
}
await facts.check('a module that is not there is an error', () => fails(() => kiln({ wasm: new URL('file:///nowhere.wasm') }), /nowhere/));
await facts.check('threads that make no sense are refused', () => fails(() => kiln({ threads: 1.5 }), /threads is a number/));
assert.ok(KilnError.prototype instanceof Error);
facts.end();

// A program in TypeScript over the package's types; it is checked and never run.
import { kiln, nn, KilnError, type Kiln, type Tensor } from 'kiln';

const kn: Kiln = await kiln({ threads: 'auto', seed: 1 });
const x: Tensor = kn.tensor([[1, 2], [3, 4]]);
const y = kn.scope(() => kn.relu(kn.add(x, 1)));
const layer = new nn.Linear(kn, 2, 3);
const gradients = kn.backward(kn.sum(layer.forward(y)));
kn.adamw(layer.params(), { lr: 1e-3 }).step(gradients);
const [values, places] = kn.maxPool(x, { axes: 1, window: [2] });
const joined: Tensor = kn.concat([values, places], { axis: 0 });
const total: number = (await joined.data()).length + joined.rank;
const model = kn.onnx(new Uint8Array(total));
for (const port of model.inputs) console.log(port.name, port.shape?.join(), port.dtype);
const results: Tensor[] = kn.kernel('').run([x], { numbers: { by: 2 } });
const file: Uint8Array = kn.save({ ...layer.state(), x: results[0] });
for (const [name, tensor] of Object.entries(kn.load(file))) console.log(name, tensor.shape);
try {
  // @ts-expect-error: an attribute that softmax does not have
  kn.softmax(x, { axes: 1 });
  // @ts-expect-error: a dtype that does not exist
  kn.zeros([1], 'f31');
  // @ts-expect-error: a tensor is no text
  kn.add('x', 1);
} catch (error) {
  if (error instanceof KilnError) console.log(error.code);
}

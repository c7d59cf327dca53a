// Writes a small ONNX model, y = relu(x w + b) with an open size, byte by byte: the tests need no file and no other package.

const number = (value) => {
  const bytes = [];
  for (let rest = BigInt(value); ; rest >>= 7n) {
    if (rest < 128n) return [...bytes, Number(rest)];
    bytes.push(Number(rest & 127n) | 128);
  }
};
const whole = (field, value) => [...number(field << 3), ...number(value)];
const block = (field, bytes) => [...number((field << 3) | 2), ...number(bytes.length), ...bytes];
const text = (field, value) => block(field, [...new TextEncoder().encode(value)]);
const floats = (values) => [...new Uint8Array(Float32Array.from(values).buffer)];

const tensor = (name, dims, values) => [...dims.flatMap((d) => whole(1, d)), ...whole(2, 1), ...text(8, name), ...block(9, floats(values))];
const size = (value) => block(1, typeof value === 'string' ? text(2, value) : whole(1, value));
const port = (name, dims) => [...text(1, name), ...block(2, block(1, [...whole(1, 1), ...block(2, dims.flatMap(size))]))];
const node = (type, inputs, outputs) => [...inputs.flatMap((i) => text(1, i)), ...outputs.flatMap((o) => text(2, o)), ...text(4, type)];

/** x [batch, 2] times the weight [[1, 2], [3, 4]] plus the bias [-10, 1], above 0. */
export function tinyModel() {
  const graph = [
    ...block(1, node('MatMul', ['x', 'w'], ['xw'])), ...block(1, node('Add', ['xw', 'b'], ['s'])), ...block(1, node('Relu', ['s'], ['y'])),
    ...text(2, 'tiny'), ...block(5, tensor('w', [2, 2], [1, 2, 3, 4])), ...block(5, tensor('b', [2], [-10, 1])),
    ...block(11, port('x', ['batch', 2])), ...block(12, port('y', ['batch', 2])),
  ];
  return Uint8Array.from([...whole(1, 8), ...text(2, 'kiln tests'), ...block(7, graph), ...block(8, whole(2, 17))]);
}

// MNIST's files, as the server has them: compressed idx files.

const PIXELS = 28 * 28;

async function bytesOf(name) {
  const answer = await fetch(`data/${name}`);
  if (!answer.ok) throw new Error(`${name} could not be loaded (${answer.status} ${answer.statusText}).`);
  const plain = answer.body.pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(plain).arrayBuffer());
}

function contents(bytes, name, magic, header, each) {
  const view = new DataView(bytes.buffer);
  const count = bytes.length >= header ? view.getUint32(4) : 0;
  if (bytes.length < header || view.getUint32(0) !== magic || bytes.length !== header + count * each)
    throw new Error(`${name} is not a file of MNIST's.`);
  return bytes.subarray(header);
}

/** The pixels and labels of 'train' or 't10k'. */
export async function loadDigits(part) {
  const [images, labels] = await Promise.all([bytesOf(`${part}-images-idx3-ubyte.gz`), bytesOf(`${part}-labels-idx1-ubyte.gz`)]);
  const pixels = contents(images, `${part}-images`, 2051, 16, PIXELS);
  const classes = contents(labels, `${part}-labels`, 2049, 8, 1);
  if (pixels.length !== classes.length * PIXELS) throw new Error(`MNIST's ${part} images and labels differ in number.`);
  return { pixels, labels: classes, count: classes.length };
}

/** The images of these places as f32 around 0, and their labels as i64. */
export function batchOf(kn, digits, places) {
  const pixels = new Uint8Array(places.length * PIXELS);
  const labels = new BigInt64Array(places.length);
  for (let i = 0; i < places.length; i++) {
    pixels.set(digits.pixels.subarray(places[i] * PIXELS, (places[i] + 1) * PIXELS), i * PIXELS);
    labels[i] = BigInt(digits.labels[places[i]]);
  }
  const images = kn.scope(() => kn.div(kn.sub(kn.cast(kn.tensor(pixels, [places.length, 1, 28, 28]), { dtype: 'f32' }), 0.1307 * 255), 0.3081 * 255));
  return { images, labels: kn.tensor(labels) };
}

// From a drawing to an image as MNIST has them: the digit fits 20 by 20 pixels, and its mass is in the middle of 28 by 28.

export const SIDE = 28;
const INSIDE = 20;

function bounds({ data, width, height }) {
  let [left, right, top, bottom] = [width, -1, height, -1];
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      if (data[4 * (y * width + x) + 3] > 16) {
        left = Math.min(left, x);
        right = Math.max(right, x);
        top = Math.min(top, y);
        bottom = Math.max(bottom, y);
      }
  return right < 0 ? null : { x: left, y: top, width: right - left + 1, height: bottom - top + 1 };
}

// The mean of what lies under each pixel of the small image.
function shrink({ data, width }, box, scale) {
  const size = { x: Math.max(1, Math.round(box.width * scale)), y: Math.max(1, Math.round(box.height * scale)) };
  const pixels = new Float32Array(size.x * size.y);
  for (let y = 0; y < size.y; y++)
    for (let x = 0; x < size.x; x++) {
      const [x0, x1] = [Math.floor((x * box.width) / size.x), Math.ceil(((x + 1) * box.width) / size.x)];
      const [y0, y1] = [Math.floor((y * box.height) / size.y), Math.ceil(((y + 1) * box.height) / size.y)];
      let sum = 0;
      for (let v = y0; v < y1; v++) for (let u = x0; u < x1; u++) sum += data[4 * ((box.y + v) * width + box.x + u) + 3];
      pixels[y * size.x + x] = sum / (255 * (x1 - x0) * (y1 - y0));
    }
  return { pixels, size };
}

/** The image of a drawing (ImageData with ink in its alpha), numbers from 0 to 1; null where nothing is drawn. */
export function toImage(drawing) {
  const box = bounds(drawing);
  if (!box) return null;
  const { pixels, size } = shrink(drawing, box, INSIDE / Math.max(box.width, box.height));
  let [mass, atX, atY] = [0, 0, 0];
  pixels.forEach((value, i) => {
    mass += value;
    atX += value * (i % size.x);
    atY += value * Math.floor(i / size.x);
  });
  const shift = (at, length) => Math.min(Math.max(Math.round((SIDE - 1) / 2 - at / mass), 0), SIDE - length);
  const [left, top] = [shift(atX, size.x), shift(atY, size.y)];
  const image = new Float32Array(SIDE * SIDE);
  pixels.forEach((value, i) => {
    image[(top + Math.floor(i / size.x)) * SIDE + left + (i % size.x)] = value;
  });
  return image;
}

// The pages in Chromium, by real clicks: node tests/web/test_pages.mjs FOLDER_OF_THE_PACKAGE FOLDER_OF_PLAYWRIGHT [--train] [--pictures FOLDER]
// --train trains to the end and says how long 97 % took; --pictures writes screenshots.

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { serve } from '../../web/serve.mjs';
import { Facts } from './facts.mjs';
import { tinyModel } from './tiny_onnx.mjs';

const [root, playwright, ...options] = process.argv.slice(2);
const pictures = options.includes('--pictures') ? options[options.indexOf('--pictures') + 1] : null;
const { chromium } = await import(pathToFileURL(path.resolve(playwright, 'playwright-core/index.mjs')).href);

const DIGIT_PAGE_BYTES = 400 * 1000;
const WAIT = 90000; // milliseconds; a busy machine is slow
const TRAINED = 0.97;

const facts = new Facts(options.includes('--train') ? 900000 : 300000);
const scratch = mkdtempSync(path.join(os.tmpdir(), 'kiln-pages-'));
const { server, address } = await serve({ port: 0, root });
const plain = await serve({ port: 0, root, isolated: false });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--enable-unsafe-webgpu'] });

/** A page in a profile of its own; what it asks of anybody else, and failures that it does not show, are faults. */
async function open(name, { from = address, viewport = { width: 1100, height: 800 }, scheme = 'light', block } = {}) {
  const context = await browser.newContext({ viewport, colorScheme: scheme, acceptDownloads: true });
  const page = await context.newPage();
  page.faults = [];
  page.setDefaultTimeout(WAIT);
  page.on('pageerror', (error) => page.faults.push(error.message));
  page.on('request', (request) => {
    if (!/^(blob|data):/.test(request.url()) && !request.url().startsWith(from)) page.faults.push(`a request to ${request.url()}`);
  });
  if (block) await page.route(block, (route) => route.abort());
  await page.goto(`${from}/${name}`);
  return page;
}

async function close(page) {
  const { faults } = page;
  await page.context().close();
  assert.deepEqual(faults, []);
}

const text = (page, id) => page.textContent(`#${id}`);
const becomes = (page, id, pattern) =>
  page.waitForFunction(([where, what]) => new RegExp(what).test(document.getElementById(where).textContent), [id, pattern.source]);
const shown = (page) => page.isVisible('#error');

async function picture(page, name) {
  if (pictures) await page.screenshot({ path: path.join(pictures, `web_${name}.png`), fullPage: true });
}

/** Draws lines between points of the pad, from 0 to 1. */
async function draw(page, lines) {
  const box = await page.locator('#pad').boundingBox();
  const move = ([x, y]) => page.mouse.move(box.x + x * box.width, box.y + y * box.height, { steps: 8 });
  for (const [first, ...others] of lines) {
    await move(first);
    await page.mouse.down();
    for (const point of others) await move(point);
    await page.mouse.up();
  }
}

const SEVEN = [[[0.28, 0.22], [0.72, 0.22], [0.45, 0.85]]];
const ONE = [[[0.5, 0.15], [0.5, 0.85]]];

await facts.check('digit: a drawn seven and a drawn one are recognised, in at most 400 KB', async () => {
  const page = await open('index.html');
  const session = await page.context().newCDPSession(page);
  let bytes = 0;
  await session.send('Network.enable');
  session.on('Network.loadingFinished', (event) => { bytes += event.encodedDataLength; });
  await page.click('text=Draw a digit >> nth=0');
  await becomes(page, 'status', /Ready/);
  console.log(`        the digit page loads ${bytes} bytes, weights included`);
  assert.ok(bytes > 100000 && bytes <= DIGIT_PAGE_BYTES, `${bytes} bytes are loaded, at most ${DIGIT_PAGE_BYTES}`);
  await draw(page, SEVEN);
  await becomes(page, 'answer', /7/);
  await picture(page, 'digit');
  await page.click('#clear');
  await becomes(page, 'answer', /–/);
  await draw(page, ONE);
  await becomes(page, 'answer', /1/);
  await close(page);
});

await facts.check('digit: it works with keys alone', async () => {
  const page = await open('digit.html');
  await becomes(page, 'status', /Ready/);
  await page.focus('#pad');
  for (let i = 0; i < 10; i++) await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Space');
  for (let i = 0; i < 20; i++) await page.keyboard.press('ArrowDown');
  await becomes(page, 'answer', /1/);
  await page.keyboard.press('Delete');
  await becomes(page, 'answer', /–/);
  await close(page);
});

await facts.check('digit: it works by touch, narrow and dark', async () => {
  const context = await browser.newContext({ viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true, colorScheme: 'dark' });
  const page = await context.newPage();
  await page.goto(`${address}/digit.html`);
  await becomes(page, 'status', /Ready/);
  const box = await page.locator('#pad').boundingBox();
  const session = await context.newCDPSession(page);
  const touch = (type, points) => session.send('Input.dispatchTouchEvent', { type, touchPoints: points.map(([x, y]) => ({ x: box.x + x * box.width, y: box.y + y * box.height })) });
  await touch('touchStart', [[0.5, 0.15]]);
  for (let y = 0.2; y < 0.86; y += 0.05) await touch('touchMove', [[0.5, y]]);
  await touch('touchEnd', []);
  await becomes(page, 'answer', /1/);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  assert.ok(!wide, 'the page is wider than the screen');
  await picture(page, 'digit_dark');
  await context.close();
});

await facts.check('digit: what cannot be loaded is told in the page, which lives on', async () => {
  const page = await open('digit.html', { block: '**/cnn.safetensors' });
  await becomes(page, 'status', /no network/);
  assert.ok(await shown(page));
  await draw(page, ONE);
  await close(page);
});

await facts.check('train: a network trains, is stopped, saved and loaded again', async () => {
  const page = await open('train.html');
  await becomes(page, 'status', /Ready/);
  assert.match(await text(page, 'device'), /threads/);
  await page.selectOption('#model', 'mlp');
  await page.click('#start');
  await becomes(page, 'status', /Step [2-9]\d of/);
  await page.click('#stop');
  await becomes(page, 'status', /Stopped/);
  const accuracy = await text(page, 'accuracy');
  assert.match(accuracy, /\d+\.\d\d %/);
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('#save')]);
  const file = path.join(scratch, 'digits.safetensors');
  await download.saveAs(file);
  const names = JSON.parse(readFileSync(file).subarray(8, 8 + Number(readFileSync(file).readBigUInt64LE(0))));
  assert.deepEqual(Object.keys(names).filter((n) => n !== '__metadata__').sort(), ['fc1.bias', 'fc1.weight', 'fc2.bias', 'fc2.weight']);
  writeFileSync(path.join(scratch, 'bad.safetensors'), 'no weights at all');
  await page.setInputFiles('#file', path.join(scratch, 'bad.safetensors'));
  await becomes(page, 'status', /was not loaded/);
  assert.ok(await shown(page));
  await page.setInputFiles('#file', file);
  await becomes(page, 'status', /is loaded/);
  assert.equal(await text(page, 'accuracy'), accuracy);
  assert.ok(!(await shown(page)));
  await page.setInputFiles('#file', 'examples/mnist/cnn.safetensors');
  await becomes(page, 'status', /cnn\.safetensors is loaded/);
  assert.ok(parseFloat(await text(page, 'accuracy')) > 99);
  await close(page);
});

await facts.check('train: numbers that make no sense are told', async () => {
  const page = await open('train.html');
  await becomes(page, 'status', /Ready/);
  await page.fill('#batch', '0');
  await page.click('#start');
  assert.match(await text(page, 'error'), /Images a step/);
  await close(page);
});

if (options.includes('--train'))
  await facts.check('train: 97 % of the test images within two minutes', async () => {
    const page = await open('train.html');
    await becomes(page, 'status', /Ready/);
    const device = await text(page, 'device');
    const begin = Date.now();
    await page.click('#start');
    await page.waitForFunction((most) => parseFloat(document.getElementById('accuracy').textContent) >= 100 * most, TRAINED, { timeout: 800000 });
    const seconds = (Date.now() - begin) / 1000;
    console.log(`        ${device}: ${await text(page, 'accuracy')} after ${seconds.toFixed(1)} s, ${await text(page, 'speed')}`);
    await page.waitForFunction(() => /Trained|well/.test(document.getElementById('status').textContent), null, { timeout: 800000 });
    console.log(`        ${await text(page, 'status')}: ${await text(page, 'accuracy')}`);
    await picture(page, 'train');
    assert.ok(seconds <= 120, `it took ${seconds} s`);
    await close(page);
  });

await facts.check('kernels: an example is parsed, printed and run; mistakes are told where they are', async () => {
  const page = await open('playground.html');
  await becomes(page, 'status', /It is right/);
  const targets = await page.locator('#target option').allTextContents();
  assert.ok(targets.includes('c') && targets.includes('ir'));
  for (const target of targets) {
    await page.selectOption('#target', target);
    await becomes(page, 'text', target === 'ir' ? /kernel/ : /kn_scale/);
  }
  await page.selectOption('#target', 'c');
  await page.selectOption('#fill-x', 'ramp');
  await page.click('#run');
  await becomes(page, 'results', /0, 2\.5000, 5/);
  await picture(page, 'kernels');
  await page.fill('#source', 'kernel scale(index item, in T x[], out T y[])\n{\n    y[item] = z[item];\n}\n');
  await becomes(page, 'error', /kernel:3:\d+: .*'z'/);
  assert.ok(await page.isDisabled('#run'));
  await page.fill('#source', 'kernel wild(index item, in T x[], out T y[])\n{\n    y[item + 1] = x[item];\n}\n');
  await becomes(page, 'status', /It is right/);
  await page.click('#run');
  await becomes(page, 'error', /y/);
  for (const name of await page.locator('#example option').allTextContents()) {
    await page.selectOption('#example', name);
    await becomes(page, 'status', /It is right/);
  }
  await close(page);
});

await facts.check('kernels: one runs on WebGPU, and its WGSL is shown', async () => {
  const page = await open('playground.html');
  await becomes(page, 'status', /It is right/);
  await page.selectOption('#target', 'wgsl');
  await becomes(page, 'text', /@compute @workgroup_size/);
  await page.selectOption('#device', 'webgpu:0');
  await page.selectOption('#fill-x', 'ramp');
  await page.click('#run');
  await becomes(page, 'results', /0, 2\.5000, 5/);
  await picture(page, 'webgpu');
  await page.uncheck('#checked');
  await page.selectOption('#example', 'softsign');
  await becomes(page, 'status', /It is right/);
  await page.click('#run');
  await becomes(page, 'results', /result/);
  await close(page);
});

await facts.check('webgpu: the thread of a page computes on it and reads without waiting', async () => {
  const page = await open('playground.html');
  const got = await page.evaluate(async () => {
    const { kiln } = await import('./kiln/src/kiln.js');
    const kn = await kiln({ threads: 2, device: 'autodiff(fusion(webgpu:0))' });
    const x = kn.tensor([[1, 2], [3, 4]]);
    const [sum, turned] = await Promise.all([kn.add(x, x).array(), kn.permute(x, { axes: [1, 0] }).array()]);
    const table = kn.tensor([10, 20, 30]);
    let last;
    for (let i = 0; i < 80; i++) last = await kn.gather(table, kn.tensor(new BigInt64Array([BigInt(i % 3)])), { axis: 0 }).array();
    const outside = kn.gather(table, kn.tensor(new BigInt64Array([5n])), { axis: 0 });
    const refused = await outside.array().then(() => 'read', (error) => error.message);
    const after = await kn.mul(x, x).array();
    kn.end?.();
    return { sum, turned, last, refused, after };
  });
  assert.deepEqual(got.sum, [[2, 4], [6, 8]]);
  assert.deepEqual(got.turned, [[1, 3], [2, 4]]);
  assert.deepEqual(got.last, [20]);
  assert.match(got.refused, /index 5 is out of range/);
  assert.deepEqual(got.after, [[1, 4], [9, 16]]);
  await close(page);
});

await facts.check('kernels: one that does not end is stopped, and the page goes on', async () => {
  const page = await open('playground.html');
  await becomes(page, 'status', /It is right/);
  await page.uncheck('#checked');
  await page.fill('#source', 'kernel forever(index item, in T x[], out T y[])\n{\n    index i = 0;\n    while (i < 1) i = i * 2;\n    y[item] = x[item];\n}\n');
  await page.waitForSelector('#number-by', { state: 'detached' });
  await page.click('#run');
  await becomes(page, 'error', /seconds and was stopped/);
  await page.selectOption('#example', 'softsign');
  await becomes(page, 'status', /It is right/);
  await page.click('#run');
  await becomes(page, 'results', /result/);
  await close(page);
});

await facts.check('onnx: a dropped model shows its signature and runs; others are refused', async () => {
  const page = await open('onnx.html');
  await becomes(page, 'status', /Ready/);
  const model = path.join(scratch, 'tiny.onnx');
  writeFileSync(model, tinyModel());
  writeFileSync(path.join(scratch, 'bad.onnx'), 'no model');
  await page.setInputFiles('#file', path.join(scratch, 'bad.onnx'));
  await becomes(page, 'status', /could not be read/);
  assert.ok(await shown(page));
  const transfer = await page.evaluateHandle((bytes) => {
    const data = new DataTransfer();
    data.items.add(new File([Uint8Array.from(bytes)], 'tiny.onnx'));
    return data;
  }, Array.from(tinyModel()));
  await page.dispatchEvent('#drop', 'drop', { dataTransfer: transfer });
  await becomes(page, 'status', /tiny\.onnx/);
  await becomes(page, 'inputs', /xtensor\(float\)batch, 2/);
  await page.fill('#size-batch', '3');
  await page.click('#run');
  await becomes(page, 'results', /yf32 \[3, 2\]/);
  assert.ok(!(await shown(page)));
  await picture(page, 'onnx');
  await page.fill('#size-batch', '0');
  await page.click('#run');
  assert.match(await text(page, 'error'), /batch/);
  await close(page);
});

// The module for one thread is not built where seconds count.
if (existsSync(path.join(root, 'kiln/wasm/kiln.wasm'))) await facts.check('a page that is not isolated gets one thread', async () => {
  const page = await open('train.html', { from: plain.address });
  await becomes(page, 'status', /Ready/);
  assert.match(await text(page, 'device'), /one thread/);
  await close(page);
});

await facts.check('the server gives nothing but its files', async () => {
  for (const name of ['/../serve.mjs', '/%2e%2e/serve.mjs', '/kiln/..%2f..%2f..%2fMakefile', '/nothing', '/%', '/%00'])
    assert.equal((await fetch(address + name)).status, 404, name);
  assert.equal((await fetch(address, { method: 'POST' })).status, 405);
});

await browser.close();
server.close();
plain.server.close();
rmSync(scratch, { recursive: true });
facts.end();

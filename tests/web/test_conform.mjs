// Conformance in Chromium: node tests/web/test_conform.mjs FOLDER_OF_THE_PACKAGE FOLDER_OF_PLAYWRIGHT DEVICE [options of kiln conform]
// DEVICE is 'webgpu:0', 'cpu' ... What differs is printed, and how many checks passed. Compilers of browsers are slow on a processor: after
// KN_CONFORM_SECONDS (300) the run ends, and is good where nothing differed and KN_CONFORM_LEAST (100) checks passed.

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { serve } from '../../web/serve.mjs';

const [root, playwright, device, ...options] = process.argv.slice(2);
const { chromium } = await import(pathToFileURL(path.resolve(playwright, 'playwright-core/index.mjs')).href);
const WAIT = Number(process.env.KN_CONFORM_SECONDS ?? 300) * 1000;
const LEAST = Number(process.env.KN_CONFORM_LEAST ?? 100);

const { server, address } = await serve({ port: 0, root });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--enable-unsafe-webgpu'] });
const page = await (await browser.newContext()).newPage();
const headers = { 'Cross-Origin-Embedder-Policy': 'require-corp', 'Cross-Origin-Resource-Policy': 'same-origin' };
const give = (pattern, file, contentType) =>
  page.context().route(pattern, (route) => route.fulfill({ contentType, headers, body: readFileSync(file(new URL(route.request().url()).pathname)) }));
await give('**/tests/*', (name) => path.join('tests/web', path.basename(name)), 'text/javascript');
await give('**/conform.wasm', () => path.join(root, 'conform.wasm'), 'application/wasm');
await give('**/repository/**', (name) => name.slice('/repository/'.length), 'application/octet-stream');

const names = [...readdirSync('tests/conform/data').map((name) => `tests/conform/data/${name}`), 'tests/conform/refused.txt'];
const environment = { KN_FALLBACK: 'off' };
let told;
const end = new Promise((resolve) => { told = resolve; });
const counts = { passed: 0, failed: 0, none: 0 };
// What needs f64 is none of a device without it, as kiln conform counts it.
await page.exposeFunction('tellLine', (line) => {
  const kind = line.startsWith('ok ') ? 'passed' : line.startsWith('none ') ? 'none' : line.startsWith('FAIL ') ? 'failed' : null;
  if (kind) counts[kind]++;
  if (kind === 'failed') console.log(line);
});
await page.exposeFunction('tellEnd', (result) => told(result));
await page.goto(`${address}/index.html`);
await page.evaluate((message) => {
  const worker = new Worker('/tests/conform_worker.js', { type: 'module' });
  worker.onmessage = ({ data }) => (data.line === undefined ? globalThis.tellEnd(data) : globalThis.tellLine(data.line));
  worker.onerror = (event) => globalThis.tellEnd({ failed: event.message });
  worker.postMessage(message);
}, { names, options: ['--device', device, '--verbose', ...options], environment });
const timer = setTimeout(() => told({ over: true }), WAIT);
const result = await end;
clearTimeout(timer);
if (result.failed) console.log(`FAIL ${device} in Chromium: ${result.failed}`);
console.log(`${device} in Chromium: ${counts.none} checks need f64${result.over ? `, ended after ${WAIT / 1000} s` : ''}`);
console.log(`${counts.passed} passed, ${counts.failed} failed`);
await browser.close();
server.close();
const good = !result.failed && !counts.failed && (result.over ? counts.passed >= LEAST : result.status === 0);
process.exitCode = good ? 0 : 1;

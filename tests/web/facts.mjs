// A runner for facts: each has a name, passes or throws, and the last line says how many of each there were.

import assert from 'node:assert/strict';

export class Facts {
  constructor(limit = 60000) {
    Object.assign(this, { passed: 0, failed: 0, limit });
  }

  async check(name, body) {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not done after ${this.limit / 1000} s`)), this.limit);
    });
    try {
      await Promise.race([body(), late]);
      this.passed++;
      console.log(`  ok    ${name}`);
    } catch (error) {
      this.failed++;
      console.log(`  FAIL  ${name}: ${error.stack ?? error}`);
    } finally {
      clearTimeout(timer);
    }
  }

  end() {
    console.log(`${this.passed} passed, ${this.failed} failed`);
    process.exitCode = this.failed ? 1 : 0;
  }
}

/** Numbers that are near each other, one by one. */
export function near(found, expected, most = 1e-5) {
  const [a, b] = [Array.from(found, Number), Array.from(expected, Number)];
  assert.equal(a.length, b.length);
  a.forEach((value, i) => assert.ok(Math.abs(value - b[i]) <= most * Math.max(1, Math.abs(b[i])), `element ${i} is ${value}, not ${b[i]}`));
}

/** Something fails with a message that says this. */
export async function fails(body, pattern, code) {
  await assert.rejects(async () => body(), (error) => {
    assert.match(error.message, pattern);
    if (code) assert.equal(error.code, code);
    return true;
  });
}

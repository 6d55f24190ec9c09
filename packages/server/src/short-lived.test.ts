import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createTestDatabaseUrl } from './testing/database.ts';

const fixture = fileURLToPath(new URL('./short-lived.fixture.ts', import.meta.url));
const { stdout } = await promisify(execFile)(process.execPath, [
  fixture,
  await createTestDatabaseUrl({ empty: true }),
]);
const left = JSON.parse(stdout) as Record<string, number>;

const most: Record<string, number> = { statement: 500, transaction: 1500, push: 200, entry: 60 };
for (const [work, bytes] of Object.entries(left))
  test(`a ${work} that is over does not wait for a full collection`, () => {
    assert.ok(bytes < most[work]!, `${Math.round(bytes)} bytes are left of each`);
  });

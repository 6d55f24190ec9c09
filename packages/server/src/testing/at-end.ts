/** Clearing away after tests in the reverse order of building up: whoever uses a thing is gone before the thing itself. */
import { after } from 'node:test';

const cleanups: (() => unknown)[] = [];

/**
 * Runs `cleanup` when the test that calls this ends, or its file when called outside of tests; the last one first.
 *
 * @example const db = openDatabase({ url: await createTestDatabaseUrl() }); atEnd(() => db.close());
 */
export function atEnd(cleanup: () => unknown): void {
  cleanups.push(cleanup);
  after(async () => {
    await cleanups.pop()!();
  });
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atEnd } from '../../../testing/at-end.ts';
import { createTestDatabaseUrl } from '../../../testing/database.ts';
import { until } from '../../../testing/wait.ts';
import { startWay } from '../../../testing/way.ts';
import { openDatabase } from '../database.ts';

const CHANNELS = ['one', 'two', 'three', 'a "quoted" one'];
const url = await createTestDatabaseUrl({ empty: true });
const direct = openDatabase({ url, connections: 1 });
atEnd(() => direct.close());

/** Listens on every channel, over a way of its own. */
async function startListeners() {
  const way = await startWay(url);
  const db = openDatabase({ url: way.url, connections: 1 });
  atEnd(() => db.close());
  const events: string[] = [];
  const stops = await Promise.all(
    CHANNELS.map((channel) =>
      db.listen(
        channel,
        (message) => events.push(`${channel} heard ${message}`),
        () => events.push(`${channel} connected`),
      ),
    ),
  );
  return { way, events, stops };
}
const all = (what: string) => CHANNELS.map((channel) => `${channel} ${what}`).toSorted();
const tellAll = async (message: string) => {
  for (const channel of CHANNELS) await direct.notify(channel, message);
};
const { way, events, stops } = await startListeners();
/** What happened since the last call, once it is as much as expected. */
async function next(count: number): Promise<string[]> {
  await until(() => events.length >= count);
  return events.splice(0).toSorted();
}

test('after an outage every channel is heard again, and each listener is told once', async () => {
  assert.deepEqual(await next(CHANNELS.length), all('connected'));
  way.close();
  const before = way.asked();
  await until(() => way.asked() >= before + 4, { what: 'several tries to connect' });
  way.open();
  assert.deepEqual(await next(CHANNELS.length), all('connected'));
  await tellAll('hello');
  // Whatever was said before these messages has been said by now.
  assert.deepEqual(await next(CHANNELS.length), all('heard hello'));
});

test('a connection that is lost again while it is made is made once more', async () => {
  for (let cuts = 0; cuts < 5; cuts++) {
    const before = way.asked();
    way.cut(cuts % 2 === 0);
    await until(() => way.asked() > before);
  }
  await until(() => CHANNELS.every((channel) => events.includes(`${channel} connected`)));
  await until(async () => {
    await tellAll('there');
    return CHANNELS.every((channel) => events.includes(`${channel} heard there`));
  });
});

test('whoever stops hears nothing more, also after an outage', async () => {
  await stops[0]!();
  events.splice(0);
  way.cut(true);
  await until(() => CHANNELS.slice(1).every((channel) => events.includes(`${channel} connected`)));
  await stops[1]!();
  events.splice(0);
  await tellAll('last');
  await until(() => events.length >= CHANNELS.length - 2);
  assert.deepEqual(
    events.toSorted(),
    CHANNELS.slice(2)
      .map((channel) => `${channel} heard last`)
      .toSorted(),
  );
});

test('whoever stops while the database is away is not kept', async () => {
  way.close();
  await Promise.all(stops.map((stop) => stop()));
  way.open();
});

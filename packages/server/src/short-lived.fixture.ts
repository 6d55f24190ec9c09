/** Prints how many bytes of work that is over are left among the old objects, as JSON. A process of its own: the test runner keeps promises. */
import { createServer } from 'node:net';
import { openDatabase } from './kernel/db/database.ts';
import { createEgress } from './kernel/egress/agent.ts';
import { targetUrlRules } from './kernel/egress/url-policy.ts';
import { PassingMap } from './kernel/memory/passing-map.ts';
import { systemClock } from './kernel/time/clock.ts';
import { leftBehind } from './testing/left-behind.ts';
import { addressOf, push, targetHeaders } from './webhooks/push/request.ts';
import { newSigningSecret, signingKey } from './webhooks/push/signature.ts';

const text = 'x'.repeat(500);

const db = openDatabase({ url: process.argv[2]!, connections: 1 });
const statement = await leftBehind((time) => db.sql`select ${text + time}::text as text`);
const transaction = await leftBehind((time) =>
  db.transaction(({ sql }) => sql`select ${text + time}::text as text`),
);
await db.close();

const receiver = createServer((socket) => {
  socket.on('error', () => undefined);
  socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'));
});
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
const { port } = receiver.address() as { port: number };
const egress = createEgress(targetUrlRules({ mode: 'development', egressAllow: [] }));
const target = {
  ...addressOf(`http://127.0.0.1:${port}/`),
  headers: targetHeaders([], null),
  keys: [signingKey(newSigningSecret())],
};
const { signal } = new AbortController();
const pushOne = (number: number) =>
  push(
    { dispatcher: egress.dispatcher, clock: systemClock },
    { target, eventId: `evt_${number}`, body: Buffer.from(text), signal },
  );
const TOGETHER = 10;
const pushes = await leftBehind(() => Promise.all(Array.from({ length: TOGETHER }, (_, n) => pushOne(n))));
await egress.close();
receiver.close();

const entries = new PassingMap<number, { text: string }>();
let number = 0;
const entry = await leftBehind(() => {
  for (let times = 0; times < 20; times++) {
    number += 1;
    entries.set(number, { text: text + number });
    entries.delete(number - 30);
  }
});

process.stdout.write(JSON.stringify({ statement, transaction, push: pushes / TOGETHER, entry: entry / 20 }));

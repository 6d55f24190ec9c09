import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { after, test } from 'node:test';
import { until } from '../../testing/wait.ts';
import { answerTogether, endTogether } from './reply-batch.ts';

const server = createServer((request, response) => {
  const body = `answer to ${request.url}`;
  response.writeHead(200, { 'content-length': body.length });
  endTogether(response, body);
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
after(() => server.close());
const { port } = server.address() as AddressInfo;

/** Asks for the paths in one write, and answers the bodies once all are there. */
async function askAtOnce(paths: string[]): Promise<string[]> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: test\r\n\r\n`).join(''));
  const bodies = () => [...text.matchAll(/answer to (\/\d+)/g)].map(([, path]) => path!);
  await until(() => bodies().length === paths.length);
  socket.destroy();
  return bodies();
}

const paths = Array.from({ length: 50 }, (_, number) => `/${number}`);

test('answers of one turn come in the order of their requests', async () => {
  assert.deepEqual(await askAtOnce(paths), paths);
});

test('callers at once get their own answers, also beside those who are gone', async () => {
  const gone = Array.from({ length: 10 }, () => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write('GET /gone HTTP/1.1\r\nHost: test\r\n\r\n', () => socket.destroy());
    return socket;
  });
  const answers = await Promise.all(paths.map((path) => askAtOnce([path, path])));
  assert.deepEqual(
    answers,
    paths.map((path) => [path, path]),
  );
  await until(() => gone.every((socket) => socket.destroyed));
});

test('of the requests of a turn all answers are made before the first is given, and one that fails is alone with that', async () => {
  const seen: string[] = [];
  const broken = (where: string) => {
    throw new Error(where);
  };
  const order = (name: string, { make = () => {}, give = () => {} } = {}) =>
    answerTogether({
      make: () => {
        seen.push(`make ${name}`);
        make();
        return name;
      },
      give: (answer) => {
        seen.push(`give ${answer}`);
        give();
      },
      fail: ({ message }) => seen.push(message),
    });
  order('a');
  order('b', { make: () => broken('b was not made') });
  order('c', { give: () => broken('c was not given') });
  order('d', { give: () => order('e') });
  await until(() => seen.includes('give e'));
  assert.deepEqual(seen, [
    ...['make a', 'make b', 'b was not made', 'make c', 'make d'],
    ...['give a', 'give c', 'c was not given', 'give d'],
    ...['make e', 'give e'],
  ]);
});

test('an answer waits a millisecond for others of its turn, and no longer', async () => {
  const given: number[] = [];
  const most = 8;
  for (let number = 0; number < most; number++)
    answerTogether({
      make: () => {
        const until = performance.now() + 0.6;
        while (performance.now() < until);
        return given.length;
      },
      give: (before) => given.push(before),
      fail: assert.ifError,
    });
  await until(() => given.length === most);
  assert.ok(given.at(-1)! > 0, `all waited for the last: ${given}`);
});

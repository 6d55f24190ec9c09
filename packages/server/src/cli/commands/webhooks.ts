/** `signalbox webhooks listen|replay|trigger|require-handshake`. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { type Command, InvalidArgumentError } from 'commander';
import { apiError } from '../../kernel/errors.ts';
import { onInterruption } from '../interruption.ts';
import { drawProgress, paint, printable, printRecord } from '../terminal.ts';
import { isoTime, typePattern } from './event-options.ts';
import { forTenant, type TenantCall, type TenantOptions } from './tenant.ts';

interface ListenOptions extends TenantOptions {
  forward?: string;
  filter: string[];
}

interface ReplayOptions extends TenantOptions {
  from: Date;
  until: Date;
  subscription?: string;
  dryRun?: boolean;
}

export function addCommands(program: Command): void {
  const webhooks = program.command('webhooks').description('webhook subscriptions and deliveries');
  forTenant<ListenOptions>(
    webhooks
      .command('listen')
      .description('subscribe this terminal to events until Ctrl-C, and print or forward them')
      .option('--forward <url>', 'post each event, with its headers, to this address', httpAddress)
      .option('--filter <patterns...>', 'event types', eachPattern, EVERYTHING)
      .option(
        '--dev',
        'beside `serve --dev` with a SIGNALBOX_SECRET, which is taken for production otherwise',
      )
      .addHelpText(
        'after',
        `
The server must be able to reach this machine: meant for development, where both are the same.

Examples:
  $ signalbox webhooks listen --filter '*.failed'
  $ signalbox webhooks listen --forward http://localhost:3000/hook`,
      ),
    listen,
  );
  forTenant<ReplayOptions>(
    webhooks
      .command('replay')
      .description('send dead letters again')
      .requiredOption('--from <time>', 'ISO 8601, inclusive', isoTime)
      .requiredOption('--until <time>', 'ISO 8601, inclusive', isoTime)
      .option('--subscription <id>', 'only those of this subscription (all)')
      .option('--dry-run', 'count only')
      .addHelpText(
        'after',
        '\nA running server sends them; Ctrl-C cancels what has not been sent.' +
          '\n\nExample:\n  $ signalbox webhooks replay --from 2026-01-01T00:00:00Z --until 2026-01-02T00:00:00Z --dry-run',
      ),
    replay,
  );
  forTenant(
    webhooks
      .command('trigger <type>')
      .description("send a sample event of the catalogue through the tenant's subscriptions")
      .addHelpText('after', '\nExample:\n  $ signalbox webhooks trigger com.svc.webhooks.test'),
    trigger,
  );
  forTenant(
    webhooks
      .command('require-handshake <on|off>')
      .description(
        'whether targets must consent (CloudEvents abuse protection) before events are pushed to them',
      ),
    async ({ modules, tenant, options, args }) => {
      if (args[0] !== 'on' && args[0] !== 'off') throw apiError('invalid', 'It must be on or off.');
      await modules.webhooks.subscriptions.requireHandshake(tenant, args[0] === 'on');
      printRecord({ require_handshake: args[0] }, options.json);
    },
  );
}

async function listen({ modules, tenant, options }: TenantCall<ListenOptions>): Promise<void> {
  if (modules.config.mode === 'production') {
    throw apiError(
      'invalid',
      'A server in production pushes to no private address: listen beside `serve --dev`, with --dev as well.',
    );
  }
  // Without the server's secret this passes for development beside a server in production, which could not open what is sealed here.
  await modules.accounts.tokens.requireSecret();
  const { subscriptions } = modules.webhooks;
  const stopped = new Promise<void>((resolve) => {
    onInterruption(() => resolve());
    process.stdout.once('error', () => resolve()); // nobody reads any more
  });
  // Not above: Node loads its client of the web with it, which every command would wait for.
  const { createServer } = await import('node:http');
  const server = createServer((incoming, answer) => {
    receive(incoming, answer, options).catch(() => answer.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const { id, signing_secret } = await subscriptions.create(tenant, {
      name: 'signalbox webhooks listen',
      target_url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      filters: options.filter,
    });
    process.stderr.write(
      `Listening for ${options.filter.join(', ')} with the secret ${signing_secret}; Ctrl-C ends it.\n`,
    );
    await stopped.finally(() => subscriptions.remove(tenant, id));
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

async function receive(
  incoming: IncomingMessage,
  answer: ServerResponse,
  options: ListenOptions,
): Promise<void> {
  const body = await text(incoming);
  // Consent, for tenants that demand it of their targets.
  const origin = incoming.headers['webhook-request-origin'];
  if (incoming.method === 'OPTIONS') answer.writeHead(200, { 'WebHook-Allowed-Origin': origin ?? '*' }).end();
  else if (!show(body, options.json)) answer.writeHead(400).end();
  else if (options.forward === undefined) answer.writeHead(204).end();
  else {
    // Nobody waits for the answer any more: the server gave up, or the command ends.
    const gone = new AbortController();
    answer.once('close', () => gone.abort());
    const got = await forward(options.forward, incoming.headers, body, gone.signal);
    answer.writeHead(...got).end();
  }
}

/** Prints an event; false when it is none: whoever else finds the port must not end the command. */
function show(body: string, json: boolean): boolean {
  try {
    // An event may come without data, or with bytes in its place.
    const { time, type, subject, data_base64, data = data_base64 } = JSON.parse(body);
    const what = paint('cyan', printable(String(type)));
    const head = `${printable(String(time))} ${what} ${printable(String(subject ?? ''))}`.trimEnd();
    const shown = data === undefined ? head : `${head}\n${JSON.stringify(data, null, 2)}`;
    process.stdout.write(`${json ? body : shown}\n`);
    return true;
  } catch {
    return false;
  }
}

/** Answers as the local receiver does, so that its failures are retried like any target's. */
async function forward(
  url: string,
  headers: IncomingHttpHeaders,
  body: string,
  signal: AbortSignal,
): Promise<[status: number, headers: Record<string, string>]> {
  const { host: _host, connection: _connection, 'content-length': _length, ...rest } = headers;
  const { request } = await import('undici');
  try {
    const {
      statusCode,
      headers: given,
      body: rubbish,
    } = await request(url, { method: 'POST', headers: rest, body, signal });
    await rubbish.dump();
    const retryAfter = [given['retry-after']].flat()[0];
    return [statusCode, retryAfter === undefined ? {} : { 'Retry-After': retryAfter }];
  } catch (error) {
    if (!signal.aborted)
      process.stderr.write(`${paint('red', 'not forwarded:')} ${(error as Error).message}\n`);
    return [502, {}];
  }
}

const LOOK_EVERY_MS = 200;
/** A server takes up the work within a second. */
const STANDSTILL_MS = 5000;
const STANDSTILL =
  'Nothing has moved for 5 seconds. Servers do this work: is one running? It goes on when one does; Ctrl-C cancels it.\n';

const NO_SERVER =
  'No server is running on this home, and none can start while a replay waits for it: start one, then replay.';

async function replay({ modules, store, tenant, options }: TenantCall<ReplayOptions>): Promise<void> {
  const { subscriptions, deadLetters } = modules.webhooks;
  const { from, until, dryRun = false } = options;
  if (from > until) throw apiError('invalid', '--from must not be after --until.');
  if (store.exclusive && !dryRun) throw apiError('unavailable', NO_SERVER);
  const ids = options.subscription
    ? [options.subscription]
    : (await subscriptions.list(tenant)).map(({ id }) => id);
  let cancelled = false;
  onInterruption(() => {
    cancelled = true;
  });
  let matched = 0;
  let rescheduled = 0;
  for (const id of ids) {
    if (cancelled) break;
    const work = await deadLetters.reschedule(tenant, id, { from, until, dryRun });
    matched += work.matched;
    if (work.id === null) continue;
    let state = await deadLetters.rescheduleState(tenant, work.id);
    let seen = state.rescheduled;
    let movedAt = performance.now();
    while (state.state === 'running') {
      drawProgress(`Replaying ${id}`, state.rescheduled, state.matched);
      if (state.rescheduled !== seen) {
        seen = state.rescheduled;
        movedAt = performance.now();
      } else if (performance.now() - movedAt > STANDSTILL_MS) {
        process.stderr.write(STANDSTILL);
        movedAt = Number.POSITIVE_INFINITY;
      }
      if (cancelled) await deadLetters.cancelReschedule(tenant, work.id);
      else await delay(LOOK_EVERY_MS);
      state = await deadLetters.rescheduleState(tenant, work.id);
    }
    // Letters that were deleted meanwhile, or left for a later time, are done with as well.
    drawProgress(`Replaying ${id}`, state.rescheduled, state.rescheduled);
    rescheduled += state.rescheduled;
    if (state.state === 'failed')
      throw new Error(
        `The replay of ${id} failed after ${state.rescheduled} of ${state.matched}; see the server's log.`,
      );
  }
  printRecord({ matched, rescheduled, ...(cancelled ? { cancelled } : {}) }, options.json);
}

async function trigger({ modules, tenant, options, args }: TenantCall): Promise<void> {
  const { eventTypes } = modules.webhooks;
  const type = eventTypes.find((known) => known.type === args[0]);
  if (type === undefined) {
    const known = eventTypes.map((known) => known.type).join('\n  ');
    throw apiError('notFound', `There is no event type ${args[0]} in the catalogue. It knows:\n  ${known}`);
  }
  await modules.db.transaction((tx) => modules.webhooks.publish(tx, tenant, [type.example]));
  printRecord({ published: type.type }, options.json);
}

/** What stands for no `--filter` at all. */
const EVERYTHING = ['*'];

function eachPattern(given: string, earlier: string[]): string[] {
  return [...(earlier === EVERYTHING ? [] : earlier), typePattern(given)];
}

function httpAddress(given: string): string {
  if (!/^https?:$/.test(URL.parse(given)?.protocol ?? ''))
    throw new InvalidArgumentError('It must be an http address.');
  return given;
}

/** `signalbox webhooks listen|replay|trigger|require-handshake`. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Command, InvalidArgumentError } from 'commander';
import { request } from 'undici';
import type { Tenant } from '../accounts/index.ts';
import { refuse } from '../kernel/errors.ts';
import type { Modules } from '../main.ts';
import { EVENT_TYPES, findEventType } from '../webhooks/event-types.ts';
import { chooseTenant } from './accounts.ts';
import { withModules } from './context.ts';
import { drawProgress, paint, printRecord } from './terminal.ts';

interface Common {
  json: boolean;
  tenant?: string;
}

export function addWebhookCommands(program: Command): void {
  const webhooks = program.command('webhooks').description('webhook subscriptions and deliveries');
  forTenant<Common & { forward?: string; filter: string[] }>(
    webhooks
      .command('listen')
      .description('subscribe this terminal to events until Ctrl-C, and print or forward them')
      .option('--forward <url>', 'post each event, with its headers, to this address', httpAddress)
      .option('--filter <patterns...>', 'event types', ['*'])
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
  forTenant<Common & { from: Date; until: Date; subscription?: string; dryRun?: boolean }>(
    webhooks
      .command('replay')
      .description('send dead letters again')
      .requiredOption('--from <time>', 'ISO 8601, inclusive', isoTime)
      .requiredOption('--until <time>', 'ISO 8601, inclusive', isoTime)
      .option('--subscription <id>', 'only those of this subscription (all)')
      .option('--dry-run', 'count only')
      .addHelpText(
        'after',
        '\nExample:\n  $ signalbox webhooks replay --from 2026-01-01T00:00:00Z --until 2026-01-02T00:00:00Z --dry-run',
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
      if (args[0] !== 'on' && args[0] !== 'off') throw refuse('invalid', 'It must be on or off.');
      await modules.webhooks.subscriptions.requireHandshake(tenant, args[0] === 'on');
      printRecord({ require_handshake: args[0] }, options.json);
    },
  );
}

interface Call<O> {
  modules: Modules;
  tenant: Tenant;
  options: O;
  args: string[];
}

function forTenant<O extends Common>(command: Command, action: (call: Call<O>) => Promise<void>): void {
  command
    .option('--tenant <tenant>', 'name or guid of the tenant (not needed when there is only one)')
    .action(async (...given: unknown[]) => {
      const self = given.at(-1) as Command;
      const options = self.optsWithGlobals<O>();
      await withModules(self, async (modules) => {
        const tenant = await chooseTenant(modules.accounts, options.tenant);
        await action({ modules, tenant, options, args: given.slice(0, -2) as string[] });
      });
    });
}

async function listen({
  modules,
  tenant,
  options,
}: Call<Common & { forward?: string; filter: string[] }>): Promise<void> {
  const { subscriptions } = modules.webhooks;
  const server = createServer((incoming, answer) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', async () => {
      if (incoming.method !== 'POST') return void answer.writeHead(204).end();
      const body = Buffer.concat(chunks).toString('utf8');
      show(body, options.json);
      const status = options.forward ? await forward(options.forward, incoming.headers, body) : 204;
      answer.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
  const { id, signing_secret } = await subscriptions.create(tenant, {
    name: 'signalbox webhooks listen',
    target_url: `http://127.0.0.1:${port}/`,
    filters: options.filter,
  });
  process.stderr.write(
    `Listening for ${options.filter.join(', ')} with the secret ${signing_secret}; Ctrl-C ends it.\n`,
  );
  try {
    await stopped;
  } finally {
    await subscriptions.remove(tenant, id);
    server.closeAllConnections();
    server.close();
  }
}

function show(body: string, json: boolean): void {
  if (json) {
    process.stdout.write(`${body}\n`);
    return;
  }
  const { time, type, subject, data } = JSON.parse(body);
  process.stdout.write(`${time} ${paint('cyan', type)} ${subject ?? ''}\n${JSON.stringify(data, null, 2)}\n`);
}

/** Answers the status of the local receiver, so that its failures are retried like any target's. */
async function forward(url: string, headers: Record<string, unknown>, body: string): Promise<number> {
  const { host: _host, connection: _connection, 'content-length': _length, ...rest } = headers;
  try {
    const answer = await request(url, { method: 'POST', headers: rest as Record<string, string>, body });
    await answer.body.dump();
    return answer.statusCode;
  } catch (error) {
    process.stderr.write(`${paint('red', 'not forwarded:')} ${(error as Error).message}\n`);
    return 502;
  }
}

const LOOK_EVERY_MS = 200;

async function replay(
  call: Call<Common & { from: Date; until: Date; subscription?: string; dryRun?: boolean }>,
): Promise<void> {
  const { modules, tenant, options } = call;
  const { subscriptions, deadLetters } = modules.webhooks;
  const { from, until, dryRun = false } = options;
  const ids = options.subscription
    ? [options.subscription]
    : (await subscriptions.list(tenant)).map(({ id }) => id);
  let cancelled = false;
  process.once('SIGINT', () => {
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
    while (state.state === 'running') {
      if (cancelled) await deadLetters.cancelReschedule(tenant, work.id);
      drawProgress(`Replaying ${id}`, state.rescheduled, state.matched);
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      state = await deadLetters.rescheduleState(tenant, work.id);
    }
    drawProgress(`Replaying ${id}`, state.matched, state.matched);
    rescheduled += state.rescheduled;
  }
  printRecord({ matched, rescheduled, ...(cancelled ? { cancelled } : {}) }, options.json);
}

async function trigger({ modules, tenant, options, args }: Call<Common>): Promise<void> {
  const type = findEventType(args[0]!);
  if (type === undefined) {
    const known = EVENT_TYPES.map((known) => known.type).join('\n  ');
    throw refuse('notFound', `There is no event type ${args[0]} in the catalogue. It knows:\n  ${known}`);
  }
  await modules.db.transaction((tx) => modules.webhooks.publish(tx, tenant, [type.example]));
  printRecord({ published: type.type }, options.json);
}

function isoTime(text: string): Date {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw new InvalidArgumentError('It must be an ISO 8601 time.');
  return time;
}

function httpAddress(text: string): string {
  if (!/^https?:$/.test(URL.parse(text)?.protocol ?? ''))
    throw new InvalidArgumentError('It must be an http address.');
  return text;
}

/** `signalbox events tail`. */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { onInterruption } from '../interruption.ts';
import { paint, printable } from '../terminal.ts';
import { isoTime, typePattern } from './event-options.ts';
import { forTenant, type TenantCall, type TenantOptions } from './tenant.ts';

interface TailOptions extends TenantOptions {
  type: string;
  since?: Date;
}

const LOOK_EVERY_MS = 500;

export function addCommands(program: Command): void {
  const events = program.command('events').description('events that were published');
  forTenant<TailOptions>(
    events
      .command('tail')
      .description('print the events of the tenant as they are published, until Ctrl-C')
      .option('--type <pattern>', 'event types', typePattern, '*')
      .option('--since <time>', 'also those from this time on, ISO 8601 (kept for two days)', isoTime)
      .addHelpText(
        'after',
        `
A line is time, type, source, subject and id; with --json it is the CloudEvent.

Examples:
  $ signalbox events tail --type '*.failed'
  $ signalbox events tail --since 2026-01-15T09:30:00Z --json`,
      ),
    tail,
  );
}

async function tail({ modules, tenant, options }: TenantCall<TailOptions>): Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  onInterruption(() => stopping.abort());
  process.stdout.once('error', () => stopping.abort()); // nobody reads any more
  const { type, since, json } = options;
  const events = modules.webhooks.tail(tenant, { type, since });
  try {
    while (!signal.aborted) {
      const found = await events.next();
      if (found.length === 0) await delay(LOOK_EVERY_MS, undefined, { signal });
      // Whoever reads slowly is waited for: a day of events does not fit into memory.
      else if (!process.stdout.write(found.map(({ body }) => `${json ? body : lineOf(body)}\n`).join('')))
        await once(process.stdout, 'drain', { signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function lineOf(body: string): string {
  const { time, type, source, subject = '-', id } = JSON.parse(body);
  return `${time} ${paint('cyan', printable(type))} ${printable(`${source} ${subject} ${id}`)}`;
}

/**
 * History from files: what visitors did before Signalbox came, or beside it. Each row counts once, however often and in
 * however many processes its file is imported: its identity (row-identity.ts) is claimed in the transaction that stores
 * it. Limits: deeds in different files that agree in everything, the time included, are taken for one.
 */
import { type FeedRow, readFeed } from '../../../catalog/feeds/index.ts';
import type { Database, Tx } from '../../../kernel/db/database.ts';
import { claimKeys } from '../../../kernel/db/dedupe.ts';
import { apiError } from '../../../kernel/errors.ts';
import { type Clock, DAY } from '../../../kernel/time/clock.ts';
import type { Profiles } from '../../../profiles/index.ts';
import { findLinked, type Link } from '../../store/interactions.ts';
import { type PersonKey, visitorKey } from '../people.ts';
import type { Interactions, NewInteraction } from '../record.ts';
import { contentOf, type HistoryRow, readHistoryRow } from './row.ts';
import { createRowIdentity } from './row-identity.ts';

export interface History {
  /**
   * Imports a file of whatever format feeds have, batch by batch: after a crash, import it again.
   *
   * @example await history.import(tenantId, createReadStream('history.csv'), { refused: (line, reason) => ... })
   */
  import(
    tenantId: string,
    source: AsyncIterable<Uint8Array>,
    watch?: { refused?: (line: number, reason: string) => void; progressed?: () => void },
  ): Promise<HistoryCounts>;
}

export interface HistoryCounts {
  imported: number;
  /** Rows that were imported before. */
  known: number;
  /** Rows of persons who are marked *do not track*: they are not stored, not even when they are tracked again (D18). */
  untracked: number;
  refused: number;
}

const BATCH = 2000;
/** A partition goes up to two days after the last row in it has had its time. */
const DROPPED_LATE_MS = 2 * DAY;

export function createHistory(dependencies: {
  db: Database;
  clock: Clock;
  profiles: Profiles;
  interactions: Interactions;
  /** How long interactions are stored: as long are rows known again. */
  keepDays: number;
}): History {
  const { db, clock, profiles, interactions, keepDays } = dependencies;

  /**
   * Answers how many were stored, were known, or are of persons of whom nothing is kept. Nobody is looked up for those that
   * are known: who was erased would come to life again. So the others are claimed too, as whoever is not tracked may be
   * erased later.
   */
  function store(
    tenantId: string,
    rows: readonly (HistoryRow & { key: string })[],
  ): Promise<Omit<HistoryCounts, 'refused'>> {
    return db.transaction(async (tx) => {
      const now = clock.now();
      const unclaimed = await claimKeys(tx.sql, {
        tenantId,
        kind: 'history',
        keys: rows.map(({ key }) => key),
        now,
        expiresAt: now + keepDays * DAY + DROPPED_LATE_MS,
      });
      const fresh = rows.filter(({ key }) => unclaimed.has(key));
      const known = rows.length - fresh.length;
      if (fresh.length === 0) return { imported: 0, known, untracked: 0 };
      const customers = fresh.map(({ customer }) => ({ externalId: customer }));
      const people = await profiles.resolve(tx, tenantId, customers);
      const visitors = fresh.flatMap(({ interaction }) => interaction.visitor ?? []);
      // The site tag calls a visitor who is known by the id of the profile.
      const untracked = await profiles.untracked(tx, tenantId, [...new Set(visitors)]);
      const tracked = fresh.flatMap(({ interaction }, index) => {
        const person = people[index];
        if (person?.doNotTrack || untracked.has(interaction.visitor ?? '')) return [];
        return [{ ...interaction, contact: person?.systemId ?? null }];
      });
      if (tracked.length > 0) {
        const links = await newLinks(tx, tenantId, tracked);
        await interactions.record(tx, tenantId, tracked, links);
      }
      return { imported: tracked.length, known, untracked: fresh.length - tracked.length };
    });
  }

  return {
    async import(tenantId, source, { refused, progressed } = {}) {
      const keyOf = createRowIdentity();
      const counts: HistoryCounts = { imported: 0, known: 0, untracked: 0, refused: 0 };
      let batch: (HistoryRow & { key: string })[] = [];
      const flush = async () => {
        const stored = await store(tenantId, batch);
        counts.imported += stored.imported;
        counts.known += stored.known;
        counts.untracked += stored.untracked;
        batch = [];
        progressed?.();
      };
      for await (const { line, values, error } of rowsOf(source)) {
        const row = values === undefined ? error : readHistoryRow(values, clock.now());
        if (typeof row === 'string') {
          counts.refused++;
          refused?.(line, row);
          continue;
        }
        batch.push({ ...row, key: keyOf(contentOf(row)) });
        if (batch.length >= BATCH) await flush();
      }
      if (batch.length > 0) await flush();
      return counts;
    },
  };
}

/**
 * Who the visitors are, by rows that name both. A file tells of the past: whoever is known already to be somebody, from an
 * earlier row or from the site since, stays that one.
 */
async function newLinks({ sql }: Tx, tenantId: string, rows: readonly NewInteraction[]): Promise<Link[]> {
  const contacts = new Map<PersonKey, number>();
  for (const { visitor, contact } of rows) {
    if (visitor == null || contact == null) continue;
    const key = visitorKey(visitor);
    if (!contacts.has(key)) contacts.set(key, contact);
  }
  if (contacts.size === 0) return [];
  const linked = await findLinked(sql, { tenantId, keys: [...contacts.keys()] });
  return [...contacts].flatMap(([key, contact]) => (linked.has(key) ? [] : [{ key, contact }]));
}

/** A file that is broken as a whole ends its import with a sentence. What was stored before is known when the file comes again. */
async function* rowsOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<FeedRow> {
  try {
    yield* readFeed(source);
  } catch (cause) {
    throw apiError('invalid', `The file cannot be read: ${(cause as Error).message}.`, { cause });
  }
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabase, createTestDatabaseUrl } from '../../../testing/database.ts';
import { openDatabase } from '../database.ts';
import { checkRequirements, UnfitDatabaseError, unmetRequirement } from './requirements.ts';

test('PostgreSQL 15 or newer in UTF-8 is fit, and anything else is told by a sentence', () => {
  const cases: [version: number, encoding: string, sentence: RegExp | undefined][] = [
    [150_000, 'UTF8', undefined],
    [180_003, 'UTF8', undefined],
    [140_012, 'UTF8', /is PostgreSQL 14, and Signalbox needs 15 or newer/],
    [90_624, 'UTF8', /is PostgreSQL 9,/],
    [150_018, 'LATIN1', /has the encoding LATIN1, and Signalbox needs UTF8: make one with `create database/],
    [150_018, 'SQL_ASCII', /has the encoding SQL_ASCII/],
  ];
  for (const [version, encoding, sentence] of cases) {
    const message = unmetRequirement({ version, encoding });
    if (sentence === undefined) assert.equal(message, undefined);
    else assert.match(message ?? '', sentence);
  }
});

test('the database itself is asked', async () => {
  const { sql } = await createTestDatabase({ empty: true });
  await checkRequirements(sql);
  const url = new URL(await createTestDatabaseUrl({ empty: true }));
  const name = `${url.pathname.slice(1)}_latin`;
  await sql.unsafe(`create database ${name} encoding 'LATIN1' locale 'C' template template0`);
  url.pathname = `/${name}`;
  const latin = openDatabase({ url: url.href, connections: 1 });
  await assert.rejects(checkRequirements(latin.sql), UnfitDatabaseError);
  await latin.close();
  await sql.unsafe(`drop database ${name}`);
});

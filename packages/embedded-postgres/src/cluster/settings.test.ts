import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EmbeddedPostgresError } from '../errors.ts';
import { defaultSettings, isDurable, settingsFile, throwawaySettings } from './settings.ts';

test('the defaults keep what was committed', () => {
  const text = settingsFile();
  for (const line of ["fsync = 'on'", "synchronous_commit = 'on'", "full_page_writes = 'on'"]) {
    assert.ok(text.split('\n').includes(line), line);
  }
  assert.ok(isDurable() && isDurable(defaultSettings));
});

test('settings that are given win over the defaults', () => {
  assert.match(settingsFile({ max_connections: 20 }), /^max_connections = '20'$/m);
  assert.doesNotMatch(settingsFile({ max_connections: 20 }), /^max_connections = '200'$/m);
});

test('a value is quoted so that it cannot become another setting', () => {
  assert.match(settingsFile({ search_path: "a'b\\c" }).replaceAll('\\', '/'), /^search_path = 'a''b\/\/c'$/m);
  assert.throws(() => settingsFile({ search_path: "x'\nfsync = 'off" }), EmbeddedPostgresError);
});

test('what tells the cluster from others cannot be set', () => {
  for (const name of ['port', 'listen_addresses', 'cluster_name', 'Data_Directory', 'a b', '']) {
    assert.throws(() => settingsFile({ [name]: 'x' }), EmbeddedPostgresError, name);
  }
});

test('only a cluster without fsync is not durable', () => {
  assert.equal(isDurable(throwawaySettings), false);
  for (const fsync of [false, 'off', 'OFF', 'no', 0]) assert.equal(isDurable({ fsync }), false);
  for (const fsync of [true, 'on', 1]) assert.equal(isDurable({ fsync }), true);
});

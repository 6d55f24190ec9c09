/** Two widgets compared: who is shown which, and what holds while they are (D15). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { untilWaiting, whileLocked } from '../testing/locks.ts';
import { startTestShop } from './demo-shop.fixture.ts';
import { contactKey } from './interactions/people.ts';
import { variantOf } from './widgets/widget.ts';

const shop = await startTestShop();

test('an experiment compares widgets of one organization: another one keeps its figures to itself', async () => {
  const { accounts, recommendations } = shop.server.modules;
  const { tenant } = shop.server;
  await accounts.createOrganization(tenant, { name: 'neighbour' });
  const theirs = await recommendations.widgets.create(tenant.id, 'neighbour', { name: 'theirs' });
  const ours = await shop.widget({});
  const experiment = { widget: theirs.id, share: 50 };
  for (const answer of [
    await shop.call('POST', '/widgets', { name: 'x', experiment }),
    await shop.call('PUT', `/widgets/${ours}`, { name: 'x', experiment }),
  ]) {
    assert.equal(answer.status, 400);
    assert.match(
      JSON.stringify(answer.body),
      /experiment\.widget must be another widget of the organization/,
    );
  }
});

test('a widget that another one is compared with is not deleted before that experiment ends', async () => {
  const b = await shop.widget({ size: 1 });
  const a = await shop.widget({ size: 2, experiment: { widget: b, share: 50 } });
  const { status, body } = await shop.call('DELETE', `/widgets/${b}`);
  assert.deepEqual([status, body.result_code], [409, 'Conflict']);
  assert.equal(body.message, `Widget ${a} is compared with ${b}: end its experiment first.`);
  await shop.call('PUT', `/widgets/${a}`, { name: 'a', size: 2 });
  assert.equal((await shop.call('DELETE', `/widgets/${b}`)).status, 200);
});

test('a widget is not deleted while it becomes one that another is compared with', async () => {
  const { db, recommendations } = shop.server.modules;
  const { widgets } = recommendations;
  const [{ id: tenantId }, { organization }] = [shop.server.tenant, shop.server];
  const [a, b] = [await shop.widget(), await shop.widget()];
  const { both } = await whileLocked(
    db,
    (sql) => sql`select from recommendation_widgets where tenant_id = ${tenantId} and id = ${a} for update`,
    async () => {
      const experiment = { widget: b, share: 50 };
      const comparing = widgets.update(tenantId, organization, a, { name: 'a', experiment });
      await untilWaiting(db, 'update recommendation_widgets');
      const deleting = widgets.remove(tenantId, organization, b);
      await Promise.race([deleting, untilWaiting(db, 'delete from recommendation_widgets')]);
      return { both: Promise.allSettled([comparing, deleting]) };
    },
  );
  assert.deepEqual(
    (await both).map(({ status }) => status),
    ['fulfilled', 'rejected'],
  );
});

test('an experiment shows a contact the same on every device', async () => {
  const b = await shop.widget({ size: 1 });
  const a = await shop.widget({ size: 2, experiment: { widget: b, share: 50 } });
  const size = async (query: string) => (await shop.pids(`/r/?widgetid=${a}&lang=en&${query}`)).length;
  for (let tpid = 1; tpid <= 8; tpid++) {
    const alone = await size(`tpid=${tpid}`);
    for (const sid of ['phone', 'laptop', 'tablet'])
      assert.equal(await size(`tpid=${tpid}&sid=${sid}`), alone, `${tpid} ${sid}`);
  }
  const strangers = await Promise.all(Array.from({ length: 20 }, (_, i) => size(`tpid=0&sid=v${i}`)));
  assert.deepEqual([...new Set(strangers)].toSorted(), [1, 2]);
});

test('an experiment shows who was merged the same by each of the former numbers', async () => {
  const b = await shop.widget({ size: 1 });
  const a = await shop.widget({ size: 2, experiment: { widget: b, share: 50 } });
  const { modules, tenant } = shop.server;
  const numbers = Array.from({ length: 20 }, (_, index) => 1000 + index);
  const shownTo = (tpid: number) => shop.pids(`/r/?widgetid=${a}&lang=en&tpid=${tpid}`);
  const sizes = async () => new Set((await Promise.all(numbers.map(shownTo))).map(({ length }) => length));
  assert.deepEqual([...(await sizes())].toSorted(), [1, 2]);
  const links = numbers.map((number) => ({ key: contactKey(number), contact: 1000 }));
  await modules.db.transaction((tx) =>
    modules.recommendations.interactions.record(tx, tenant.id, [], links.slice(1)),
  );
  assert.equal((await sizes()).size, 1);
});

test('an experiment gives each visitor one of two widgets, always the same, in the shares that were set', async () => {
  const shares = Array.from({ length: 4000 }, (_, index) =>
    variantOf('w', `c${index}`, { widget: 'other', share: 30 }),
  );
  const other = shares.filter((id) => id === 'other').length / 4000;
  assert.ok(other > 0.26 && other < 0.34, String(other));
  const b = await shop.widget({ size: 1 });
  const a = await shop.widget({ size: 2, experiment: { widget: b, share: 50 } });
  const sizes = new Set<number>();
  for (let tpid = 1; tpid <= 20; tpid++) {
    const path = `/r/?widgetid=${a}&lang=en&tpid=${tpid}`;
    const { length } = await shop.pids(path);
    assert.equal((await shop.pids(path)).length, length);
    sizes.add(length);
  }
  assert.deepEqual([...sizes].toSorted(), [1, 2]);
});

test('a change of the widget that somebody is shown counts at once, whichever of the two it is', async () => {
  const b = await shop.widget({ size: 1 });
  const a = await shop.widget({ size: 2, experiment: { widget: b, share: 100 } });
  const length = async () => (await shop.pids(`/r/?widgetid=${a}&lang=en&tpid=1`)).length;
  assert.equal(await length(), 1);
  await shop.call('PUT', `/widgets/${b}`, { name: 'b', size: 3 });
  assert.equal(await length(), 3);
  await shop.call('PUT', `/widgets/${a}`, { name: 'a', size: 4 });
  assert.equal(await length(), 4);
});

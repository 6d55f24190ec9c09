import assert from 'node:assert/strict';
import { test } from 'node:test';
import { violationsOf } from './rules.ts';
import { tableKindsOf } from './table-kinds.ts';

const tables = tableKindsOf([
  `create table signals (tenant_id uuid, id text, lane smallint, primary key (tenant_id, id, lane));
  create table profiles (tenant_id uuid, id text, lane smallint, primary key (tenant_id, id, lane));
  create table jobs (lane smallint, id uuid, primary key (lane, id));
  create table feeds (tenant_id uuid, id text, primary key (tenant_id, id));
  create table items (tenant_id uuid, id text, primary key (tenant_id, id));
  create table keys (key text primary key, tenant_id uuid);`,
]);

const LOCK = 'locks rows without';
const CONFLICT = 'has a parameter in ON CONFLICT of INSERT ... SELECT';
const SET = 'has a volatile or stable function in SET';
const RETURNING = 'has a volatile or stable function in RETURNING';
const WITHOUT_LANE = 'names neither tenant_id nor lane';
const WITHOUT_TENANT = 'does not name tenant_id';
const JOIN = 'joins tables that do not lie together';

/** Statements with what is wrong with each. */
function statementsAre(title: string, cases: [statement: string, ...violations: string[]][]): void {
  test(title, () => {
    for (const [statement, ...expected] of cases)
      assert.deepEqual(violationsOf(statement, tables), expected, statement);
  });
}

statementsAre('rows are locked in one lane, or of one tenant', [
  ['select id from jobs where lane = $1 for update'],
  [
    'select id from jobs j where id = $1 and (j.lane = $2::smallint) order by id limit 1 for update skip locked',
  ],
  ['select id from jobs where lane = any($1) for update', `${LOCK} lane = $n: jobs`],
  ['select id from jobs where id = $1 FOR NO KEY UPDATE', `${LOCK} lane = $n: jobs`],
  ['select id from signals where tenant_id = $1 for share', `${LOCK} lane = $n: signals`],
  ['select id from feeds where tenant_id = $1 and id = $2 for update'],
  ['select id from feeds where tenant_id in ($1, $2) for key share', `${LOCK} tenant_id = $n: feeds`],
  [
    'with mine as materialized (select id from jobs where id = $1 for update) update jobs set a = 1',
    `${LOCK} lane = $n: jobs`,
  ],
  [
    'select id from (select id from jobs where id = $1) as job where id in (select lane = $1) for update',
    `${LOCK} lane = $n: jobs`,
  ],
  ['select id from (select id from jobs where lane = $1) as job for update'],
  ['select key from keys where key = $1 for update'],
  ['select oid from pg_class for update'],
  ['/* one database */ select id from jobs where id = $1 for update'],
]);

statementsAre('an insert of what is selected has no parameter in its conflict clause', [
  ['insert into keys (key) select $1 on conflict (key) do update set at = $2', CONFLICT],
  [
    'insert into keys (key) select a from unnest($1) as a on conflict (key) do update set b = case when (c = $2) then 1 end',
    CONFLICT,
  ],
  [
    'with given as (select $1 as a) insert into keys (key) select a from given on conflict (key) do nothing returning $2',
  ],
  [
    'insert into keys as known (key) select $1 on conflict (key) do update set at = excluded.at where known.at < excluded.at',
  ],
  ['insert into keys (key) values ($1) on conflict (key) do update set at = $2 where keys.at < $3'],
  ['insert into keys (key) values ((select $1)) on conflict (key) do update set at = $2'],
]);

statementsAre('what is written and answered is the same on every shard', [
  ['update keys set at = now() where key = $1', SET],
  ['update keys set at = $1, b = coalesce(c, current_timestamp) where key = $2', SET],
  ["update keys set at = (told ->> 'at')::timestamptz from given", SET],
  ['update keys set at = told.at::date from told', SET],
  [
    'insert into keys (key) values ($1) on conflict (key) do update set a = random() where keys.at < now()',
    SET,
  ],
  ['insert into keys (key) values ($1) returning gen_random_uuid()', RETURNING],
  ['delete from keys where key = $1 returning (extract(epoch from at) * 1000)::float8 as "at"', RETURNING],
  ["update keys set at = now() returning date_part('epoch', at)", SET, RETURNING],
  ["update keys set at = $1::timestamptz, until = '-infinity'::timestamptz, day = null::date where key = $2"],
  ['update keys set at = to_timestamp($1::float8), "now" = now where at < now() returning at, key'],
  ['insert into keys (key, at) values ($1, now()) on conflict (key) do nothing'],
  ['select extract(epoch from at), now() from keys where at > now()'],
  ["update keys set name = 'now()' -- random()\nwhere key = $1"],
  ['/* database clock */ update jobs set at = now() where lane = $1'],
]);

statementsAre('each query says in which place its tables lie', [
  ['select count(*) from signals', `${WITHOUT_LANE}: signals`],
  ['select id from signals_20261120', `${WITHOUT_LANE}: signals_20261120`],
  [
    'select id from signals where id = $1 union all select id from profiles where lane = $2',
    `${WITHOUT_LANE}: signals`,
  ],
  ['select tenant_id, lane from signals order by lane', `${WITHOUT_LANE}: signals`],
  ['delete from signals where id = any($1)', `${WITHOUT_LANE}: signals`],
  ['update profiles set a = 1 where id = $1', `${WITHOUT_LANE}: profiles`],
  ['update keys set a = 1 where exists (select 1 from signals where id = $1)', `${WITHOUT_LANE}: signals`],
  [
    'select id from profiles where id in (select id from signals where lane = $1)',
    `${WITHOUT_LANE}: profiles`,
  ],
  ['insert into signals select * from unnest($1)', `${WITHOUT_LANE}: signals`],
  ['insert into signals (tenant_id, lane) select tenant_id, lane from profiles', `${WITHOUT_LANE}: profiles`],
  ['select id from feeds where id = $1', `${WITHOUT_TENANT}: feeds`],
  ['select id from unnest($1) as given (id) join feeds using (id)', `${WITHOUT_TENANT}: feeds`],
  ['insert into feeds (id) values ($1)', `${WITHOUT_TENANT}: feeds`],
  ['select id from signals where tenant_id = $1'],
  ['select id from signals s join profiles p on p.tenant_id = s.tenant_id and p.lane = s.lane'],
  ['select id from feeds f left join items i using (tenant_id, id)'],
  ['insert into feeds as known (tenant_id, id) values ($1, $2)'],
  ['with gone as (delete from signals where lane = $1 returning id) select id from gone'],
  ['select id from rows from (unnest($1), unnest($2)) as signals (a, b)'],
  ['select id from keys where a is distinct from signals'],
  ['select id from jobs'],
  ['select /* over all */ count(*) from signals'],
  ['delete /* over all */ from feeds where until < $1'],
]);

statementsAre('tables that lie by lane and by tenant do not meet', [
  ['select from signals s join feeds f using (tenant_id)', `${JOIN}: signals, feeds`],
  [
    'select from feeds where tenant_id = $1 and exists (select 1 from jobs where lane = $2)',
    `${JOIN}: jobs, feeds`,
  ],
  [
    'with a as (delete from signals where lane = $1) insert into feeds (tenant_id) values ($2)',
    `${JOIN}: signals, feeds`,
  ],
  ['/* one database */ select from signals s join feeds f using (tenant_id)'],
  ['select from signals s join keys k using (tenant_id)'],
  ['select from feeds f join keys k using (tenant_id)'],
  ['with a as (delete from signals where lane = $1) insert into jobs (lane) values ($1)'],
]);

statementsAre('what is no query is free', [
  ['create table signals_20261120 (like signals including all)'],
  ['create table a as select * from signals'],
  ['alter table signals attach partition a for values from (1) to (2)'],
  ['lock table feeds in share update exclusive mode'],
  ['truncate signals'],
  ['analyze feeds'],
  ['begin'],
  ["set local lock_timeout = '1s'"],
  ['listen signals'],
]);

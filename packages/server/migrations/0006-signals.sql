-- Signals (D31). The primary key keeps the signals of a person together. `profile` is the system id, 0 for an anonymous visitor, whose
-- signals lie in the lanes of their ids. `received_at` has the position in the request as
-- microseconds, so it orders all arrivals of a person.
create table signals (
  tenant_id uuid not null,
  profile int not null,
  received_at timestamptz not null,
  id text collate "C" not null,
  time timestamptz not null,
  signal text not null,
  payload json not null,
  marketing_id text,
  tracking_param text,
  -- 'signed' or 'claimed' (D8b) when it came live, 'import' for history.
  origin text not null,
  lane smallint not null,
  primary key (tenant_id, profile, received_at, id, lane)
) partition by range (received_at);

-- Ids that were accepted, for 7 days at least. Three slots of 7 days take turns: one is written, the one before is looked up, the
-- third is emptied. See signals/id-slots.ts for the figures. An id lies in the lane of the first identifier of its signal, of an anonymous
-- signal in its own.
create table signal_ids (
  tenant_id uuid not null,
  slot smallint not null,
  id text collate "C" not null,
  lane smallint not null,
  primary key (tenant_id, id, slot, lane)
) partition by list (slot);
create table signal_ids_0 partition of signal_ids for values in (0);
create table signal_ids_1 partition of signal_ids for values in (1);
create table signal_ids_2 partition of signal_ids for values in (2);

-- What persons did, by UTC day of the event time. The follower writes it (signals/follower).
create table activity_days (
  tenant_id uuid not null,
  profile int not null,
  day date not null,
  signals int not null,
  orders int not null,
  -- The total of each purchase, else the sum of its lines. Currencies are not converted. Numeric, so that any order of additions gives
  -- the same sum.
  revenue numeric not null,
  -- 48 half-hours as bits. The runs in it are the visits of the day.
  halves bigint not null,
  lane smallint not null,
  primary key (tenant_id, profile, day, lane)
) with (fillfactor = 85);

-- The same over all days, and what was sent to the person. `page_visits` counts page visits that the site lookup reported (D18).
create table person_activity (
  tenant_id uuid not null,
  profile int not null,
  last_seen_at timestamptz,
  visits int not null default 0,
  page_visits bigint not null default 0,
  orders int not null default 0,
  revenue numeric not null default 0,
  last_order_at timestamptz,
  cart_open boolean not null default false,
  last_sent_at timestamptz,
  last_opened_at timestamptz,
  last_clicked_at timestamptz,
  lane smallint not null,
  primary key (tenant_id, profile, lane)
) with (fillfactor = 80);

-- Settings of an account's browser SDK. Without a row the defaults hold.
create table sdk_settings (
  tenant_id uuid primary key,
  settings json not null,
  updated_at timestamptz not null
);

-- Every script that was ever served: a page that names a version gets that version for ever.
create table sdk_scripts (
  tenant_id uuid not null,
  name text not null,
  version text not null,
  integrity text not null,
  plain bytea not null,
  gzip bytea not null,
  brotli bytea not null,
  created_at timestamptz not null,
  primary key (tenant_id, name, version)
);
alter table sdk_scripts alter column gzip set storage external, alter column brotli set storage external;

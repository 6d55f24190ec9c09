-- What a tenant has decided about its engine itself; without a row everything is as usual.
create table recommendation_settings (
  tenant_id uuid not null primary key,
  weights json not null,
  half_life_hours json not null,
  updated_at timestamptz not null
);

-- Persons who were erased, by the keys under which models know them, until a model is built without them. The stored one
-- still has their past: whoever opens it must not use that.
create table recommendation_forgotten (
  tenant_id uuid not null,
  visitor text not null,
  forgotten_at timestamptz not null,
  primary key (tenant_id, visitor)
);

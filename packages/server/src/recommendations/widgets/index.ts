/** The widgets of all tenants: managed in the database, answered from memory. */
import { isDeepStrictEqual } from 'node:util';
import { type AnySql, type Database, insertUnique } from '../../kernel/db/database.ts';
import { createLookup } from '../../kernel/db/lookup.ts';
import { apiError, invalid } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { BoundedMap } from '../../kernel/memory/bounded-map.ts';
import type { Clock } from '../../kernel/time/clock.ts';
import * as store from '../store/widgets.ts';
import { canonicalTexts } from './translation.ts';
import {
  DEFAULTS,
  type Definition,
  definitionViolations,
  idViolations,
  nameViolations,
  type Widget,
} from './widget.ts';

export interface WidgetInput extends Partial<Definition> {
  id?: string;
  name: string;
}

export interface Widgets {
  create(tenantId: string, organization: string, input: WidgetInput): Promise<Widget>;
  /** Replaces: what is omitted takes its default. */
  update(tenantId: string, organization: string, id: string, input: WidgetInput): Promise<Widget>;
  get(tenantId: string, organization: string, id: string): Promise<Widget>;
  list(tenantId: string, organization: string): Promise<Widget[]>;
  /** Refused while another widget is compared with it: half of the visitors would change sides, and the report not say so. */
  remove(tenantId: string, organization: string, id: string): Promise<void>;
  /** From memory; the very same object until the widget changes. */
  find(tenantId: string, id: string): Promise<Widget | undefined>;
  /** The same without waiting: undefined also while it is being read. */
  peek(tenantId: string, id: string): Widget | undefined;
  /** Those of the ids that are a widget's. */
  known(tenantId: string, ids: string[]): Promise<Set<string>>;
  /** The settings of a widget that need not be stored, for previews. */
  draft(tenantId: string, organization: string, input: WidgetInput): Widget;
  close(): Promise<void>;
}

const MAX_LATEST = 10_000;

export async function createWidgets(dependencies: { db: Database; clock: Clock }): Promise<Widgets> {
  const { db, clock } = dependencies;
  const latest = new BoundedMap<string, Widget>({ max: MAX_LATEST, whenFull: 'dropOldest' });
  const lookup = await createLookup({
    db,
    channel: 'recommendation_widgets',
    ttlMs: 60_000,
    load: async (key) => unchanged(key, await store.findWidget(db.sql, key.slice(0, 36), key.slice(37))),
  });

  /** What was read before, where it says the same: answers and sets of items are kept for as long as the object lives. */
  function unchanged(key: string, read: Widget | undefined): Widget | undefined {
    const known = latest.get(key);
    latest.delete(key);
    if (read === undefined) return undefined;
    return latest.set(key, isDeepStrictEqual(known, read) ? known! : read);
  }
  const keyOf = (tenantId: string, id: string) => `${tenantId} ${id}`;

  function draft(tenantId: string, organization: string, input: WidgetInput): Widget {
    const { id = newId('wgt'), name, ...definition } = input;
    const now = new Date(clock.now());
    const given = Object.fromEntries(Object.entries(definition).filter(([, value]) => value !== undefined));
    const widget: Widget = {
      ...DEFAULTS,
      ...given,
      tenantId,
      id,
      organization,
      name,
      createdAt: now,
      updatedAt: now,
    };
    const violations = [...idViolations(id), ...nameViolations(name), ...definitionViolations(widget)];
    if (violations.length > 0) throw invalid(violations);
    return { ...widget, title: canonicalTexts(widget.title) };
  }

  async function get(tenantId: string, organization: string, id: string): Promise<Widget> {
    const widget = await store.findWidget(db.sql, tenantId, id);
    if (widget?.organization !== organization) throw unknownWidget(id);
    return widget;
  }

  /** Of the same organization: its figures stand in the report beside those of this one. */
  async function requireVariant(sql: AnySql, widget: Widget): Promise<void> {
    const { tenantId, organization, id, experiment } = widget;
    if (experiment === null) return;
    const other = { tenantId, id: experiment.widget, organization };
    if (other.id === id || !(await store.keepWidget(sql, other)))
      throw invalid([{ member: 'experiment.widget', message: 'must be another widget of the organization' }]);
  }

  /** Makes a change and announces it, or neither. */
  function change(tenantId: string, id: string, work: (sql: AnySql) => Promise<void>): Promise<void> {
    return db.transaction(async (tx) => {
      await work(tx.sql);
      await lookup.changed(tx, keyOf(tenantId, id));
    });
  }

  return {
    draft,
    get,
    async create(tenantId, organization, input) {
      const widget = draft(tenantId, organization, input);
      const insert = () =>
        change(tenantId, widget.id, async (sql) => {
          await requireVariant(sql, widget);
          await store.insertWidget(sql, widget);
        });
      await insertUnique(insert, `There is a widget ${widget.id} already.`);
      return widget;
    },
    async update(tenantId, organization, id, input) {
      const { createdAt } = await get(tenantId, organization, id);
      const widget = { ...draft(tenantId, organization, { ...input, id }), createdAt };
      await change(tenantId, id, async (sql) => {
        await requireVariant(sql, widget);
        if (!(await store.updateWidget(sql, widget))) throw unknownWidget(id);
      });
      return widget;
    },
    list: async (tenantId, organization) =>
      (await store.listWidgets(db.sql, tenantId)).filter((widget) => widget.organization === organization),
    remove: (tenantId, organization, id) =>
      change(tenantId, id, async (sql) => {
        if (!(await store.deleteWidget(sql, { tenantId, id, organization }))) throw unknownWidget(id);
        // Looked for behind the deletion, which has waited for whoever was about to compare with it.
        const comparison = await store.findComparison(sql, tenantId, id);
        if (comparison !== undefined)
          throw apiError(
            'conflict',
            `Widget ${comparison.id} is compared with ${id}: end its experiment first.`,
          );
      }),
    known: (tenantId, ids) => store.existingWidgets(db.sql, tenantId, ids),
    find: (tenantId, id) => lookup.get(keyOf(tenantId, id)),
    peek: (tenantId, id) => lookup.peek(keyOf(tenantId, id)),
    close: () => lookup.close(),
  };
}

const unknownWidget = (id: string) => apiError('notFound', `There is no widget ${id}.`);

/** What can be written of what the API shows, or of a body: all but what is read-only. */
export function inputOf(shown: object): WidgetInput {
  const { created_at: _created, updated_at: _updated, ...input } = shown as Record<string, unknown>;
  return input as unknown as WidgetInput;
}

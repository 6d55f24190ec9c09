/** What a widget would answer, and why: which model, which evidence, which rule. */
import { type Fields, viewOf } from '../../catalog/index.ts';
import type { Clock } from '../../kernel/time/clock.ts';
import type { TenantEngines } from '../live/tenant-engines.ts';
import { type ConditionContext, passesAll, ruleTestsOf } from './condition.ts';
import type { DefaultLanguages } from './default-languages.ts';
import { contextOf, type Question, type Ranked, rank } from './ranking.ts';
import { isValidAt, type Widget } from './widget.ts';

export type Preview = ReturnType<typeof createPreview>;

/** Whom a preview is for, and on what page; `language` as `languageKey` gives it. */
export type Viewer = Pick<Question, 'country' | 'itemPid' | 'page' | 'person'> & { language: string };

export function createPreview(dependencies: {
  clock: Clock;
  shops: TenantEngines;
  defaultLanguages: DefaultLanguages;
}) {
  const { clock, shops, defaultLanguages } = dependencies;
  return async (widget: Widget, { language, ...viewer }: Viewer) => {
    const shop = await shops.get(widget.tenantId);
    const languages = [language, await defaultLanguages.get(widget)];
    const question = { ...viewer, widget, now: clock.now(), explain: true };
    const context = contextOf(shop, question).item;
    const place = { context, country: viewer.country };
    const items = rank(shop, question).map((ranked, index) => {
      const fields = viewOf(ranked.item, languages, viewer.country);
      return { position: index + 1, ...explained(ranked, { ...question, place, fields }), fields };
    });
    return { context: context?.itemPid ?? null, items };
  };
}

function explained(
  { item, score, model, because, signals }: Ranked,
  on: { widget: Widget; now: number; place: ConditionContext; fields: Fields },
) {
  const { widget, now, place, fields } = on;
  const applies = (when: Widget['bury'][number]['when']) => {
    const tests = ruleTestsOf(when, place);
    return tests !== null && passesAll(item, tests);
  };
  const rules = [
    ...(model === 'pin' ? ['pinned'] : []),
    ...widget.boosts
      .filter((rule) => isValidAt(rule, now) && applies(rule.when))
      .map(({ factor }) => `boosted by ${factor}`),
    ...widget.bury.filter((rule) => isValidAt(rule, now) && applies(rule.when)).map(() => 'buried'),
  ];
  const { title } = fields;
  return {
    item_pid: item.itemPid,
    title: typeof title === 'string' ? title : null,
    score,
    model,
    because: because.map(({ itemPid }) => itemPid),
    signals,
    rules,
  };
}

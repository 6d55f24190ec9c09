/** Why a widget answers an item, and where. Pure. */
import type { Fields } from '../catalog/index.ts';
import type { Ranked } from './ranking.ts';
import { type Place, passesAll, ruleTestsOf } from './widgets/condition.ts';
import { isValidAt, type Widget } from './widgets/widget.ts';

/** Which model, which evidence, which rule. */
export function explained(
  { item, score, model, because, signals }: Ranked,
  on: { widget: Widget; now: number; place: Place; fields: Fields },
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

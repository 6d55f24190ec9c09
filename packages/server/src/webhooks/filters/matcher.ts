/**
 * Which subscriptions an event goes to (D19, D20): pure, no I/O. Whoever publishes keeps one index per tenant and version
 * of its subscriptions, and builds a new one when they change.
 */
import { type AdvancedFilter, compileAdvancedFilters, validateAdvancedFilters } from './advanced-filter.ts';
import { type ContentIndex, type ContentIndexEntry, createContentIndex } from './content-index.ts';
import type { FilterableEvent } from './event-key.ts';
import { createTypeIndex } from './type-index.ts';
import { compileTypePattern } from './type-pattern.ts';

/** A subscription as it is stored; `advanced_filters` in any form that validation accepts. */
export interface FilteringSubscription {
  readonly filters: readonly string[];
  readonly advanced_filters?: readonly object[] | undefined;
}

export interface SubscriptionMatcher {
  matches(event: FilterableEvent): boolean;
}

export interface SubscriptionIndex<S> {
  /** The subscriptions that want the event, in the order in which the index was given them. */
  match(event: FilterableEvent): S[];
}

/**
 * Compiles one subscription's filters: one type filter and all advanced filters must hold.
 *
 * @example
 * const { matches } = compileSubscription({ filters: ['svc.bounces.*', '*.failed'] });
 * matches({ type: 'com.svc.bounces.email.hard' }); // true
 */
export function compileSubscription(subscription: FilteringSubscription): SubscriptionMatcher {
  const patterns = subscription.filters.map(compileTypePattern);
  const accepts = compileAdvancedFilters(normalFilters(subscription));
  return { matches: (event) => patterns.some((pattern) => pattern.matches(event.type)) && accepts(event) };
}

/**
 * Builds an immutable index that finds the subscriptions for an event without asking each of them: those with the same
 * type filters form a group, groups are found by type, and the members of a group by the event's content. Pass
 * enabled subscriptions only.
 *
 * @example
 * const index = createSubscriptionIndex([
 *   { id: 1, filters: ['svc.*'], advanced_filters: [{ key: 'subject', operator: 'stringIn', value: 'order-1' }] },
 *   { id: 2, filters: ['*.failed'] },
 * ]);
 * index.match({ type: 'com.svc.deliveries.email.failed' }).map(({ id }) => id); // [2]
 */
export function createSubscriptionIndex<S extends FilteringSubscription>(
  subscriptions: readonly S[],
  { compile = compileAdvancedFilters }: { compile?: typeof compileAdvancedFilters } = {},
): SubscriptionIndex<S> {
  const drafts = new Map<string, GroupDraft<S>>();
  subscriptions.forEach((subscription, position) => {
    const patterns = [...new Set(subscription.filters)].sort();
    const name = JSON.stringify(patterns);
    const draft = drafts.get(name) ?? { patterns, unconditional: [], conditional: [] };
    drafts.set(name, draft);
    const filters = normalFilters(subscription);
    const member: Member<S> = { subscription, position, filters };
    if (filters.length === 0) draft.unconditional.push(member);
    else draft.conditional.push({ item: member, filters });
  });

  const groupsOf = createTypeIndex(
    Array.from(drafts.values(), ({ patterns, unconditional, conditional }) => ({
      patterns,
      item: { unconditional, candidates: createContentIndex(conditional) } satisfies Group<S>,
    })),
  );

  function accepts(member: Member<S>, event: FilterableEvent): boolean {
    // Most subscriptions of a large set never become candidates: compiling them all would double the time to build.
    member.accepts ??= compile(member.filters);
    return member.accepts(event);
  }

  return {
    match(event) {
      const matched: Member<S>[] = [];
      for (const { unconditional, candidates } of groupsOf(event.type)) {
        for (const member of unconditional) matched.push(member);
        for (const member of candidates(event)) if (accepts(member, event)) matched.push(member);
      }
      return matched.sort((a, b) => a.position - b.position).map(({ subscription }) => subscription);
    },
  };
}

interface Member<S> {
  readonly subscription: S;
  readonly position: number;
  readonly filters: readonly AdvancedFilter[];
  accepts?: (event: FilterableEvent) => boolean;
}

/** Subscriptions with the same type filters, so that each stands in one group only. */
interface Group<S> {
  /** Those without advanced filters: the type alone decides. */
  readonly unconditional: readonly Member<S>[];
  readonly candidates: ContentIndex<Member<S>>;
}

interface GroupDraft<S> {
  readonly patterns: readonly string[];
  readonly unconditional: Member<S>[];
  readonly conditional: ContentIndexEntry<Member<S>>[];
}

function normalFilters({ advanced_filters }: FilteringSubscription): AdvancedFilter[] {
  const { violations, filters } = validateAdvancedFilters(advanced_filters);
  const [first] = violations;
  // The door refused it; if it stands in the store all the same, silence would lose events.
  if (first) throw new Error(`a stored subscription does not fit: ${first.member} ${first.message}`);
  return filters;
}

/** Small logs written as text, one session per line, `item` or `item:kind` steps a minute apart. */
import { createRandom } from '../structures/random.ts';
import { createInteractionLog, type Interaction, type InteractionLog, type Kind } from './interactions.ts';

export const DAY = 86_400_000;
export const MONDAY = Date.UTC(2026, 0, 5);

/** Sessions start an hour apart; the first visitor is `v0`. */
export function interactionsOf(text: string, start: number = MONDAY): Interaction[] {
  return text
    .trim()
    .split('\n')
    .flatMap((line, s) =>
      line
        .trim()
        .split(/\s+/)
        .map((step, i) => {
          const [item, kind] = step.split(':');
          return {
            visitor: `v${s}`,
            item: item!,
            kind: (kind ?? 'view') as Kind,
            time: start + s * 3_600_000 + i * 60_000,
          };
        }),
    );
}

export function logOf(interactions: readonly Interaction[]): InteractionLog {
  const log = createInteractionLog();
  for (const interaction of interactions) log.add(interaction);
  return log.finish();
}

/** A shop with families of items: a visitor goes through one of them in order, now and then straying. */
export function shopSessions(input: { sessions: number; families: number; seed?: number }): string[][] {
  const random = createRandom(input.seed ?? 3);
  return Array.from({ length: input.sessions }, () => {
    const family = random.below(input.families);
    const start = random.below(5);
    const length = 2 + random.below(4);
    return Array.from({ length }, (_, i) =>
      random.next() < 0.1
        ? `f${random.below(input.families)}i${random.below(8)}`
        : `f${family}i${(start + i) % 8}`,
    );
  });
}

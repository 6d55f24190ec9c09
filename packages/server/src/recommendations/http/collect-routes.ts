/** `POST /frontend/api/interactions`: what the site tag collects. Origins are judged as in the lookup (D18). */
import Type, { type Static } from 'typebox';
import { amountIn, urlKey } from '../../catalog/index.ts';
import { invalid, type Violation } from '../../kernel/errors.ts';
import type { HttpApp } from '../../kernel/http/app.ts';
import { readJson } from '../../kernel/http/bodies/json-body.ts';
import { createRouter } from '../../kernel/http/routes.ts';
import { createBodyRules, firstOfEach } from '../../kernel/http/validation.ts';
import { isObject } from '../../kernel/is-object.ts';
import { asksNotToBeTracked, type Site } from '../../site/index.ts';
import type { Recommendations } from '../index.ts';
import { isBot } from '../interactions/bots.ts';
import type { SiteBatch, SiteEvent } from '../interactions/collection.ts';
import { CollectAnswer, CollectBody, MAX_EVENTS } from './schemas.ts';

type Told = Static<typeof CollectBody>;

export function registerCollectRoutes(
  app: HttpApp,
  { site, recommendations }: { site: Site; recommendations: Recommendations },
): void {
  const violationsIn = createBodyRules(CollectBody);

  /**
   * A page that is being left can send text only (sendBeacon without a preflight). A batch is whatever happened within half
   * a second, so an event that is wrong is left out and does not take the others along; a batch of nothing else is refused.
   */
  function bodyOf(given: unknown): { body: Told; refused: Violation[] } {
    const body = typeof given === 'string' ? readJson(given) : given;
    const violations = firstOfEach([
      // Before the schema, which says of a number below 0 that it must be a number or a text.
      ...amountsIn(body),
      ...violationsIn(withoutExcess(body)),
      ...namelessIn(body),
    ]);
    if (violations.length === 0) return { body: body as Told, refused: [] };
    const indexes = violations.map(({ member }) => /^events\[(\d+)\]/.exec(member)?.[1]);
    if (indexes.includes(undefined)) throw invalid(violations);
    const { events, ...batch } = body as Told;
    const bad = new Set(indexes.map(Number));
    if (bad.size === events.length) throw invalid(violations);
    return { body: { ...batch, events: events.filter((_, index) => !bad.has(index)) }, refused: violations };
  }

  createRouter(app, { family: 'site' }).route({
    method: 'POST',
    url: '/frontend/api/interactions',
    operationId: 'collectInteractions',
    summary: 'Record what a visitor did: pages, items, clicks, carts, purchases',
    description:
      'Sent by the site tag. Also taken as `text/plain`. An event `id` that came before is left out. So is an event that is ' +
      'wrong, as long as another one is not.',
    cors: true,
    consumes: ['application/json', 'text/plain'],
    body: Type.Unsafe<unknown>(CollectBody),
    rulesOnly: true,
    responses: { 202: CollectAnswer },
    refusals: ['unauthorized', 'notFound'],
    async handler({ body, request }) {
      const { body: taken, refused } = bodyOf(body);
      const { universeId, events, ...rest } = taken;
      const batch: SiteBatch = { ...rest, events: events.map(eventOf) };
      const universe = await site.admit(universeId, request.headers.origin);
      const silent = asksNotToBeTracked(request.headers) || isBot(request.headers);
      const accepted = silent ? 0 : await recommendations.collection.collect(universe.tenantId, batch);
      return {
        status: 202,
        body: { accepted, ...(refused.length > 0 ? { refused: messagesOf(refused) } : {}) },
      };
    },
  });
}

/** Events that say of nothing what was done with it: a schema cannot tell which of several members there must be. */
function namelessIn(body: unknown): Violation[] {
  if (!isObject(body) || !Array.isArray(body.events)) return [];
  return body.events.slice(0, MAX_EVENTS).flatMap((event, index) => {
    if (!isObject(event)) return [];
    const { kind, item, url } = event;
    if (isObject(item) && (item.pid !== undefined || item.url !== undefined)) return [];
    if (kind !== 'page') return [{ member: `events[${index}].item`, message: 'must have pid or url' }];
    return typeof url === 'string' && urlKey(url) !== null
      ? []
      : [{ member: `events[${index}].url`, message: 'must be an absolute http(s) address' }];
  });
}

/** Texts that are no amounts, and amounts below 0. */
function amountsIn(body: unknown): Violation[] {
  if (!isObject(body) || !Array.isArray(body.events)) return [];
  return body.events.slice(0, MAX_EVENTS).flatMap((event, index) => {
    const item = isObject(event) && isObject(event.item) ? event.item : {};
    return ['price', 'quantity'].flatMap((name) => {
      const given = item[name];
      const amount = typeof given === 'string' ? (numberIn(given) ?? 0) : given;
      return typeof amount !== 'number' || amount >= 0
        ? []
        : [{ member: `events[${index}].item.${name}`, message: 'must be an amount, not below 0' }];
    });
  });
}

/** NaN for what is no amount. As in tables, what is blank is none. */
const numberIn = (text: string) => (text.trim() === '' ? undefined : (amountIn(text)?.number ?? Number.NaN));

/** An event with its item as everything else has it: the id a text, amounts numbers. */
function eventOf({ item, ...event }: Told['events'][number]): SiteEvent {
  if (item === undefined) return event;
  const { pid, price, quantity, ...rest } = item;
  const amount = (given: string | number | undefined) =>
    typeof given === 'string' ? numberIn(given) : given;
  return {
    ...event,
    item: {
      ...rest,
      ...(pid === undefined ? {} : { pid: String(pid) }),
      price: amount(price),
      quantity: amount(quantity),
    },
  };
}

/**
 * A batch of too many events is refused for that, whatever the others are: anybody may send half a million of them in a megabyte, and to
 * say what is wrong with each took seconds.
 */
function withoutExcess(body: unknown): unknown {
  if (!isObject(body) || !Array.isArray(body.events)) return body;
  return { ...body, events: body.events.slice(0, MAX_EVENTS + 1) };
}

/** As many as an error would name. */
const MAX_NAMED = 100;

const messagesOf = (violations: readonly Violation[]) =>
  violations.slice(0, MAX_NAMED).map(({ member, message }) => `${member} ${message}`);

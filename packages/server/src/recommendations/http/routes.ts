/** The public recommendation API: the six operations, and the tracking addresses (D9-D14, D17). */
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import type { Accounts } from '../../accounts/index.ts';
import { isCountry, LANGUAGE_RULE, languageKey, urlKey, viewOf } from '../../catalog/index.ts';
import { apiError, invalid, type Violation } from '../../kernel/errors.ts';
import type { HttpApp } from '../../kernel/http/app.ts';
import { type Answer, createRouter, schemaViolations } from '../../kernel/http/routes.ts';
import { firstOfEach } from '../../kernel/http/validation.ts';
import { isGuid } from '../../kernel/ids.ts';
import { BoundedMap } from '../../kernel/memory/bounded-map.ts';
import type { Clock } from '../../kernel/time/clock.ts';
import { asksNotToBeTracked } from '../../site/index.ts';
import type { Tracked } from '../attribution/tracking-token.ts';
import type { Recommendations } from '../index.ts';
import { isBot } from '../interactions/bots.ts';
import type { Person } from '../interactions/people.ts';
import type { TenantEngine } from '../live/tenant-engine.ts';
import type { RecommendationConfig } from '../manifest.ts';
import type { Widget } from '../widgets/widget.ts';
import { variantOf } from '../widgets/widget.ts';
import { addressKey, createKnownAnswers, type RequestScope } from './known-answers.ts';
import { createKnownShapes } from './known-shapes.ts';
import { type Form, formHeaderOf, negotiate, UNASKED } from './negotiation.ts';
import { operationOf, pageOf } from './page-parameter.ts';
import * as schemas from './schemas.ts';

/** Nobody notices so long a redirect; storing a click takes some milliseconds. */
export const CLICK_PATIENCE_MS = 250;
const TYPES: Record<Form, string> = { json: 'application/json', html: 'text/html; charset=utf-8' };
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

interface Query {
  widgetid: string;
  lang: string;
  loc?: string;
  tpid?: number;
  sid?: string;
}

const OPERATIONS = [
  { id: 'getTopItems', path: '/r', params: schemas.TopPath, summary: 'Top items' },
  { id: 'getTopItemsForContact', path: '/r/', params: schemas.TopPath, summary: 'Top items for a contact' },
  {
    id: 'getRelatedItems',
    path: '/rp/:itemPid/:item',
    params: schemas.RelatedPath,
    summary: 'Items related to an item',
  },
  {
    id: 'getRelatedItemsForContact',
    path: '/rp/:itemPid/:item/',
    params: schemas.RelatedPath,
    summary: 'Items related to an item, for a contact',
  },
  {
    id: 'getContextItems',
    path: '/r/:item',
    params: schemas.ContextPath,
    summary: 'Items related to a page',
  },
  {
    id: 'getContextItemsForContact',
    path: '/r/:item/',
    params: schemas.ContextPath,
    summary: 'Items related to a page, for a contact',
  },
] as const;

export function registerRecommendationRoutes(
  app: HttpApp,
  dependencies: {
    accounts: Accounts;
    recommendations: Recommendations;
    clock: Clock;
    config: RecommendationConfig;
  },
): void {
  const { accounts, recommendations, clock, config } = dependencies;
  const {
    engines: shops,
    widgets,
    answers,
    defaultLanguages,
    tokens,
    statistics,
    directClicks,
  } = recommendations;
  const { route } = createRouter(app, { family: 'recommendations' });
  const forms = remembering(negotiate);
  const languages = remembering(languageKey);
  // The very same object for the same languages: its head is put together once.
  const htmlHeaders = remembering((spoken) => ({
    ...NEGOTIATED,
    'content-type': TYPES.html,
    'content-language': spoken,
  }));

  const known = createKnownAnswers({ widgets });
  const shapes = createKnownShapes<Asked>();

  /** What a request needs, in memory as it nearly always is; undefined when some of it has to be read. */
  function placeInMemory(
    { customerId, widgetId }: Asked,
    person: Person | undefined,
  ): RequestScope | undefined {
    const tenantId = customerId.toLowerCase();
    if (accounts.peekTenant(tenantId) === undefined) return undefined;
    const widget = widgets.peek(tenantId, widgetId);
    const shop = shops.peek(tenantId);
    if (widget === undefined || shop === undefined) return undefined;
    const id = shownTo(widget, person, shop);
    const shown = id === widget.id ? widget : widgets.peek(tenantId, id);
    const defaultLanguage = shown && defaultLanguages.peek(shown);
    return defaultLanguage === undefined ? undefined : { widget, shown: shown!, shop, defaultLanguage };
  }

  async function readPlace(
    { customerId, widgetId }: Asked,
    person: Person | undefined,
  ): Promise<RequestScope> {
    const tenantId = customerId.toLowerCase();
    if ((await accounts.findTenant(tenantId)) === undefined)
      throw apiError('notFound', `There is no customer ${customerId}.`);
    const widget = await widgets.find(tenantId, widgetId);
    if (widget === undefined) throw apiError('notFound', `There is no widget ${widgetId.slice(0, 64)}.`);
    const shop = await shops.get(tenantId);
    const shown = (await widgets.find(tenantId, shownTo(widget, person, shop))) ?? widget;
    const defaultLanguage = await defaultLanguages.get(shown);
    return { widget, shown, shop, defaultLanguage };
  }

  /** Those of the answer in which a tracking address stood. */
  async function languagesOf(tenantId: string, { widgetId, language }: Tracked): Promise<string[]> {
    const widget = await widgets.find(tenantId, widgetId);
    return widget === undefined ? [language] : [language, await defaultLanguages.get(widget)];
  }

  /** @throws ApiError 400 that names everything that is wrong */
  function read(request: FastifyRequest): { asked: Asked; person: Person | undefined } {
    const query = request.query as Query;
    const { customerId } = request.params as { customerId: string };
    const operation = operationOf(pathOf(request));
    const page = operation.item === undefined ? undefined : pageOf(operation.item);
    // All are reported together (D3), so what the schema has refused is still looked at. Of each member the first is told.
    const violations = [...(isGuid(customerId) ? [] : [NO_GUID]), ...schemaViolations(request)];
    const language = typeof query.lang === 'string' ? languages(query.lang) : null;
    if (operation.itemPid === '') violations.push({ member: 'itemPid', message: 'is required' });
    if (page === null)
      violations.push({ member: 'item', message: 'must be the Base64 of an absolute http(s) address' });
    if (language === null) violations.push({ member: 'lang', message: LANGUAGE_RULE });
    if (query.loc !== undefined && !isCountry(query.loc))
      violations.push({ member: 'loc', message: 'must be an ISO 3166-1 alpha-2 country code' });
    if (operation.personalised) violations.push(...personViolations(query, request.raw.url!));
    if (violations.length > 0) throw invalid(firstOfEach(violations));
    const header = formHeaderOf(request.headers);
    const { tpid, sid } = query;
    return {
      asked: {
        customerId,
        widgetId: query.widgetid,
        form: header === undefined ? UNASKED : forms(header),
        language: language!,
        country: query.loc?.toUpperCase(),
        itemPid: operation.itemPid,
        page: page === undefined ? undefined : (urlKey(page!) ?? undefined),
      },
      person: operation.personalised ? { contact: tpid!, visitor: sid } : undefined,
    };
  }

  function answerAt(place: RequestScope, asked: Asked, person: Person | undefined): Answer {
    const { form, language, country, itemPid, page } = asked;
    const { shown: widget, shop, defaultLanguage } = place;
    const now = clock.now();
    const question = { widget, form, language, defaultLanguage, now, country, itemPid, page, person };
    const text = answers.answer(shop, question);
    if (text === null) return { status: 204, headers: NEGOTIATED };
    const { body, bytes, languages: spoken } = text;
    return { headers: spoken === undefined ? JSON_HEADERS : htmlHeaders(spoken), body, bytes };
  }

  function recommend(request: FastifyRequest): Answer | Promise<Answer> {
    const { asked, person } = read(request);
    if (person !== undefined) shapes.remember(request, { asked, person });
    // For the next person, and for the same once more, there is a shorter way from now on.
    const answer = (place: RequestScope) =>
      person === undefined
        ? known.make(addressKey(request), { place, person }, () => answerAt(place, asked, person))
        : answerAt(place, asked, person);
    const place = placeInMemory(asked, person);
    return place ? answer(place) : readPlace(asked, person).then(answer);
  }

  /** For somebody else the same was asked before: all but the person is known to be right. */
  function recommendAgain(request: FastifyRequest): Answer | undefined {
    const given = shapes.find(request);
    if (given === undefined) return undefined;
    const { asked, person, key } = given;
    const answer = known.find(key, person);
    if (answer !== undefined) return answer;
    const place = placeInMemory(asked, person);
    return place && known.make(key, { place, person }, () => answerAt(place, asked, person));
  }

  const common = {
    method: 'GET' as const,
    cors: true,
    quiet: true,
    deadlineMs: config.recommendationTimeoutMs,
    responses: { 200: schemas.Recommendation, 204: null },
    refusals: ['timeout' as const],
  };
  for (const { id, path, params, summary } of OPERATIONS) {
    route({
      ...common,
      url: `/api/:customerId${path}`,
      // An item may hold raw slashes (D10), which only a wildcard takes; the last one still decides.
      aliases: path.endsWith('/:item') ? [`/api/:customerId${path.slice(0, path.indexOf('/:'))}/*`] : [],
      operationId: id,
      summary,
      description: 'Best first. JSON or HTML by the `accept` header; nothing to recommend is 204.',
      params,
      query: path.endsWith('/') ? schemas.PersonalQuery : schemas.RecommendationQuery,
      headers: schemas.NegotiationHeaders,
      // By the address: an item with raw slashes came through the wildcard.
      known: (request) =>
        pathOf(request).endsWith('/') ? recommendAgain(request) : known.find(addressKey(request)),
      reportsViolations: true,
      handler: ({ request }) => recommend(request),
    });
  }
  route({
    method: 'GET',
    url: '/api/:customerId/t/:token',
    operationId: 'followTrackingUrl',
    summary: 'Count a click and go to the item; with `.gif`, count a view and show a pixel',
    params: schemas.TokenPath,
    cors: true,
    quiet: true,
    deadlineMs: config.recommendationTimeoutMs,
    responses: { 200: schemas.Pixel, 302: null },
    refusals: ['timeout'],
    // Of a token that was not made here nothing is told but that it is none (D14).
    reportsViolations: true,
    async handler({ params, request }) {
      const customerId = params.customerId.toLowerCase();
      const isView = params.token.endsWith('.gif');
      const token = isView ? params.token.slice(0, -4) : params.token;
      if (!isGuid(customerId)) throw invalid([NO_GUID]);
      const tracked = tokens.read(customerId, token);
      const shop = tracked && (await shops.get(customerId));
      const item = tracked && shop?.find(tracked.itemPid);
      if (!tracked || !item) throw apiError('notFound', 'There is no such tracking address.');
      const { widgetId, itemPid } = tracked;
      const { headers: given } = request;
      if (request.method === 'GET' && !isBot(given) && !asksNotToBeTracked(given)) {
        statistics.count(customerId, { widgetId, itemPid, counter: isView ? 'views' : 'clicks' });
        if (!isView) {
          directClicks.followed(customerId, { widgetId, itemPid });
          // A click that is answered is stored. Where that takes time, the visitor goes on and it is stored later.
          const stored = Promise.all([statistics.flush(), directClicks.flush()]);
          await Promise.race([stored, delay(CLICK_PATIENCE_MS, undefined, { ref: false })]);
        }
      }
      const headers = { 'cache-control': 'no-store' };
      if (isView) return { headers: { ...headers, 'content-type': 'image/gif' }, body: PIXEL };
      const view = viewOf(item, await languagesOf(customerId, tracked), tracked.country);
      const location = new URL(String(view.item_url)).href;
      return { status: 302, headers: { ...headers, location } };
    },
  });
}

const NO_GUID: Violation = { member: 'customerId', message: 'must be a guid' };

/** What a request asks for, whoever it is for. */
interface Asked {
  customerId: string;
  widgetId: string;
  form: Form;
  language: string;
  country: string | undefined;
  itemPid: string | undefined;
  page: string | undefined;
}

/**
 * Id of the widget that somebody gets when this one is compared with another. A contact is the same one on every device, in a
 * call that knows no session, and by the number of one that was merged into it; 0 is nobody.
 */
function shownTo({ id, experiment }: Widget, person: Person | undefined, { people }: TenantEngine): string {
  if (experiment === null || person === undefined) return id;
  const { contact = 0, visitor } = person;
  const who = contact === 0 && visitor !== undefined ? visitor : String(people.living(contact));
  return variantOf(id, who, experiment);
}

/** Caches between here and a page, some of which keep for a day what does not say otherwise, would go on showing what is sold out. */
const NEGOTIATED = { vary: 'Accept, Accept-Format, Origin', 'cache-control': 'private, no-cache' };
const JSON_HEADERS = { ...NEGOTIATED, 'content-type': TYPES.json };

/** The path as it came: a decoded one no longer tells `/` from `%2F`. */
function pathOf({ raw }: FastifyRequest): string {
  const url = raw.url!;
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
}

/** In digits, as nearly every request has it. */
const PLAIN_TPID = /[?&]tpid=-?\d+(?:&|$)/;

/**
 * What the schema has not seen: a request that came through a wildcard, and the text of `tpid`, because coercion also
 * takes `1e3`, `0x10` and `5.0` for integers (D11). What is right is put into the query as a number.
 */
function personViolations(query: { tpid?: unknown; sid?: unknown }, url: string): readonly Violation[] {
  const { tpid, sid } = query;
  if (typeof tpid === 'number' && PLAIN_TPID.test(url)) return NO_VIOLATIONS;
  const violations: Violation[] = [];
  if (sid !== undefined && (typeof sid !== 'string' || sid.length > schemas.MAX_SID))
    violations.push({
      member: 'sid',
      message: `must be a string of at most ${schemas.MAX_SID} characters`,
    });
  if (tpid === undefined) return [...violations, { member: 'tpid', message: 'is required' }];
  const given =
    typeof tpid === 'number' ? new URLSearchParams(url.slice(url.indexOf('?'))).get('tpid') : tpid;
  const number = Number(given);
  if (typeof given !== 'string' || !/^-?\d+$/.test(given) || (number | 0) !== number)
    violations.push({ member: 'tpid', message: 'must be an integer of 32 bits' });
  query.tpid = number;
  return violations;
}
const NO_VIOLATIONS: readonly Violation[] = [];

const MAX_REMEMBERED = 1000;
const MAX_REMEMBERED_LENGTH = 256;

/** The same few texts come again and again, and none of those is long. */
function remembering<T>(compute: (text: string) => T): (text: string) => T {
  const known = new BoundedMap<string, T>({ max: MAX_REMEMBERED, whenFull: 'clear' });
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const value = compute(text);
    return text.length > MAX_REMEMBERED_LENGTH ? value : known.set(text, value);
  };
}

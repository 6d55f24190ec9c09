/** Widgets at `/v2/organizations/{organization}/widgets` (D15), their preview, the tenant's settings, and the report. */
import Type from 'typebox';
import type { Accounts, TenantCaller } from '../../accounts/index.ts';
import { createPlatform } from '../../accounts/platform.ts';
import { ResultEnvelope, SUCCEEDED } from '../../accounts/schemas.ts';
import { isCountry, LANGUAGE_RULE, languageKey, urlKey } from '../../catalog/index.ts';
import { invalid, type Violation } from '../../kernel/errors.ts';
import type { HttpApp } from '../../kernel/http/app.ts';
import { otherId } from '../../kernel/http/validation.ts';
import { type Clock, DAY, dayOf } from '../../kernel/time/clock.ts';
import type { Recommendations } from '../index.ts';
import { type SettingsInput, showSettings } from '../models/settings/settings.ts';
import { type Counters, NO_COUNTS } from '../store/statistics.ts';
import { inputOf, type WidgetInput } from '../widgets/index.ts';
import { bodyViolations, showWidget } from '../widgets/widget.ts';
import * as schemas from './schemas.ts';

const BASE = '/v2/organizations/:organization/widgets';
const SETTINGS = '/v2/organizations/:organization/recommendations/settings';
const REPORT_DAYS = 30;
/** The calendar of the database has no year 0. */
const FIRST_DAY = '0001-01-01';
const REPORTED_ITEMS = 200;

export function registerWidgetRoutes(
  app: HttpApp,
  dependencies: { accounts: Accounts; recommendations: Recommendations; clock: Clock },
): void {
  const { accounts, recommendations, clock } = dependencies;
  const { widgets, settings, statistics } = recommendations;
  const { route, tenantOf } = createPlatform(app, accounts);

  const placeOf = async (caller: TenantCaller, params: { organization: string }) =>
    [await tenantOf(caller, params), params.organization] as const;

  function rangeOf({ from, until = dayOf(clock.now()) }: { from?: string; until?: string }) {
    const earlier = dayOf(Date.parse(until) - REPORT_DAYS * DAY);
    const range = { from: from ?? (earlier < FIRST_DAY ? FIRST_DAY : earlier), until };
    const violations: Violation[] = Object.entries(range)
      .filter(([, day]) => day < FIRST_DAY)
      .map(([member]) => ({ member, message: `must not be before ${FIRST_DAY}` }));
    if (violations.length === 0 && range.from > range.until)
      violations.push({ member: 'from', message: 'must not be after until' });
    if (violations.length > 0) throw invalid(violations);
    return range;
  }

  route({
    method: 'GET',
    url: BASE,
    operationId: 'listWidgets',
    summary: 'List widgets',
    params: schemas.OrganizationPath,
    responses: { 200: Type.Array(schemas.WidgetAnswer) },
    handler: async ({ caller, params }) => ({
      body: (await widgets.list(...(await placeOf(caller, params)))).map(showWidget),
    }),
  });

  route({
    method: 'POST',
    url: BASE,
    operationId: 'createWidget',
    summary: 'Create a widget',
    params: schemas.OrganizationPath,
    body: schemas.WidgetBody,
    rules: bodyViolations,
    responses: { 201: schemas.WidgetAnswer },
    refusals: ['conflict'],
    async handler({ caller, params, body }) {
      const widget = await widgets.create(...(await placeOf(caller, params)), inputOf(body));
      const location = `/v2/organizations/${encodeURIComponent(params.organization)}/widgets/${widget.id}`;
      return { status: 201, headers: { location }, body: showWidget(widget) };
    },
  });

  route({
    method: 'GET',
    url: `${BASE}/:widget`,
    operationId: 'getWidget',
    summary: 'Get one widget',
    params: schemas.WidgetPath,
    responses: { 200: schemas.WidgetAnswer },
    handler: async ({ caller, params }) => ({
      body: showWidget(await widgets.get(...(await placeOf(caller, params)), params.widget)),
    }),
  });

  route({
    method: 'PUT',
    url: `${BASE}/:widget`,
    operationId: 'updateWidget',
    summary: 'Replace one widget; what is omitted takes its default',
    params: schemas.WidgetPath,
    body: schemas.WidgetBody,
    rules: (body, { widget }) => [...otherId(body, widget), ...bodyViolations(body)],
    responses: { 200: schemas.WidgetAnswer },
    async handler({ caller, params, body }) {
      const place = await placeOf(caller, params);
      return { body: showWidget(await widgets.update(...place, params.widget, inputOf(body))) };
    },
  });

  route({
    method: 'DELETE',
    url: `${BASE}/:widget`,
    operationId: 'deleteWidget',
    summary: 'Delete one widget',
    params: schemas.WidgetPath,
    refusals: ['conflict'],
    responses: { 200: ResultEnvelope },
    async handler({ caller, params }) {
      await widgets.remove(...(await placeOf(caller, params)), params.widget);
      return { body: SUCCEEDED };
    },
  });

  route({
    method: 'POST',
    url: `${BASE}/:widget/preview`,
    operationId: 'previewWidget',
    summary: 'What a widget would answer, and why; also with settings that are not saved',
    params: schemas.WidgetPath,
    body: schemas.PreviewBody,
    rules: previewViolations,
    responses: { 200: schemas.PreviewAnswer },
    async handler({ caller, params, body }) {
      const place = await placeOf(caller, params);
      const saved = await widgets.get(...place, params.widget);
      const draft = body.widget as Partial<WidgetInput> | undefined;
      const widget =
        draft === undefined
          ? saved
          : widgets.draft(...place, { ...inputOf(showWidget(saved)), ...draft, id: saved.id });
      const { url, lang = 'en', loc, item_pid: itemPid, tpid, sid } = body;
      const viewer = {
        language: languageKey(lang)!,
        country: loc?.toUpperCase(),
        itemPid,
        page: url === undefined ? undefined : urlKey(url)!,
        person: tpid === undefined && sid === undefined ? undefined : { contact: tpid ?? 0, visitor: sid },
      };
      return { body: await recommendations.preview(widget, viewer) };
    },
  });

  route({
    method: 'GET',
    url: SETTINGS,
    operationId: 'getRecommendationSettings',
    summary: 'What each kind of interaction is worth, and how fast interactions fade',
    params: schemas.OrganizationPath,
    responses: { 200: schemas.SettingsAnswer },
    async handler({ caller, params }) {
      const tenantId = await tenantOf(caller, params);
      return { body: showSettings(await settings.get(tenantId)) };
    },
  });

  route({
    method: 'PUT',
    url: SETTINGS,
    operationId: 'updateRecommendationSettings',
    summary: 'Replace the settings of the tenant and build its model anew; what is omitted takes its default',
    params: schemas.OrganizationPath,
    body: schemas.SettingsBody,
    responses: { 200: schemas.SettingsAnswer },
    async handler({ caller, params, body: { updated_at: _updated, ...input } }) {
      const tenantId = await tenantOf(caller, params);
      return { body: showSettings(await settings.put(tenantId, input as SettingsInput)) };
    },
  });

  route({
    method: 'GET',
    url: '/v2/organizations/:organization/recommendations/report',
    operationId: 'getRecommendationReport',
    summary: 'Views, clicks, add-to-carts, purchases and revenue per widget',
    params: schemas.OrganizationPath,
    query: schemas.ReportQuery,
    responses: { 200: schemas.ReportAnswer },
    async handler({ caller, params, query }) {
      const place = await placeOf(caller, params);
      const range = rangeOf(query);
      const names = new Map((await widgets.list(...place)).map(({ id, name }) => [id, name]));
      const rows = await statistics.report(place[0], range);
      const existing = await widgets.known(
        place[0],
        rows.map(({ widgetId }) => widgetId),
      );
      // Those of other organizations are not this one's business; whose a deleted one was, nobody knows.
      const shown = rows
        .filter(({ widgetId }) => names.has(widgetId) || !existing.has(widgetId))
        .map(({ widgetId, ...counters }) => ({
          widget: widgetId,
          name: names.get(widgetId) ?? null,
          ...showCounters(counters),
        }));
      return { body: { ...range, widgets: shown } };
    },
  });

  route({
    method: 'GET',
    url: `${BASE}/:widget/report`,
    operationId: 'getWidgetReport',
    summary: 'What came of one widget, per item, beside the widget that it is compared with',
    params: schemas.WidgetPath,
    query: schemas.ReportQuery,
    responses: { 200: schemas.WidgetReportAnswer },
    async handler({ caller, params, query }) {
      const place = await placeOf(caller, params);
      const { id: widgetId, experiment } = await widgets.get(...place, params.widget);
      const range = rangeOf(query);
      const all = await statistics.report(place[0], range);
      const countersOf = (id: string) => showCounters(all.find((row) => row.widgetId === id) ?? NO_COUNTS);
      const items = await statistics.reportItems(place[0], { widgetId, ...range, take: REPORTED_ITEMS });
      const variants =
        experiment === null
          ? []
          : [
              { widget: widgetId, share: 100 - experiment.share, ...countersOf(widgetId) },
              { widget: experiment.widget, share: experiment.share, ...countersOf(experiment.widget) },
            ];
      return {
        body: {
          ...range,
          widget: widgetId,
          ...countersOf(widgetId),
          items: items.map(({ itemPid, ...counters }) => ({ item_pid: itemPid, ...showCounters(counters) })),
          variants,
        },
      };
    },
  });
}

/** As in the public API (D11). */
function previewViolations(body: unknown): Violation[] {
  const { url, lang, loc } = (body ?? {}) as Record<string, unknown>;
  const violations: Violation[] = [];
  if (typeof url === 'string' && urlKey(url) === null)
    violations.push({ member: 'url', message: 'must be an absolute http(s) address' });
  if (typeof lang === 'string' && languageKey(lang) === null)
    violations.push({ member: 'lang', message: LANGUAGE_RULE });
  if (typeof loc === 'string' && !isCountry(loc))
    violations.push({ member: 'loc', message: 'must be an ISO 3166-1 alpha-2 country code' });
  return violations;
}

function showCounters({ views, clicks, addToCarts, purchases, revenue }: Counters) {
  const click_rate = views === 0 ? null : toFourPlaces(clicks / views);
  return { views, clicks, add_to_carts: addToCarts, purchases, revenue: toFourPlaces(revenue), click_rate };
}

/** No currency has more, and binary fractions add up to a little more or less: 0.1 and 0.2 to 0.30000000000000004. */
const toFourPlaces = (value: number) => Math.round(value * 10_000) / 10_000;

/** `POST /frontend/api/track` (D18), and universes at `/v2/organizations/{organization}/universes`. */
import Type from 'typebox';
import type { Accounts } from '../accounts/index.ts';
import { createPlatform } from '../accounts/platform.ts';
import { ResultEnvelope, SUCCEEDED } from '../accounts/schemas.ts';
import type { Violation } from '../kernel/errors.ts';
import type { HttpApp } from '../kernel/http/app.ts';
import { createRouter } from '../kernel/http/routes.ts';
import { otherId } from '../kernel/http/validation.ts';
import { asksNotToBeTracked } from './do-not-track.ts';
import type { Site } from './index.ts';
import { type Universe, universeViolations } from './universe.ts';

const TrackRequest = Type.Object(
  {
    universeId: Type.String({ minLength: 1, description: 'Site universe reference' }),
    customIdentifier: Type.String({
      minLength: 1,
      maxLength: 1024,
      description: 'Own identifier of the user',
    }),
    isEvent: Type.Optional(Type.Boolean({ default: true, description: 'An event instead of a page visit' })),
    isIdentificationRequest: Type.Optional(Type.Boolean({ default: true })),
    isTargeting: Type.Optional(Type.Boolean({ default: false })),
    referer: Type.Optional(Type.String({ description: 'Address of the visited page' })),
  },
  {
    additionalProperties: false,
    examples: [
      {
        universeId: 'uni_01k7vw53ga9s79t30f3w61wytt',
        customIdentifier: 'customer-1',
        isEvent: true,
        isIdentificationRequest: true,
        isTargeting: false,
      },
    ],
  },
);

const TrackHeaders = Type.Object({
  // Whatever it is, the universe decides (401), so that nothing is a violation here.
  origin: Type.Optional(
    Type.String({
      description: 'Domain defined in the site universe settings; browsers send it by themselves',
    }),
  ),
});

const TrackResult = Type.Object({
  profileId: Type.String(),
  profileInfo: Type.Object({
    tags: Type.Array(Type.String()),
    offers: Type.Array(
      Type.Object({
        item_pid: Type.String(),
        score: Type.Integer(),
        item_url: Type.String(),
        fields: Type.Record(Type.String(), Type.Unknown()),
      }),
      { description: 'Items that suit the person, the best first; filled when `isTargeting` is true' },
    ),
    attributes: Type.Record(Type.String(), Type.Unknown()),
    lastSeen: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    visits: Type.Integer(),
  }),
  doNotTrack: Type.Boolean(),
  $$profileId: Type.String({ description: 'Passed as `sid`' }),
  $$thirdPartyId: Type.String({ description: 'Passed as `tpid`: the decimal digits of an int32' }),
});

const Organization = { organization: Type.String() };
const UniversePath = Type.Object({ ...Organization, universe: Type.String() });
const UniverseBody = Type.Object(
  {
    id: Type.Optional(Type.String({ description: 'Chosen by the server when absent' })),
    name: Type.String(),
    domain: Type.String({ examples: ['shop.example'] }),
    demands_origin: Type.Optional(Type.Boolean({ default: false })),
  },
  { additionalProperties: false },
);
const UniverseAnswer = Type.Object({
  id: Type.String(),
  name: Type.String(),
  domain: Type.String(),
  demands_origin: Type.Boolean(),
  created_at: Type.String({ format: 'date-time' }),
});
const show = ({ id, name, domain, demandsOrigin, createdAt }: Universe) => ({
  id,
  name,
  domain,
  demands_origin: demandsOrigin,
  created_at: createdAt,
});

export function registerSiteRoutes(
  app: HttpApp,
  { accounts, site }: { accounts: Accounts; site: Site },
): void {
  createRouter(app, { family: 'site' }).route({
    method: 'POST',
    url: '/frontend/api/track',
    operationId: 'track',
    summary: 'Exchange an own identifier for the ids of the site profile',
    cors: true,
    headers: TrackHeaders,
    body: TrackRequest,
    rules: trackViolations,
    responses: { 200: TrackResult },
    refusals: ['unauthorized', 'notFound'],
    async handler({ body, request }) {
      const { universeId, customIdentifier, isEvent = true, isTargeting = false, referer } = body;
      const { isIdentificationRequest = true } = body;
      const { headers } = request;
      const universe = await site.admit(universeId, headers.origin);
      const doNotTrack = asksNotToBeTracked(headers);
      const person = { customIdentifier, isEvent, isIdentificationRequest, isTargeting, doNotTrack };
      const found = await site.track(universe, referer === undefined ? person : { ...person, referer });
      const { profileId, systemId, offers, attributes, lastSeen, visits } = found;
      return {
        body: {
          profileId,
          profileInfo: { tags: [], offers, attributes, lastSeen, visits },
          doNotTrack: found.doNotTrack,
          $$profileId: profileId,
          $$thirdPartyId: String(systemId),
        },
      };
    },
  });

  const { route, tenantOf } = createPlatform(app, accounts);
  const input = (body: { id?: string; name: string; domain: string; demands_origin?: boolean }) => {
    const { demands_origin: demandsOrigin, ...rest } = body;
    return { ...rest, ...(demandsOrigin === undefined ? {} : { demandsOrigin }) };
  };

  route({
    method: 'GET',
    url: '/v2/organizations/:organization/universes',
    operationId: 'listUniverses',
    summary: 'List site universes',
    params: Type.Object(Organization),
    responses: { 200: Type.Array(UniverseAnswer) },
    handler: async ({ caller, params }) => ({
      body: (await site.listUniverses(await tenantOf(caller, params))).map(show),
    }),
  });

  route({
    method: 'POST',
    url: '/v2/organizations/:organization/universes',
    operationId: 'createUniverse',
    summary: 'Create a site universe',
    params: Type.Object(Organization),
    body: UniverseBody,
    rules: (body) => universeViolations((body ?? {}) as object),
    responses: { 201: UniverseAnswer },
    refusals: ['conflict'],
    async handler({ caller, params, body }) {
      const universe = await site.createUniverse({ id: await tenantOf(caller, params) }, input(body));
      return { status: 201, body: show(universe) };
    },
  });

  route({
    method: 'PUT',
    url: '/v2/organizations/:organization/universes/:universe',
    operationId: 'updateUniverse',
    summary: 'Replace a site universe',
    params: UniversePath,
    body: UniverseBody,
    rules: (body, { universe }) => [
      ...otherId(body, universe),
      ...universeViolations((body ?? {}) as object),
    ],
    responses: { 200: UniverseAnswer },
    async handler({ caller, params, body }) {
      const tenantId = await tenantOf(caller, params);
      return { body: show(await site.updateUniverse(tenantId, params.universe, input(body))) };
    },
  });

  route({
    method: 'DELETE',
    url: '/v2/organizations/:organization/universes/:universe',
    operationId: 'deleteUniverse',
    summary: 'Delete a site universe',
    params: UniversePath,
    responses: { 200: ResultEnvelope },
    async handler({ caller, params }) {
      await site.deleteUniverse(await tenantOf(caller, params), params.universe);
      return { body: SUCCEEDED };
    },
  });
}

function trackViolations(body: unknown): Violation[] {
  const given = (body ?? {}) as Record<string, unknown>;
  const { referer } = given;
  const isBlank = (value: unknown) => typeof value === 'string' && value.trim() === '';
  const isAddress = (text: string) => /^[a-z][a-z\d+.-]*:\/\//i.test(text) && URL.canParse(text);
  return [
    // Blank ones are missing ones: all who send them would be one person.
    ...['universeId', 'customIdentifier']
      .filter((member) => isBlank(given[member]))
      .map((member) => ({ member, message: 'must not be blank' })),
    ...(typeof referer !== 'string' || isAddress(referer)
      ? []
      : [{ member: 'referer', message: 'must be an absolute address, such as https://shop.example/page' }]),
  ];
}

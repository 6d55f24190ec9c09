/**
 * OpenAPI 3.0.3 from the very schemas that validate requests: one document of everything, and one per API family.
 */
import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { stringify } from 'yaml';
import type { KernelConfig } from '../../config/config.ts';
import { madeOnce } from '../../memory/made-once.ts';
import type { HttpApp } from '../app.ts';
import { compressText, sendCompressed } from '../compressed.ts';
import type { ErrorFamily, Families } from '../error-shapes.ts';
import { type DocumentedPaths, describeRefusals } from './refusals.ts';

type Document = Record<string, unknown> & {
  tags: { name: string }[];
  paths: Record<string, Record<string, { tags?: string[] }>>;
};

const tag = ({ name, title }: ErrorFamily) => ({ name, 'x-displayName': title });

/** From the top module down, so that the reference begins with the addresses that pages call. */
const documented = ({ list }: Families) => list.toReversed().filter(({ title }) => title !== undefined);

/** Must be called before the routes are added: it collects them as they come. */
export async function collectOpenApi({ fastify, config, families }: HttpApp, version: string): Promise<void> {
  await fastify.register(swagger, {
    openapi: {
      openapi: '3.0.3',
      info: { title: 'Signalbox', version, description: 'Every API of this deployment.' },
      servers: [{ url: config.publicUrl }],
      tags: documented(families).map(tag),
      components: { securitySchemes: securitySchemes(config) },
    },
    transform: ({ schema, url }) => ({ schema: toOpenApi30(schema) as typeof schema, url }),
    transformObject: (document) =>
      'openapiObject' in document
        ? (describeRefusals(
            document.openapiObject as DocumentedPaths,
            families,
          ) as typeof document.openapiObject)
        : document.swaggerObject,
  });
}

function securitySchemes(config: KernelConfig) {
  return {
    oauth: {
      type: 'oauth2' as const,
      flows: {
        clientCredentials: {
          tokenUrl: `${config.publicUrl}/oauth/token`,
          scopes: {
            'webhooks:admin': 'Manage webhook subscriptions and dead letters',
            'deliveries:send': 'Send messages',
            'archive:read': 'Read archived messages',
          },
        },
      },
    },
    apiKey: {
      type: 'apiKey' as const,
      in: 'header' as const,
      name: 'X-ApiKey',
      description: '`<key>:<secret>`',
    },
    sdkKey: {
      type: 'apiKey' as const,
      in: 'header' as const,
      name: 'X-Api-Key',
      description: 'A public SDK key',
    },
  };
}

/** Adds `/openapi.{json,yaml}` and `/openapi/{family}.{json,yaml}`. */
export function serveOpenApi({ fastify, families }: HttpApp): void {
  const send = (path: string, document: () => unknown) => {
    const offer = (ending: string, type: string, write: (document: unknown) => string) => {
      // The routes are fixed. Nobody else gets an answer while YAML is written, a second for the whole, and anybody may ask.
      const text = madeOnce(async () => compressText(write(document())));
      fastify.get(`${path}.${ending}`, { schema: { hide: true } }, async (request, reply) =>
        sendCompressed(request, reply, await text(), {
          'access-control-allow-origin': '*',
          'content-type': type,
        }),
      );
    };
    offer('json', 'application/json; charset=utf-8', (whole) => JSON.stringify(whole));
    offer('yaml', 'application/yaml', (whole) => stringify(whole));
  };
  send('/openapi', () => everything(fastify));
  for (const family of documented(families))
    if (family.ownDocument) send(`/openapi/${family.name}`, () => only(everything(fastify), family));
}

/** The whole document, with the groups that have an operation. */
function everything(fastify: FastifyInstance): Document {
  const document = fastify.swagger() as unknown as Document;
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
  const used = new Set(operations.flatMap(({ tags }) => tags ?? []));
  return { ...document, tags: document.tags.filter(({ name }) => used.has(name)) };
}

/** The document less what belongs to other families. */
function only(document: Document, family: ErrorFamily): Document {
  const paths: Document['paths'] = {};
  for (const [path, operations] of Object.entries(document.paths)) {
    const own = Object.entries(operations).filter(([, operation]) => operation.tags?.includes(family.name));
    if (own.length > 0) paths[path] = Object.fromEntries(own);
  }
  const info = {
    ...(document.info as object),
    title: `Signalbox: ${family.title}`,
    description: undefined,
  };
  return { ...document, info, tags: [tag(family)], paths };
}

/** JSON Schema 2020-12, as TypeBox writes it, in the words of OpenAPI 3.0. */
export function toOpenApi30(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(toOpenApi30);
  if (typeof schema !== 'object' || schema === null) return schema;
  const source = schema as Record<string, unknown>;
  const target: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(source)) {
    if (key === 'const') {
      target.enum = [value];
      target.type ??= typeof value;
    } else if (key === 'examples' && Array.isArray(value)) {
      target.example = value[0];
    } else if (key === 'properties') {
      // Names that callers chose, not words of the schema: a member may well be called `example` or `const`.
      const members = Object.entries(value as object).map(([name, member]) => [name, toOpenApi30(member)]);
      target.properties = Object.fromEntries(members);
    } else if (key === 'required' && Array.isArray(value)) {
      // What has a default may be left out of a request: the validation fills it in.
      const properties = (source.properties ?? {}) as Record<string, { default?: unknown }>;
      const required = value.filter((name: string) => properties[name]?.default === undefined);
      if (required.length > 0) target.required = required;
    } else if (key === 'patternProperties') {
      target.additionalProperties = toOpenApi30(Object.values(value as object)[0]);
    } else if (key === 'exclusiveMinimum' || key === 'exclusiveMaximum') {
      target[key === 'exclusiveMinimum' ? 'minimum' : 'maximum'] = value;
      target[key] = true;
    } else if (key === 'anyOf' && Array.isArray(value)) {
      Object.assign(target, unionToOpenApi30(value));
    } else if (key === 'type' && Array.isArray(value)) {
      target.type = value.find((type) => type !== 'null');
      if (value.includes('null')) target.nullable = true;
    } else if (key === 'additionalProperties' && value === true) {
      // What holds anyway; said aloud, it shows as a member called "propertyName" in the reference.
    } else if (!['$id', '$schema', 'propertyNames'].includes(key)) {
      target[key] = key === 'example' || key === 'default' || key === 'enum' ? value : toOpenApi30(value);
    }
  }
  return target;
}

function unionToOpenApi30(branches: unknown[]): Record<string, unknown> {
  const isNull = (branch: unknown) => (branch as { type?: string }).type === 'null';
  const rest = branches.filter((branch) => !isNull(branch)) as Record<string, unknown>[];
  const nullable = rest.length < branches.length ? { nullable: true } : {};
  const values = rest.map((branch) => branch.const);
  if (rest.every((branch) => branch.const !== undefined)) {
    return { type: typeof values[0], enum: nullable.nullable ? [...values, null] : values, ...nullable };
  }
  if (rest.length === 1) return { ...(toOpenApi30(rest[0]) as object), ...nullable };
  return { anyOf: rest.map(toOpenApi30), ...nullable };
}

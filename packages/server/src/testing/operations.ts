/** The operations of the OpenAPI document, for tests that hold for every one of them: a new route is covered by itself. */

type Scheme = 'oauth' | 'apiKey' | 'sdkKey';

export interface DescribedOperation {
  operationId: string;
  /** In capitals. */
  method: string;
  /** With parameters in braces. */
  path: string;
  /** How callers prove who they are; absent of public operations. */
  scheme: Scheme | undefined;
  parameters: { name: string; in: 'path' | 'query' | 'header' }[];
  /** The body, as far as it is JSON: its type, and the names of its members. */
  body: { type: string; members: string[] } | undefined;
  /** Of the answers. */
  statuses: number[];
}

interface Schema {
  $ref?: string;
  properties?: Record<string, unknown>;
}
interface Document {
  paths: Record<string, Record<string, Described>>;
}
interface Described {
  operationId: string;
  security?: Partial<Record<Scheme, string[]>>[];
  parameters?: DescribedOperation['parameters'];
  requestBody?: { content: Record<string, { schema?: Schema }> };
  responses: Record<string, unknown>;
}

/** @example for (const { operationId } of await describedOperations(server.origin)) ... */
export async function describedOperations(origin: string): Promise<DescribedOperation[]> {
  const document = (await (await fetch(`${origin}/openapi.json`)).json()) as Document;
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(
      ([method, { operationId, security, parameters = [], requestBody, responses }]) => ({
        operationId,
        method: method.toUpperCase(),
        path,
        scheme: Object.keys(security?.[0] ?? {})[0] as Scheme | undefined,
        parameters,
        body: bodyOf(document, requestBody?.content),
        statuses: Object.keys(responses).map(Number),
      }),
    ),
  );
}

function bodyOf(
  document: Document,
  content: Record<string, { schema?: Schema }> = {},
): DescribedOperation['body'] {
  const [type, described] = Object.entries(content).find(([name]) => name.endsWith('json')) ?? [];
  if (type === undefined) return undefined;
  const { schema = {} } = described!;
  const { properties = {} } = schema.$ref === undefined ? schema : resolve(document, schema.$ref);
  return { type, members: Object.keys(properties) };
}

const resolve = (document: Document, pointer: string) =>
  pointer
    .slice(2)
    .split('/')
    .reduce((part: unknown, name) => (part as Record<string, unknown>)[name], document) as Schema;

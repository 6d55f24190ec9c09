/** The operations that a service account can be granted (D6). */
import { invalid } from '../../kernel/errors.ts';
import type { Manifest } from '../../kernel/module.ts';
import type { Modules } from '../../main.ts';

/** Refuses ids that no operation of the platform API has. A mistyped grant would come to light only when the account is refused. */
export async function requireOperations(modules: Modules, given: readonly string[]): Promise<void> {
  const wanted = given.filter((id) => id !== '*');
  if (wanted.length === 0) return;
  const known = await grantableOperations(modules);
  const unknown = wanted.filter((id) => !known.has(id));
  if (unknown.length === 0) return;
  throw invalid(
    unknown.map((id) => ({
      member: 'operations',
      message: `must be * or operation ids of /openapi/platform.json, not ${id}${hintFor(id, known)}`,
    })),
  );
}

/** Collected from the routes themselves, on an app that never listens. Other commands do not load it. */
async function grantableOperations(modules: Modules): Promise<Set<string>> {
  const { createHttpApp } = await import('../../kernel/http/app.ts');
  const families = modules.manifests.flatMap(({ errorFamilies }: Manifest) => errorFamilies ?? []);
  const app = createHttpApp({ ...modules, families });
  const found = new Set<string>();
  app.fastify.addHook('onRoute', ({ schema }) => {
    const { operationId, security = [] } = (schema ?? {}) as { operationId?: string; security?: object[] };
    if (operationId !== undefined && security.some((scheme) => 'apiKey' in scheme)) found.add(operationId);
  });
  for (const module of modules.all) await module.routes?.(app, modules.accounts);
  return found;
}

/** The ids are camel case, and most mistakes are of case. */
function hintFor(id: string, known: ReadonlySet<string>): string {
  const close = [...known].find((candidate) => candidate.toLowerCase() === id.toLowerCase());
  return close === undefined ? '' : ` (did you mean ${close}?)`;
}

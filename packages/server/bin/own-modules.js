/**
 * Our modules name each other by their whole paths, so there is nothing to look for: asking the disk what each of three hundred
 * is and where it really lies takes a quarter of the time in which a command starts. The same holds for the three hundred modules of
 * the packages that say `.mjs` (typebox). To be imported before them.
 */
import { registerHooks } from 'node:module';

registerHooks({
  resolve(specifier, context, next) {
    if (!specifier.startsWith('.') || context.parentURL === undefined) return next(specifier, context);
    const format = specifier.endsWith('.ts')
      ? 'module-typescript'
      : specifier.endsWith('.mjs')
        ? 'module'
        : undefined;
    if (format === undefined) return next(specifier, context);
    return { url: new URL(specifier, context.parentURL).href, format, shortCircuit: true };
  },
});

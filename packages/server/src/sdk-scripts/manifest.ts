import type { Manifest } from '../kernel/module.ts';

export const manifest: Manifest = { name: 'sdk-scripts' };

/** What the site declares: the addresses of the lookup that pages call. */
import { messageShape } from '../kernel/http/error-shapes.ts';
import type { Manifest } from '../kernel/module.ts';

export const manifest: Manifest = {
  name: 'site',
  errorFamilies: [
    {
      name: 'site',
      prefixes: ['/frontend/api'],
      shape: messageShape,
      title: 'Site identification',
      ownDocument: true,
      forPages: true,
    },
  ],
};

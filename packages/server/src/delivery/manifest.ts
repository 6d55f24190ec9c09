/** What delivery declares: its addresses. Their errors have the documented shape (D3), although no operation stands there yet. */
import { problemShape } from '../kernel/http/error-shapes.ts';
import type { Manifest } from '../kernel/module.ts';

export const manifest: Manifest = {
  name: 'delivery',
  errorFamilies: [
    {
      name: 'delivery',
      prefixes: ['/email', '/api/email'],
      shape: problemShape,
      title: 'Delivery',
      ownDocument: true,
    },
  ],
};

/** The pages of development mode: the webhook receiver, and the demo shop where the demo tenant is there. */
import type { HttpApp } from '../kernel/http/app.ts';
import type { Config } from '../manifests.ts';
import { readDemo } from './index.ts';
import { registerReceiverRoutes } from './receiver.ts';
import { registerShopRoutes } from './shop-pages.ts';

export async function demoRoutes(config: Config): Promise<(app: HttpApp) => Promise<void>> {
  const demo = await readDemo(config);
  return async (app) => {
    await registerReceiverRoutes(app);
    if (demo !== null) registerShopRoutes(app, demo);
  };
}

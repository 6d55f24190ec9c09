/** Methods that are no signals: without variants, in the order of the documentation. */
import type { ConfigurationMethods } from '../src/api.ts';

interface Described {
  argument: string;
  does: string;
}

/** What each of them takes and does. */
export const configurationMethods: Record<keyof ConfigurationMethods, Described> = {
  setCartId: {
    argument: 'cartId: string | number',
    does: 'sends the cart signals that were held for want of a cartId, with this one',
  },
  setApiKey: { argument: 'key: string', does: 'sets the key that signals are sent with' },
  setAuthKey: { argument: 'key: string', does: 'the same as `setApiKey`' },
  setApiHost: {
    argument: 'host: string',
    does: 'sets where signals are sent to; must start with `https://` (`http://localhost` and `http://127.0.0.1` excepted)',
  },
  setHostname: { argument: 'hostname: string', does: 'replaces `location.hostname` in what is sent' },
  setProfileIdQueryParamKey: { argument: 'name: string', does: 'does nothing and logs a warning' },
  setOptions: { argument: 'options: Partial<Options>', does: 'changes options at run time' },
  setContext: {
    argument: 'context: Context',
    does: 'merges fields into every later event; null cancels a field',
  },
  clearContext: { argument: '', does: 'forgets the context' },
  setMarketingIdQueryParamName: {
    argument: 'name: string',
    does: 'sends this query parameter of the page as `X-Marketing-ID`',
  },
  setTrackingParamQueryParamName: {
    argument: 'name: string',
    does: 'sends this query parameter of the page as `X-Tracking-Param`',
  },
  unsetMarketingIdQueryParamName: { argument: '', does: 'stops that' },
  unsetTrackingParamQueryParamName: { argument: '', does: 'stops that' },
};

export const otherMethods = Object.keys(configurationMethods);

/** The tracker as its users see it, derived from the signal catalogue. */
import type { PayloadOf, SignalMethod } from '@signalbox/signals';
import type { Options } from './calls/options.ts';
import type { Result } from './result.ts';

/** Null cancels what the context says of a field or an attribute, and a cart signal without cartId is held until there is one. */
type Given<Payload> = {
  [Name in keyof Omit<Payload, 'cartId'>]: Name extends 'profileAttributes' | 'eventAttributes'
    ? OrNull<Payload[Name]>
    : Payload[Name];
} & {
  [Name in keyof Pick<Payload, keyof Payload & 'cartId'>]?: Payload[Name] | null | undefined;
};
type OrNull<Attributes> = { [Name in keyof Attributes]: Attributes[Name] | null };

/** What the method of a signal takes. */
export type PayloadFor<Method extends SignalMethod> = Given<PayloadOf<Method>>;

/** Fields that a context may hold: any field of any signal, most often `profileAttributes`. */
export interface Context {
  profileAttributes?: { [name: string]: string | number | boolean | null | undefined } | null | undefined;
  eventAttributes?: { [name: string]: string | null | undefined } | null | undefined;
  [field: string]: unknown;
}

type SignalMethods = {
  [Method in SignalMethod]: (
    ...payload: Method extends 'signOut' ? [payload?: PayloadFor<Method>] : [payload: PayloadFor<Method>]
  ) => Promise<Result>;
};
type SyncMethods = {
  [Method in SignalMethod as `${Method}Sync`]: (...payload: Parameters<SignalMethods[Method]>) => Result;
};
type TagManagerMethods = {
  [Method in SignalMethod as `${Method}TagMgr`]: (
    ...payload: Parameters<SignalMethods[Method]>
  ) => Promise<Result>;
};

/** Methods that set something up. */
export interface ConfigurationMethods {
  setApiKey(key: string): Promise<Result>;
  setAuthKey(key: string): Promise<Result>;
  setApiHost(host: string): Promise<Result>;
  setHostname(hostname: string): Promise<Result>;
  setProfileIdQueryParamKey(name: string): Promise<Result>;
  setOptions(options: Partial<Options>): Promise<Result>;
  setCartId(cartId: string | number): Promise<Result>;
  setContext(context: Context): Promise<Result>;
  clearContext(): Promise<Result>;
  setMarketingIdQueryParamName(name: string): Promise<Result>;
  setTrackingParamQueryParamName(name: string): Promise<Result>;
  unsetMarketingIdQueryParamName(): Promise<Result>;
  unsetTrackingParamQueryParamName(): Promise<Result>;
}

/** Everything that `Tracker` can do. */
export type Tracker = SignalMethods & SyncMethods & TagManagerMethods & ConfigurationMethods;

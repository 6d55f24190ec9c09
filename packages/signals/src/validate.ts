/** Validation by name, for those who hold a name and not a row of the catalogue: servers, tools, tests. */
import { type Checked, checkPayload } from './check.ts';
import { type Signal, type SignalMethod, type SignalName, signals } from './definitions.ts';

const byName = new Map<string, Signal>(
  Object.entries(signals).flatMap(([method, signal]) => [
    [method, signal] as const,
    [signal.wire, signal] as const,
  ]),
);

/** Method names of all signals, in the order of the catalogue. */
export const signalMethods = Object.keys(signals) as SignalMethod[];

/** Wire names of all signals, in the order of the catalogue. */
export const signalNames = signalMethods.map((method): SignalName => signals[method].wire);

/**
 * The row of a signal, by name on the wire or by method name.
 *
 * @example
 * findSignal('cart/add')?.wire; // 'cart/add'
 * findSignal('constructor'); // undefined
 */
export const findSignal = (name: unknown): Signal | undefined => byName.get(name as string);

/**
 * Checks the payload of a signal that is named, on the wire or as method. Never throws, never changes the payload.
 *
 * @example
 * validateSignal('cart/clear', { cartId: 7 }); // { payload: { cartId: '7' }, hints: [] }
 * validateSignal('cart/clear', {}).error?.details; // [{ path: 'cartId', rule: 'required', message: 'cartId is required' }]
 */
export const validateSignal = (name: unknown, payload: unknown): Checked => {
  const signal = findSignal(name);
  if (signal) return checkPayload(signal, payload);
  const message = 'signal is not a known signal';
  return {
    error: { code: 'validation', message, details: [{ path: 'signal', rule: 'enum', message }] },
    hints: [],
  };
};

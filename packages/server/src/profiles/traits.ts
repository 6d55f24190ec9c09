/**
 * What is known of a person besides who it is: attributes, opt-ins, and whether anything may be kept at all. Pure rules
 * for how later knowledge joins earlier.
 */
import { toStorable } from '../kernel/db/storable-text.ts';

export type AttributeValue = string | number | boolean;
export type Attributes = Record<string, AttributeValue>;

/** Permission per channel; a channel that is not there was never asked about. */
export interface OptIns {
  mail?: boolean;
  sms?: boolean;
  push?: boolean;
}

export interface Traits {
  attributes: Attributes;
  optIns: OptIns;
  doNotTrack: boolean;
}

/** The attributes of the specification that are permissions; they are kept as opt-ins and nowhere else. */
const OPT_IN_ATTRIBUTES: Record<string, keyof OptIns> = {
  profileOptinMail: 'mail',
  profileOptinSms: 'sms',
  profileOptinPush: 'push',
};

/**
 * A signal's `profileAttributes`, told apart, in a form that PostgreSQL can hold.
 *
 * @example traitsOf({ profileTier: 'gold', profileOptinMail: true })
 * // { attributes: { profileTier: 'gold' }, optIns: { mail: true } }
 */
export function traitsOf(given: Record<string, unknown>): Pick<Traits, 'attributes' | 'optIns'> {
  const attributes: Attributes = {};
  const optIns: OptIns = {};
  for (const [name, value] of Object.entries(given)) {
    const channel = Object.hasOwn(OPT_IN_ATTRIBUTES, name) ? OPT_IN_ATTRIBUTES[name] : undefined;
    if (channel !== undefined) {
      if (typeof value === 'boolean') optIns[channel] = value;
    } else if (typeof value === 'string') set(attributes, toStorable(name), toStorable(value));
    else if (typeof value === 'boolean' || Number.isFinite(value))
      set(attributes, toStorable(name), value as number);
  }
  return { attributes, optIns };
}

/** Sets a member of that very name, `__proto__` too. */
function set(attributes: Attributes, name: string, value: AttributeValue): void {
  Object.defineProperty(attributes, name, { value, enumerable: true, configurable: true, writable: true });
}

/**
 * The traits of two profiles that turn out to be one person's. Attributes of the one that was changed last win; a refusal
 * (an opt-out, do not track) wins over a permission, whenever it was given.
 */
export function combineTraits(earlier: Traits, later: Traits): Traits {
  const optIns: OptIns = { ...earlier.optIns, ...later.optIns };
  for (const channel of ['mail', 'sms', 'push'] as const) {
    if (earlier.optIns[channel] === false || later.optIns[channel] === false) optIns[channel] = false;
  }
  return {
    attributes: { ...earlier.attributes, ...later.attributes },
    optIns,
    doNotTrack: earlier.doNotTrack || later.doNotTrack,
  };
}

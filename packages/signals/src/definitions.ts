/**
 * The signal catalogue: the one table from which methods, types, validator, JSON Schemas, documentation and the tag-manager
 * template are derived. It describes payloads only; envelopes, keys and delivery belong to the tracker and the server.
 */
import {
  browse,
  cart,
  cleared,
  conversion,
  type Fields,
  known,
  object,
  person,
  purchase,
  review,
  subscription,
} from './fields.ts';

/** A row of the catalogue: the name on the wire (D31) and the fields of its payload. */
export interface Signal {
  readonly wire: string;
  readonly fields: Fields;
}

/**
 * Every signal by its method name.
 *
 * @example
 * signals.addToCart.wire; // 'cart/add'
 * signals.addToCart.fields.cartId; // 'key!'
 */
export const signals = {
  signIn: { wire: 'identity/signin', fields: known },
  signOut: { wire: 'identity/signout', fields: person },
  addToCart: { wire: 'cart/add', fields: cart },
  removeFromCart: { wire: 'cart/remove', fields: cart },
  replaceCart: { wire: 'cart/replace', fields: cart },
  clearCart: { wire: 'cart/clear', fields: cleared },
  purchaseCart: { wire: 'cart/purchase', fields: purchase },
  startSurvey: { wire: 'survey/start', fields: object },
  updateSurvey: { wire: 'survey/update', fields: object },
  completeSurvey: { wire: 'survey/complete', fields: object },
  startQuiz: { wire: 'quiz/start', fields: object },
  updateQuiz: { wire: 'quiz/update', fields: object },
  completeQuiz: { wire: 'quiz/complete', fields: object },
  startBooking: { wire: 'booking/start', fields: object },
  updateBooking: { wire: 'booking/update', fields: object },
  completeBooking: { wire: 'booking/complete', fields: object },
  startGame: { wire: 'game/start', fields: object },
  updateGame: { wire: 'game/update', fields: object },
  endGame: { wire: 'game/end', fields: object },
  startConfig: { wire: 'config/start', fields: object },
  updateConfig: { wire: 'config/update', fields: object },
  completeConfig: { wire: 'config/complete', fields: object },
  browse: { wire: 'browse', fields: browse },
  signUp: { wire: 'signup', fields: subscription },
  cancel: { wire: 'cancel', fields: subscription },
  reviewItem: { wire: 'review/item', fields: review },
  reviewCustomerService: { wire: 'review/customerservice', fields: review },
  startConversion: { wire: 'conversion/start', fields: conversion },
  updateConversion: { wire: 'conversion/update', fields: conversion },
  completeConversion: { wire: 'conversion/complete', fields: conversion },
  deleteConversion: { wire: 'conversion/delete', fields: conversion },
} as const satisfies Record<string, Signal>;

/** Name of a signal method, such as `addToCart`. */
export type SignalMethod = keyof typeof signals;

/** Name of a signal on the wire, such as `cart/add`. */
export type SignalName = (typeof signals)[SignalMethod]['wire'];

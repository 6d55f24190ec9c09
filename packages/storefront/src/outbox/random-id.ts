/** 128 random bits, in digits. `crypto.randomUUID` exists on secure origins only, and some shops still have plain pages. */
export const randomId = (): string => crypto.getRandomValues(new Uint32Array(4)).join('');

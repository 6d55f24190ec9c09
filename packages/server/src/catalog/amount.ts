/** Amounts of money as shops write them. Pure. */

/** `20.00 EUR`, `EUR 20`, `€ 20,00`, `1'299.00 CHF`. Tries all ways to part blanks, so it is asked of short texts alone. */
const PRICE = /^([A-Za-z]{3}|[€$£])?\s*(-?[\d.,\s'’]*\d)\s*([A-Za-z]{3}|[€$£])?$/;
const MAX_PRICE = 50;
/** The signs that mean one currency. A dollar may be of many countries, and stays as it is. */
const CODES = new Map([
  ['€', 'EUR'],
  ['£', 'GBP'],
]);

/**
 * The amount that a text is, and its currency where it tells one; null for any other text.
 *
 * @example amountIn('€ 1.299,00') // { number: 1299, currency: 'EUR' }
 */
export function amountIn(text: string): { number: number; currency?: string } | null {
  const price = text.trim();
  const [, before, amount, after] = (price.length <= MAX_PRICE && PRICE.exec(price)) || [];
  const number = amount === undefined ? Number.NaN : decimal(amount);
  if (Number.isNaN(number)) return null;
  const currency = before ?? after;
  return currency === undefined
    ? { number }
    : { number, currency: CODES.get(currency) ?? currency.toUpperCase() };
}

/** A comma before the last two digits is a decimal comma; other commas, spaces, apostrophes and repeated points group. */
function decimal(amount: string): number {
  const plain = amount.replaceAll(/[\s'’]/g, '');
  if (/^-?\d{1,3}(\.\d{3}){2,}$/.test(plain)) return Number(plain.replaceAll('.', ''));
  const comma = /,\d{1,2}$/.test(plain);
  return Number(comma ? plain.replaceAll('.', '').replace(',', '.') : plain.replaceAll(',', ''));
}

/** The fields that are amounts. */
export const PRICES = ['price', 'sale_price'];

/**
 * Fields whose prices are numbers, as models, conditions and cards read them. What the text of one tells of the currency goes to
 * `currency`, unless that is told; a blank one is none, and a text that is no amount stays, to be told so.
 *
 * @example withAmounts({ price: '20,00 EUR' }) // { price: 20, currency: 'EUR' }
 */
export function withAmounts(fields: Record<string, unknown>): Record<string, unknown> {
  const texts = PRICES.filter((name) => typeof fields[name] === 'string');
  if (texts.length === 0) return fields;
  const result = { ...fields };
  for (const name of texts) {
    const price = fields[name] as string;
    const amount = amountIn(price);
    if (amount !== null) {
      result[name] = amount.number;
      if (amount.currency !== undefined) result.currency ??= amount.currency;
    } else if (price.trim() === '') delete result[name];
  }
  return result;
}

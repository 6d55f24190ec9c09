/**
 * The fields of payloads, in a notation that validator, types, JSON Schemas and documentation all read.
 *
 * A field is written `kind[:argument][<=limit][!]`. A trailing `!` makes it mandatory, the limit counts code points of a text
 * (longer text is trimmed) or UTF-8 bytes of anything else's JSON (more is an error).
 *
 * | kind       | value                                                                |
 * |------------|----------------------------------------------------------------------|
 * | text       | string                                                               |
 * | key        | string, or finite number that is sent as string                      |
 * | decimal    | finite number or plain decimal string, sent as number; else cleared  |
 * | number     | as decimal, but anything else is an error                            |
 * | flag       | boolean                                                              |
 * | url        | absolute http(s) address                                             |
 * | one:a|b    | one of the named strings                                             |
 * | attributes | object of strings; `attributes:x` excepts the fields of `lists.x`    |
 * | sections   | array of arrays of strings                                           |
 * | list:x     | array of objects with the fields of `lists.x`                        |
 */
export type Fields = Readonly<Record<string, string>>;

/** A field, taken apart. No limit is `Infinity`. */
export type Field = readonly [kind: string, argument: string, limit: number];

/** True in the script for pages alone, see its build: a page has no use for what makes a server fast. */
export const IN_PAGE = (globalThis as { $IN_PAGE?: true }).$IN_PAGE;

/** Fields that were taken apart before: a payload has twenty, and there are not many different ones. */
const parsed: Record<string, Field> = {};

const parse = (field: string): Field => {
  const [, kind, argument, limit] = /(\w+):?([^<!]*)<?=?(\d*)/.exec(field) as string[] & { length: 4 };
  return [kind!, argument!, +limit! || Infinity];
};

/**
 * Takes the notation of a field apart.
 *
 * @example
 * parseField('list:cart<=4096!'); // ['list', 'cart', 4096]
 * parseField('text'); // ['text', '', Infinity]
 */
export const parseField = IN_PAGE ? parse : (field: string): Field => (parsed[field] ??= parse(field));

/** @example isMandatory('text!'); // true */
export const isMandatory = (field: string): boolean => field.endsWith('!');

/** Size limit of one item, and of one `elementAttributes`, in UTF-8 bytes of its JSON (D32). */
const ITEM_BYTES = 4096;

const described = {
  type: 'text<=25',
  category: 'text<=100',
  subcategory: 'text<=100',
  itemAttributes: 'attributes',
} as const;

const product = {
  sku: 'text',
  quantity: 'decimal',
  name: 'text<=255',
  ...described,
  description: 'text<=1024',
  upc: 'text<=50',
  baseprice: 'decimal',
  discount: 'decimal',
  discountType: 'text<=50',
  netprice: 'decimal',
} as const;

/** Fields of nested objects. */
export const lists = {
  profile: {
    profileTotalPoints: 'number',
    profileAge: 'number',
    profileOptinSms: 'flag',
    profileOptinMail: 'flag',
    profileOptinPush: 'flag',
  },
  cart: { ...product, sku: 'text!', quantity: 'decimal!' },
  object: { id: 'text!', name: 'text<=255!', ...described },
  review: { ...product, name: 'text<=255!', url: 'url', imageUrl: 'url' },
  conversion: { id: 'text', ...product },
  element: {
    type: 'text!',
    id: 'text!',
    name: 'text',
    description: 'text',
    elementAttributes: `attributes<=${ITEM_BYTES}`,
  },
} as const satisfies Record<string, Fields>;

export const person = { idType: 'one:email|external', email: 'text', customerId: 'text' } as const;
export const known = { ...person, profileAttributes: 'attributes:profile' } as const;
const common = { ...known, eventAttributes: 'attributes' } as const;

export const cart = {
  cartId: 'key!',
  items: `list:cart<=${ITEM_BYTES}!`,
  ...common,
  categories: 'text',
} as const;
export const cleared = { ...cart, items: `list:cart<=${ITEM_BYTES}` } as const;
export const purchase = {
  ...cleared,
  transactionId: 'text',
  transactionSource: 'text',
  currency: 'text',
  total: 'decimal',
} as const;
export const object = {
  objectId: 'text!',
  objectName: 'text!',
  items: `list:object<=${ITEM_BYTES}`,
  ...common,
  categories: 'text',
} as const;
export const browse = {
  sections: 'sections!',
  elements: 'list:element',
  ...common,
  categories: 'text',
} as const;
export const subscription = {
  objectType: 'one:newsletter|webinar|event|site|program|game!',
  objectId: 'text',
  ...common,
  category: 'text',
} as const;
export const review = { items: `list:review<=${ITEM_BYTES}!`, ...common, category: 'text' } as const;
export const conversion = {
  conversionId: 'text!',
  conversionName: 'text!',
  items: `list:conversion<=${ITEM_BYTES}`,
  ...common,
  categories: 'text',
} as const;

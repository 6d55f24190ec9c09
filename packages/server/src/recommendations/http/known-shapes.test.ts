import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FastifyRequest } from 'fastify';
import { createKnownShapes } from './known-shapes.ts';

const requestOf = (url: string, accept?: string) =>
  ({ headers: accept === undefined ? {} : { accept }, raw: { url } }) as FastifyRequest;
const asked = { widget: 'w' };

/** As a whole reading would find it. */
function readOf({ raw }: FastifyRequest) {
  const query = new URL(raw.url!, 'http://test').searchParams;
  return { asked, person: { contact: Number(query.get('tpid')), visitor: query.get('sid') ?? undefined } };
}
const remembering = (...urls: string[]) => {
  const shapes = createKnownShapes<object>();
  for (const request of urls.map((url) => requestOf(url))) shapes.remember(request, readOf(request));
  return shapes;
};

const FIRST = '/api/c/r/?widgetid=w&tpid=17&lang=en&sid=abc';

test('a request of the same shape is known for whomever it is', () => {
  const shapes = remembering(FIRST);
  const persons: [url: string, contact: number, visitor: string | undefined][] = [
    ['/api/c/r/?widgetid=w&tpid=17&lang=en&sid=abc', 17, 'abc'],
    ['/api/c/r/?widgetid=w&tpid=-2147483648&lang=en&sid=a-b_c.d~1', -2147483648, 'a-b_c.d~1'],
    ['/api/c/r/?widgetid=w&tpid=0&lang=en&sid=', 0, ''],
  ];
  for (const [url, contact, visitor] of persons) {
    const { key, ...read } = shapes.find(requestOf(url))!;
    assert.deepEqual(read, { asked, person: { contact, visitor } });
    assert.equal(shapes.find(requestOf(url))!.key, key);
  }
});

test('each person has another key, and so has each shape', () => {
  const urls = ['/r/?tpid=1&sid=', '/r/?tpid=1&sid=1', '/r/?tpid=11&sid=', '/r/?tpid=1', '/rp/?tpid=1&sid=1'];
  const shapes = remembering(...urls.toReversed());
  const keys = urls.map((url) => shapes.find(requestOf(url))!.key);
  assert.equal(new Set(keys).size, urls.length, String(keys));
});

test('the parameters of the person may come in either order, and sid may be absent', () => {
  const shapes = remembering('/r/?sid=a&tpid=1');
  assert.deepEqual(shapes.find(requestOf('/r/?sid=b&tpid=2'))?.person, { contact: 2, visitor: 'b' });
  assert.equal(shapes.find(requestOf('/r/?tpid=2&sid=b')), undefined);
  assert.deepEqual(remembering('/r/?tpid=1').find(requestOf('/r/?tpid=2'))?.person, {
    contact: 2,
    visitor: undefined,
  });
});

const OTHERS: [what: string, request: FastifyRequest][] = [
  ['another widget', requestOf(FIRST.replace('widgetid=w', 'widgetid=x'))],
  ['another path', requestOf(FIRST.replace('/r/', '/r/aHR0/'))],
  ['a further parameter', requestOf(`${FIRST}&loc=BE`)],
  ['another form', requestOf(FIRST, 'text/html')],
];
for (const [what, other] of OTHERS)
  test(`${what} is another shape`, () => {
    const shapes = remembering(FIRST);
    assert.equal(shapes.find(other), undefined);
  });

const UNCOMMON: [what: string, value: string][] = [
  ['a contact that is no number', 'tpid=abc&lang=en&sid=abc'],
  ['a contact beyond 32 bits', 'tpid=2147483648&lang=en&sid=abc'],
  ['a contact in hexadecimal', 'tpid=0x10&lang=en&sid=abc'],
  ['no contact', 'lang=en&sid=abc'],
  ['a contact given twice', 'tpid=17&tpid=18&lang=en&sid=abc'],
  ['a session given twice', 'tpid=17&lang=en&sid=abc&sid=abd'],
  ['an encoded session', 'tpid=17&lang=en&sid=a%20b'],
  ['a session with a plus', 'tpid=17&lang=en&sid=a+b'],
  ['a session that is too long', `tpid=17&lang=en&sid=${'a'.repeat(257)}`],
  ['the name of a parameter as the end of another', 'tpid=17&lang=en&xsid=abc'],
  ['an encoded name', 'tpid=17&lang=en&s%69d=abc'],
];
for (const [what, query] of UNCOMMON)
  test(`${what} is left to those who read the whole request`, () => {
    const url = `/api/c/r/?widgetid=w&${query}`;
    assert.equal(remembering(url).find(requestOf(url)), undefined);
  });

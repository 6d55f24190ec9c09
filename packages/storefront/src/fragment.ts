/**
 * Server HTML as nodes that can be put into the page. It comes from our own server; what could run is taken out all the same, so that
 * a catalog text that slipped through there stays harmless here.
 */
import { attempt } from './outbox/attempt.ts';

const FORBIDDEN = 'x-style,script,iframe,object,embed,link,meta';

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createHTML(html: string): string },
  ): { createHTML(html: string): string };
}

/** Under `require-trusted-types-for 'script'` a parser wants more than a string. The page may forbid that as well: then it throws. */
const policy = attempt(() =>
  (window as { trustedTypes?: TrustedTypes }).trustedTypes!.createPolicy('signalbox', {
    createHTML: (html) => html,
  }),
);

/**
 * The cleaned document, and the text of its style elements: for a constructed style sheet, because inline ones are subject to the page's
 * CSP. Even parsing one would be reported as a violation, so they go under another name.
 */
export const parseFragment = (html: string): [document: Document, css: string] => {
  const renamed = html.replace(/<(\/?)style/gi, '<$1x-style');
  const parsed = new DOMParser().parseFromString(policy?.createHTML(renamed) ?? renamed, 'text/html');
  let css = '';
  for (const element of parsed.querySelectorAll('*')) {
    if (element.matches('x-style')) css += element.textContent;
    if (element.matches(FORBIDDEN)) element.remove();
    for (const { name, value } of [...element.attributes]) {
      // URL parsers skip white space and control characters; animations of SVG have lists of values.
      if (/^on/i.test(name) || /(^|;)javascript:/i.test(value.replace(/[\0- ]/g, '')))
        element.removeAttribute(name);
    }
  }
  return [parsed, css];
};

/**
 * `<div data-sb-widget="…">` becomes a widget: server HTML in a shadow root, where styles of the page do not reach it and its own do not
 * leak; custom properties (`--sb-*`) pass through. A widget without items, or without an answer, is hidden.
 */
import type { InteractionItem, RecommendRequest } from './api.ts';
import type { Core } from './client.ts';
import { parseFragment } from './fragment.ts';
import { all } from './item.ts';
import { attempt } from './outbox/attempt.ts';

/** What a widget takes up before it is there. The default is a row of cards, see widget-html.ts. */
const RESERVED_SPACE = 'var(--sb-min-block-size,19rem)';

/** What the attributes ask for. An empty `data-sb-item` is the item of the page, an empty `data-sb-context` the page. */
const requestOf = (element: HTMLElement, pageItem?: InteractionItem): RecommendRequest => {
  const { dataset } = element;
  const { sbItem } = dataset;
  return {
    widget: dataset.sbWidget!,
    lang: dataset.sbLang || element.closest<HTMLElement>('[lang]')?.lang,
    loc: dataset.sbLoc,
    item: sbItem == null ? undefined : { url: dataset.sbUrl, ...(sbItem ? { pid: sbItem } : pageItem) },
    context: dataset.sbContext,
    personal: dataset.sbPersonal != null,
  };
};

const show = (element: HTMLElement, html: string): ShadowRoot => {
  const [parsed, css] = parseFragment(html);
  const root = element.shadowRoot ?? element.attachShadow({ mode: 'open' });
  // Constructed style sheets are the ones that a strict CSP allows.
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  root.adoptedStyleSheets = [sheet];
  root.replaceChildren(...parsed.body.childNodes);
  element.role ??= 'region';
  element.ariaLabel ??= element.dataset.sbLabel || parsed.title;
  return root;
};

/** Loads each widget of the page whose answer is another one by now: the element is new, or what it depends on has changed. */
export type UpdateWidgets = (pageItem: InteractionItem | undefined, ready: boolean) => void;

export const createWidgets = (core: Core, watchLinks: () => void): UpdateWidgets => {
  const addresses = new WeakMap<HTMLElement, string>();

  const load = async (element: HTMLElement, address: string): Promise<void> => {
    const isLatest = () => addresses.get(element) === address;
    element.ariaBusy = 'true';
    element.style.minBlockSize ||= RESERVED_SPACE;
    let html = '';
    try {
      const response = await core._get(address, 'text/html');
      // Nothing to recommend is a 204.
      if (response.ok) html = await response.text();
    } catch {}
    if (!isLatest()) return;
    element.hidden = !attempt(() => html && show(element, html));
    element.ariaBusy = 'false';
    watchLinks();
  };

  return (pageItem, ready) => {
    all('[data-sb-widget]', (element) => {
      // The item of the page is not known before the page is there.
      if (element.dataset.sbItem === '' && !ready) return;
      attempt(() => {
        const address = core._address(requestOf(element, pageItem));
        if (addresses.get(element) === address) return;
        addresses.set(element, address);
        load(element, address);
      });
    });
  };
};

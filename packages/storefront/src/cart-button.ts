/**
 * Which clicks put an item into the cart. `data-sb-add-to-cart` says so; elsewhere a button counts only if its own name, id, class or
 * address ends in one of the usual words, and if it is certain which item it stands for. Rather one too few than one too many.
 */
import type { InteractionItem } from './api.ts';
import { all, ITEM_ELEMENTS, itemOfElement } from './item.ts';

export const MARKED_BUTTON = '[data-sb-add-to-cart]';
const BUTTONS = 'button,a,input,[role=button]';

/** Matches `btn single_add_to_cart_button`, `https://shop.example/cart/add` and a ` cart/add`, but not `add-to-cart-close`. */
export const ADD_TO_CART = /(add[-_]?to[-_]?(cart|bag|basket)([-_]?(button|btn))?|[ /]cart\/add)(?![-\w])/i;

const isAddToCart = (element: Element): boolean => {
  const { id, className, name, type, form } = element as HTMLButtonElement;
  // Any other button of a form would be a guess: size, quantity, wish list.
  return ADD_TO_CART.test(
    [
      id,
      className,
      name,
      (element as HTMLAnchorElement).href,
      // As it is written: `form.action` is a field of the form, if one is called so.
      type === 'submit' && form?.getAttribute('action'),
    ].join(' '),
  );
};

/**
 * The item that a click puts into the cart, or undefined.
 *
 * @param closest the innermost element of a selector that was clicked on; looks out of components, as `closest` does not
 * @example
 * itemPutIntoCart((selector) => event.target.closest(selector), itemOfThePage); // { pid: 'A-1' }
 */
export const itemPutIntoCart = (
  closest: (selector: string) => HTMLElement | undefined,
  page?: InteractionItem,
): InteractionItem | undefined => {
  const marked = closest(MARKED_BUTTON);
  const button = marked ?? closest(BUTTONS);
  if (!button || !(marked || isAddToCart(button))) return undefined;
  const { sbAddToCart, productId, product_id, sku } = button.dataset;
  const pid = sbAddToCart || productId || product_id || sku;
  const around = closest(ITEM_ELEMENTS);
  if (pid) return { ...(page?.pid === pid && page), pid };
  if (around) return itemOfElement(around);
  // Buttons further down belong to other items that the page shows.
  return marked || all(BUTTONS, (element) => element).find(isAddToCart) === button ? page : undefined;
};

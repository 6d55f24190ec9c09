import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ADD_TO_CART } from './cart-button.ts';

test('usual names of cart buttons are recognised, others are left alone', () => {
  const table: [description: string, expected: boolean][] = [
    ['btn add-to-cart', true],
    ['single_add_to_cart_button button', true],
    ['AddToCart', true],
    ['addToCartBtn', true],
    ['product-form__add-to-basket', true],
    ['add-to-bag', true],
    ['https://shop.example/cart/add', true],
    ['https://shop.example/checkout/cart/add/product/1', true],
    ['https://shop.example/?add-to-cart=17', true],
    ['btn cart/add', true],
    ['add-to-cart-close', false],
    ['add_to_cart_modal', false],
    ['add-to-cartoon', false],
    ['added-to-cart', false],
    ['add-to-wishlist', false],
    ['remove-from-cart', false],
    ['/cart/address', false],
    ['btn my-cart/add', false],
    ['/cart', false],
  ];
  for (const [description, expected] of table)
    assert.equal(ADD_TO_CART.test(description), expected, description);
});

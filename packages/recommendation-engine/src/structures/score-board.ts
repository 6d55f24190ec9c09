/**
 * One model's answer to one request: a dense score per item and the list of items that have one. Clearing costs only
 * what was touched, so a board lives as long as its engine and a prediction allocates nothing.
 */
export class ScoreBoard {
  values: Float32Array;
  touched: Int32Array;
  count = 0;

  constructor(items: number) {
    this.values = new Float32Array(items);
    this.touched = new Int32Array(items);
  }

  /**
   * `amount` must not be negative. Nothing, or what a float32 takes for it, is no score: listed all the same, an item would be there
   * again with each of its zeros, and those behind the end of the list keep their scores when the board is cleared.
   */
  add(item: number, amount: number): void {
    const { values } = this;
    const before = values[item]!;
    values[item] = before + amount;
    if (before === 0 && values[item] !== 0) this.touched[this.count++] = item;
  }

  /** {@link add} for a part of two lists, each amount scaled: what a request does most. */
  addAll(items: Int32Array, amounts: Float32Array, from: number, to: number, scale: number): void {
    const { values, touched } = this;
    let { count } = this;
    for (let i = from; i < to; i++) {
      const item = items[i]!;
      const before = values[item]!;
      values[item] = before + amounts[i]! * scale;
      if (before === 0 && values[item] !== 0) touched[count++] = item;
    }
    this.count = count;
  }

  /** As {@link add}, but the greater of both stays. */
  raise(item: number, amount: number): void {
    const { values } = this;
    const before = values[item]!;
    if (amount > before) values[item] = amount;
    if (before === 0 && values[item] !== 0) this.touched[this.count++] = item;
  }

  /** Lists an item whose score is still to be found ({@link put}). */
  mark(item: number): void {
    const { values } = this;
    if (values[item] !== 0) return;
    values[item] = 1;
    this.touched[this.count++] = item;
  }

  /** In the place of what is there. `amount` must not be zero: what is touched has a score. */
  put(item: number, amount: number): void {
    const { values } = this;
    if (values[item] === 0) this.touched[this.count++] = item;
    values[item] = amount;
  }

  greatest(): number {
    let greatest = 0;
    for (let i = 0; i < this.count; i++) {
      const value = this.values[this.touched[i]!]!;
      if (value > greatest) greatest = value;
    }
    return greatest;
  }

  clear(): void {
    const { values, touched, count } = this;
    for (let i = 0; i < count; i++) values[touched[i]!] = 0;
    this.count = 0;
  }

  /** Room for items that came after the engine was opened. */
  grow(items: number): void {
    if (items <= this.values.length) return;
    const values = new Float32Array(Math.ceil(items * 1.25));
    const touched = new Int32Array(values.length);
    values.set(this.values);
    touched.set(this.touched);
    this.values = values;
    this.touched = touched;
  }
}

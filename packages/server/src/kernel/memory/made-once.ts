/**
 * What is made at the first call and shared by all that follow. After a failure it is made anew: what was missing for a
 * moment must not be missing for ever.
 *
 * @example const script = madeOnce(() => readFile(path)); await script();
 */
export function madeOnce<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}

/**
 * Web storage that may be denied, full or absent. Reading `window.localStorage` itself can throw, and access may be granted later
 * (`requestStorageAccess`), so the object is asked for anew each time.
 */
export const attempt = <T>(action: () => T): T | undefined => {
  try {
    return action();
  } catch {}
};

/** Values of the tab: session storage, or memory where that fails. */
export interface Session {
  _get<T>(name: string): T | null | undefined;
  _set(name: string, value: unknown): void;
}

export const createSession = (): Session => {
  const memory: Record<string, unknown> = {};
  return {
    _get: <T>(name: string) =>
      (memory[name] ?? attempt(() => JSON.parse(sessionStorage.getItem(name)!))) as T,
    _set(name, value) {
      // Only what storage refuses stays in memory: frames, and pages of the back/forward cache, share the tab's storage.
      memory[name] = value;
      attempt(() => {
        sessionStorage.setItem(name, JSON.stringify(value));
        delete memory[name];
      });
    },
  };
};

/** The site tag is a guest in the page: what fails, because it is denied, full or absent, fails quietly. */
export const attempt = <T>(action: () => T): T | undefined => {
  try {
    return action();
  } catch {}
  return undefined;
};

/** The refusals of a file system in plain words. */
const TROUBLE: Record<string, string> = {
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space is left on the device',
  EDQUOT: 'the disk quota is used up',
  EEXIST: 'a file stands where a directory is needed',
  ENOTDIR: 'a file stands where a directory is needed',
  EISDIR: 'a directory stands where a file is needed',
  ELOOP: 'its symbolic links form a loop',
  ENAMETOOLONG: 'the path is too long',
};

/**
 * Says why a file or directory cannot be used; `undefined` for any other error. ENOENT is left out, because each caller
 * knows best what a missing file means.
 *
 * @example fileTrouble({ code: 'EACCES' }); // 'permission denied (running as user id 1000)'
 */
export function fileTrouble(error: unknown): string | undefined {
  const code = errorCode(error);
  const trouble = code !== undefined && Object.hasOwn(TROUBLE, code) ? TROUBLE[code] : undefined;
  const isAboutUser = code === 'EACCES' || code === 'EPERM';
  return isAboutUser && process.getuid !== undefined
    ? `${trouble} (running as user id ${process.getuid()})`
    : trouble;
}

/** The `code` of a system or PostgreSQL error, if it has one. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** A script as it is handed out: its version, its hash for SRI, and its compressed forms, made once. */
import { createHash } from 'node:crypto';
import { type Compressed, compress } from '../kernel/http/compressed.ts';

export const SCRIPT_NAMES = ['tracker', 'stub', 'site'] as const;
export type ScriptName = (typeof SCRIPT_NAMES)[number];

export interface Script extends Compressed {
  name: ScriptName;
  /** Release and hash of the content, so that other settings are another version (D31). */
  version: string;
  /** For the attribute `integrity` (SRI). */
  integrity: string;
}

/** @example (await packScript({ name: 'tracker', text, release: '1.0.0' })).version // '1.0.0-3f2a91c04b' */
export async function packScript(input: {
  name: ScriptName;
  text: string;
  release: string;
}): Promise<Script> {
  const { name, text, release } = input;
  const plain = Buffer.from(text);
  const digest = createHash('sha384').update(plain).digest();
  return {
    name,
    version: `${release}-${digest.toString('hex').slice(0, 10)}`,
    integrity: `sha384-${digest.toString('base64')}`,
    ...(await compress(plain, { quality: 11 })),
  };
}

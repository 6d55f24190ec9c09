/** A script as it is handed out: its version, its hash for SRI, and its compressed forms, made once. Pure. */
import { createHash } from 'node:crypto';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

export const SCRIPT_NAMES = ['tracker', 'stub', 'site'] as const;
export type ScriptName = (typeof SCRIPT_NAMES)[number];

export interface Script {
  name: ScriptName;
  /** Release and hash of the content, so that other settings are another version (D31). */
  version: string;
  /** For the attribute `integrity` (SRI). */
  integrity: string;
  plain: Buffer;
  gzip: Buffer;
  brotli: Buffer;
}

/** @example packScript({ name: 'tracker', text, release: '1.0.0' }).version // '1.0.0-3f2a91c04b' */
export function packScript(input: { name: ScriptName; text: string; release: string }): Script {
  const { name, text, release } = input;
  const plain = Buffer.from(text);
  const digest = createHash('sha384').update(plain).digest();
  return {
    name,
    version: `${release}-${digest.toString('hex').slice(0, 10)}`,
    integrity: `sha384-${digest.toString('base64')}`,
    plain,
    gzip: gzipSync(plain, { level: 9 }),
    brotli: brotliCompressSync(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }),
  };
}

export type Encoding = 'br' | 'gzip' | 'identity';

/**
 * The best encoding that a client takes (RFC 9110 §12.5.3).
 *
 * @example chooseEncoding('gzip, br;q=0') // 'gzip'
 */
export function chooseEncoding(accepted: string | undefined): Encoding {
  const refused = (weight: string | undefined) => weight !== undefined && Number(weight) === 0;
  const offers = new Map(
    (accepted ?? '').split(',').map((part) => {
      const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
      return [name, !refused(parameters.find((text) => text.startsWith('q='))?.slice(2))] as const;
    }),
  );
  return (['br', 'gzip'] as const).find((encoding) => offers.get(encoding)) ?? 'identity';
}

/** The bytes of a script in an encoding, with the tag that names exactly these. */
export function representationOf(script: Script, encoding: Encoding): { body: Buffer; etag: string } {
  const body = encoding === 'br' ? script.brotli : encoding === 'gzip' ? script.gzip : script.plain;
  return { body, etag: `"${script.version}-${encoding}"` };
}

/**
 * Self-signed certificates for tests, made on the spot: no key lies in the repository and none expires. Just enough DER
 * (X.690) for one X.509 v3 certificate with subject alternative names (RFC 5280).
 */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

/** @example const { key, cert } = createSelfSignedCertificate(['hooks.example']); */
export function createSelfSignedCertificate(dnsNames: readonly string[]): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = sequence(oid('2a8648ce3d040302')); // ecdsa-with-SHA256
  const name = sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from('Signalbox test')))));
  const validity = sequence(utcTime(Date.now() - 60_000), utcTime(Date.now() + 3_600_000));
  const alternativeNames = sequence(...dnsNames.map((dnsName) => der(0x82, Buffer.from(dnsName))));
  const certificate = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))), // version 3
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(sequence(oid('551d11'), der(0x04, alternativeNames)))),
  );
  const signature = Buffer.concat([Buffer.from([0]), sign('sha256', certificate, privateKey)]);
  const body = sequence(certificate, algorithm, der(0x03, signature)).toString('base64');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${body.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
  };
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const head = length < 0x80 ? [tag, length] : [tag, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), content]);
}

function sequence(...items: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(items));
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'));
}

function utcTime(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/\D/g, '').slice(2, 14);
  return der(0x17, Buffer.from(`${digits}Z`));
}

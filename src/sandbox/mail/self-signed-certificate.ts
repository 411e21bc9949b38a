import { generate } from 'selfsigned';

/** A self-signed certificate for loopback and one host name. PEM texts. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Makes a certificate for a year. Clients should be given `cert` as their CA instead of disabling verification. */
export async function makeCertificate(hostname: string): Promise<Certificate> {
  const made = await generate([{ name: 'commonName', value: hostname }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: hostname },
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
        ],
      },
    ],
  });
  return { cert: made.cert, key: made.private };
}
